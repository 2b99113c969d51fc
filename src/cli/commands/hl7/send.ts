import type { Command } from "commander";
import { type Acknowledgment, isTaken } from "../../../connectors/mllp/acknowledgment.ts";
import { MllpSender, type MllpSendSettings } from "../../../connectors/mllp/sender.ts";
import { asFailure, Failure } from "../../../core/failures.ts";
import type { ExitStatus } from "../../exit-status.ts";
import { nameOfInput, readInput } from "../../input.ts";
import { clean, counted } from "../../output/text.ts";
import type { Session } from "../../session.ts";
import { FrameAnswers } from "./answers.ts";
import { readHl7File } from "./messages.ts";
import {
  readSendable,
  readSendableFrame,
  type Sendable,
  type SendableFrame,
  withCarriageReturns,
} from "./sendable.ts";
import { answerLines, problemJson, problemLines, SendReport, type Sent, WANTS_NO_ANSWER } from "./sent.ts";
import { type PemFiles, readPems } from "./tls.ts";

interface SendOptions extends PemFiles {
  readonly to: { readonly host: string; readonly port: number };
  readonly oneFrame?: boolean;
  readonly cr?: boolean;
  readonly tls?: boolean;
  /** Seconds. */
  readonly timeout: number;
  readonly times: number;
}

const MOST_CONNECT_MS = 10_000;
/** The answer to a batch has a message for each of its own. */
const MOST_ANSWER_BYTES = 64 * 1024 * 1024;
/** Remarks about broken messages that are shown one by one. */
const MOST_REMARKS = 5;

/** What is sent in one round. */
interface Round {
  readonly messages: readonly Sendable[];
  /** Sends it; false when the rest can't or needn't be sent. */
  readonly send: (sender: MllpSender, report: SendReport) => Promise<boolean>;
}

/** `hl7 send`. All of the file is looked at before any of it is sent. */
export async function sendHl7(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const [path] = command.processedArgs as [string];
  const options = command.opts<SendOptions>();
  const settings = await readSettings(session, options);
  const plan = options.oneFrame ? planFrame : planMessages;
  const { messages, send } = await plan(session, path, options.cr === true);
  const sender = new MllpSender(settings, session);
  const report = new SendReport(session, messages.length * options.times);
  // Asked once, it says how far it came; asked again, the process ends as any other.
  const end = session.io.onStop?.(() => {
    end?.();
    report.stop();
    void sender.close();
  });
  try {
    for (let round = 0; round < options.times; round += 1) if (!(await send(sender, report))) break;
  } finally {
    end?.();
    await sender.close();
  }
  return report.end();
}

/** Where it goes, with certificates read and looked at first. @throws Failure CLI_USAGE, CLI_FILE_UNREADABLE */
async function readSettings(session: Session, options: SendOptions): Promise<MllpSendSettings> {
  const pems = await readPems(session, options);
  const answerMs = options.timeout * 1_000;
  return {
    ...options.to,
    connectMs: Math.min(MOST_CONNECT_MS, answerMs),
    answerMs,
    maxAnswerBytes: MOST_ANSWER_BYTES,
    tls: options.tls === true || Object.keys(pems).length > 0 ? pems : undefined,
  };
}

/** The whole file in one frame. */
async function planFrame(session: Session, path: string, cr: boolean): Promise<Round> {
  const frame = readSendableFrame(nameOfInput(path), await readInput(session.io, path));
  for (const { place, message, code } of frame.problems)
    session.note(`${place}: ${message} (${code}); it is sent as it is`);
  noteProblems(session, frame.messages);
  const content = endLines(session, [frame.content], cr)[0] ?? frame.content;
  return {
    messages: frame.messages,
    send: (sender, report) => sendFrame(sender, { ...frame, content }, report),
  };
}

/** Each message in a frame of its own. */
async function planMessages(session: Session, path: string, cr: boolean): Promise<Round> {
  const { parts, isBatch } = await readHl7File(session, path);
  const messages = parts.map((part) => readSendable(part));
  if (isBatch) {
    const many = messages.length === 1 ? "its message" : `its ${messages.length} messages`;
    const name = nameOfInput(path);
    session.note(`${name} is a batch: ${many} are sent one by one, --one-frame sends it as a batch`);
  }
  noteProblems(session, messages);
  const contents = endLines(
    session,
    messages.map(({ raw }) => raw),
    cr,
  );
  return {
    messages,
    send: async (sender, report) => {
      for (const [index, message] of messages.entries()) {
        const sent = await sendMessage(sender, message, contents[index] ?? message.raw, report.session);
        if (!(await report.add(sent)) || sent.problem?.code === "MLLP_UNREACHABLE") return false;
      }
      return true;
    },
  };
}

async function sendMessage(
  sender: MllpSender,
  { ordinal, controlId = "", isUnasked, hasApplicationAck }: Sendable,
  content: Buffer,
  { clock }: Session,
): Promise<Sent> {
  const earlier: Acknowledgment[] = [];
  const isLast = (answer: Acknowledgment) => {
    // CA says that the message is kept; AA, AE or AR says what became of it.
    if (answer.code !== "CA" || !hasApplicationAck) return true;
    earlier.push(answer);
    return false;
  };
  const startedAt = clock.monotonic();
  const sending: Promise<Acknowledgment | undefined> = isUnasked
    ? sender.post(content).then(() => undefined)
    : sender.exchange(content, controlId, isLast);
  const end = await sending.catch(asFailure);
  const ms = Math.round(clock.monotonic() - startedAt);
  const common = {
    ordinal,
    controlId,
    ms,
    earlier,
    answer: undefined,
    problem: undefined,
    reason: undefined,
  };
  if (end instanceof Failure) return { ...common, verdict: "unanswered", problem: end };
  if (end === undefined) return { ...common, verdict: "unasked", reason: WANTS_NO_ANSWER };
  return { ...common, verdict: isTaken(end) ? "accepted" : "refused", answer: end };
}

/** Sends several messages in one frame and waits for the batch or the single answers that come back. */
async function sendFrame(sender: MllpSender, frame: SendableFrame, report: SendReport): Promise<boolean> {
  const { messages, content } = frame;
  const { clock } = report.session;
  const answers = new FrameAnswers(frame);
  const startedAt = clock.monotonic();
  const passed = () => Math.round(clock.monotonic() - startedAt);
  const isUnasked = messages.length > 0 && messages.every((message) => message.isUnasked);
  const sending = isUnasked
    ? sender.post(content)
    : sender.converse(content, (reply) => answers.hear(reply, passed()));
  const problem = await sending.then(() => undefined).catch(asFailure);
  const ms = passed();
  report.addFrame(
    frameJson(answers, problem, ms, report.session),
    frameLines(answers, problem, { count: messages.length, isUnasked }, report.session),
    problem !== undefined,
  );
  for (const sent of answers.sent(ms)) {
    const isLost = isUnasked && problem !== undefined;
    const end = { ...sent, verdict: "unanswered", reason: "not known to have arrived" } as const;
    if (!(await report.add(isLost ? end : sent))) return false;
  }
  return problem?.code !== "MLLP_UNREACHABLE";
}

function frameJson(answers: FrameAnswers, problem: Failure | undefined, ms: number, session: Session) {
  const shown = (answer: Acknowledgment) => ({
    code: answer.code,
    controlId: answer.controlId ?? null,
    condition: answer.condition ?? null,
    answer: answerLines(answer, session).join("\n"),
  });
  return {
    ms,
    answerFrames: answers.frames,
    isBatchAnswer: answers.isBatch,
    batchSegments: answers.batchLines.map(clean),
    whole: answers.whole === undefined ? null : shown(answers.whole),
    strays: answers.strays.map(shown),
    trouble: answers.trouble ?? null,
    problem: problemJson(problem),
  };
}

function frameLines(
  { batchLines, counts, frames, isBatch, lastMs, strays, trouble, whole }: FrameAnswers,
  problem: Failure | undefined,
  { count, isUnasked }: { readonly count: number; readonly isUnasked: boolean },
  session: Session,
): string[] {
  const what = `one frame with ${counted(count, "message")}`;
  const shown = (heading: string, answer: Acknowledgment) => [
    clean(heading),
    ...answerLines(answer, session).map((line) => `  ${line}`),
  ];
  const outcome = () => {
    if (problem) {
      const before = frames > 0 ? `${counts.answered} of ${counts.asked} answered, then ` : "";
      return problemLines(`${what}: ${before}`, problem, session);
    }
    const by = isBatch ? "a batch" : frames === 1 ? "one frame" : `${frames} frames`;
    const words = isUnasked ? "none wants an answer" : `answered by ${by} after ${lastMs} ms`;
    return [session.paint("bold", `${what}: ${words}`)];
  };
  return [
    ...outcome(),
    ...batchLines.map((line) => `  ${clean(line)}`),
    ...(trouble === undefined ? [] : [session.paint("red", clean(`what came back is broken: ${trouble}`))]),
    ...(whole ? shown(`all of it: ${whole.code}`, whole) : []),
    ...strays.flatMap((stray) => shown(`${stray.code} for ${stray.controlId}, which was not sent`, stray)),
  ];
}

function noteProblems(session: Session, messages: readonly Sendable[]): void {
  const broken = messages.filter(({ problem }) => problem !== undefined);
  for (const { ordinal, problem } of broken.slice(0, MOST_REMARKS))
    session.note(`message ${ordinal}: ${problem?.message} (${problem?.code}); it is sent as it is`);
  const more = broken.length - MOST_REMARKS;
  if (more > 0) session.note(`${more} more messages have something wrong; they are sent as they are`);
}

/** What is sent, each line ended by CR where that is wanted: receivers that follow the standard know no other end. */
function endLines(session: Session, contents: readonly Buffer[], cr: boolean): readonly Buffer[] {
  if (cr) return contents.map(withCarriageReturns);
  if (contents.some((content) => content.includes(0x0a)))
    session.note(
      "its lines end with LF, which not every receiver takes; --cr sends CR instead, as HL7 has it",
    );
  return contents;
}
