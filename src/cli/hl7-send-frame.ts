import type { Acknowledgment } from "../connectors/mllp/acknowledgment.ts";
import type { MllpSender } from "../connectors/mllp/sender.ts";
import { asFailure, type Failure } from "../core/failures.ts";
import { clean } from "./clean.ts";
import { FrameAnswers } from "./hl7-answers.ts";
import type { SendReport } from "./hl7-send-report.ts";
import type { SendableFrame } from "./hl7-sendable.ts";
import { answerLines } from "./hl7-sent.ts";
import type { Session } from "./session.ts";

/**
 * Sends several messages in one frame, waits for the batch or the single answers that come back, and tells what became
 * of each message. False when no further frame should be sent.
 */
export async function sendFrame(
  sender: MllpSender,
  frame: SendableFrame,
  session: Session,
  report: SendReport,
): Promise<boolean> {
  const { messages, content } = frame;
  const answers = new FrameAnswers(frame);
  const startedAt = session.clock.monotonic();
  const passed = () => Math.round(session.clock.monotonic() - startedAt);
  const isUnasked = messages.length > 0 && messages.every((message) => message.isUnasked);
  const sending = isUnasked
    ? sender.post(content)
    : sender.converse(content, (reply) => answers.hear(reply, passed()));
  const problem = await sending.then(() => undefined).catch(asFailure);
  const ms = passed();
  if (session.isJson) report.addFrame(frameJson(answers, problem, ms, session), problem !== undefined);
  else {
    report.addFrame(undefined, problem !== undefined);
    printFrame(frame, answers, { problem, isUnasked }, session);
  }
  for (const sent of answers.sent(ms)) {
    const isUnsent = isUnasked && problem !== undefined;
    const end = isUnsent
      ? { ...sent, verdict: "unanswered" as const, reason: "not known to have arrived" }
      : sent;
    if (!(await report.add(end))) return false;
  }
  return problem?.code !== "MLLP_UNREACHABLE";
}

function frameJson(answers: FrameAnswers, problem: Failure | undefined, ms: number, session: Session) {
  const told = (answer: Acknowledgment) => ({
    code: answer.code,
    controlId: answer.controlId ?? null,
    condition: answer.condition ?? null,
    answer: answerLines(answer, session.mayShowPhi).join("\n"),
  });
  return {
    ms,
    answerFrames: answers.frames,
    isBatchAnswer: answers.isBatch,
    batchSegments: answers.batchLines.map(clean),
    whole: answers.whole === undefined ? null : told(answers.whole),
    strays: answers.strays.map(told),
    trouble: answers.trouble ?? null,
    problem: problem === undefined ? null : { code: problem.code, message: problem.message },
  };
}

function printFrame(
  { messages }: SendableFrame,
  answers: FrameAnswers,
  { problem, isUnasked }: { readonly problem: Failure | undefined; readonly isUnasked: boolean },
  session: Session,
): void {
  const what = `one frame with ${messages.length} message${messages.length === 1 ? "" : "s"}`;
  const told = (heading: string, answer: Acknowledgment) => {
    session.line(clean(heading));
    for (const line of answerLines(answer, session.mayShowPhi)) session.line(`  ${line}`);
  };
  if (problem !== undefined) {
    const { asked, answered } = answers.counts;
    const after = answers.frames > 0 ? `${answered} of ${asked} answered, then ` : "";
    session.line(session.paint("red", `${what}: ${after}${clean(problem.message)} (${problem.code})`));
    session.line(`  ${problem.mend}`);
  } else if (isUnasked) session.line(session.paint("bold", `${what}: none wants an answer`));
  else {
    const { frames, isBatch, lastMs } = answers;
    const by = isBatch ? "a batch" : frames === 1 ? "one frame" : `${frames} frames`;
    session.line(session.paint("bold", `${what}: answered by ${by} after ${lastMs} ms`));
  }
  for (const line of answers.batchLines) session.line(`  ${clean(line)}`);
  if (answers.trouble !== undefined)
    session.line(session.paint("red", clean(`what came back is broken: ${answers.trouble}`)));
  if (answers.whole) told(`all of it: ${answers.whole.code}`, answers.whole);
  for (const stray of answers.strays) told(`${stray.code} for ${stray.controlId}, which was not sent`, stray);
}
