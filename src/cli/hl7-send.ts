import type { Command } from "commander";
import { type Acknowledgment, isTaken } from "../connectors/mllp/acknowledgment.ts";
import { MllpSender } from "../connectors/mllp/sender.ts";
import { asFailure, Failure } from "../core/failures.ts";
import type { ExitStatus } from "./exit-status.ts";
import { nameOf, readHl7File } from "./hl7-file.ts";
import { sendFrame } from "./hl7-send-frame.ts";
import { SendReport } from "./hl7-send-report.ts";
import { readSendSettings, type SendOptions } from "./hl7-send-settings.ts";
import { readSendable, readSendableFrame, type Sendable, withCarriageReturns } from "./hl7-sendable.ts";
import type { Sent } from "./hl7-sent.ts";
import { readInput } from "./input-file.ts";
import type { Session } from "./session.ts";

/** Remarks about broken messages that are told one by one. */
const MOST_REMARKS = 5;

/** What is sent in one round. */
interface Round {
  readonly messages: number;
  /** Sends it; false when the rest can't or needn't be sent. */
  readonly send: (sender: MllpSender, report: SendReport) => Promise<boolean>;
}

/** `hl7 send`. All of the file is looked at before any of it is sent. */
export async function sendHl7(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const [path] = command.processedArgs as [string];
  const options = command.opts<SendOptions>();
  const settings = await readSendSettings(session, options);
  const { messages, send } = await (options.oneFrame ? planFrame : planMessages)(session, path, options);
  const sender = new MllpSender(settings, session);
  const report = new SendReport(session, messages * options.times, options.oneFrame === true);
  // Asked once, it tells how far it came; asked again, the process ends as any other.
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

/** The whole file in one frame. */
async function planFrame(session: Session, path: string, { cr }: SendOptions): Promise<Round> {
  const frame = readSendableFrame(nameOf(path), await readInput(session.io, path));
  for (const { place, message, code } of frame.problems)
    session.note(`${place}: ${message} (${code}); it is sent as it is`);
  noteMessages(session, frame.messages);
  noteLineEnds(session, [frame.content], cr);
  const content = cr ? withCarriageReturns(frame.content) : frame.content;
  return {
    messages: frame.messages.length,
    send: (sender, report) => sendFrame(sender, { ...frame, content }, session, report),
  };
}

/** Each message in a frame of its own. */
async function planMessages(session: Session, path: string, { cr }: SendOptions): Promise<Round> {
  const { parts, isBatch } = await readHl7File(session, path);
  const messages = parts.map((part) => readSendable(part));
  if (isBatch) {
    const many = messages.length === 1 ? "its message" : `its ${messages.length} messages`;
    session.note(`${nameOf(path)} is a batch: ${many} are sent one by one, --one-frame sends it as a batch`);
  }
  noteMessages(session, messages);
  noteLineEnds(
    session,
    messages.map(({ raw }) => raw),
    cr,
  );
  return {
    messages: messages.length,
    send: async (sender, report) => {
      for (const message of messages) {
        const content = cr ? withCarriageReturns(message.raw) : message.raw;
        const sent = await sendMessage(sender, { ...message, raw: content }, session);
        if (!(await report.add(sent)) || sent.problem?.code === "MLLP_UNREACHABLE") return false;
      }
      return true;
    },
  };
}

async function sendMessage(sender: MllpSender, message: Sendable, session: Session): Promise<Sent> {
  const { ordinal, raw, controlId = "", isUnasked, hasApplicationAck } = message;
  const earlier: Acknowledgment[] = [];
  const isLast = (answer: Acknowledgment) => {
    // CA says that the message is kept; what became of it is told by AA, AE or AR.
    if (answer.code !== "CA" || !hasApplicationAck) return true;
    earlier.push(answer);
    return false;
  };
  const startedAt = session.clock.monotonic();
  const sending: Promise<Acknowledgment | undefined> = isUnasked
    ? sender.post(raw).then(() => undefined)
    : sender.exchange(raw, controlId, isLast);
  const end = await sending.catch(asFailure);
  const ms = Math.round(session.clock.monotonic() - startedAt);
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
  if (end === undefined)
    return { ...common, verdict: "unasked", reason: "sent; by MSH-15 and MSH-16 it wants no answer" };
  return { ...common, verdict: isTaken(end) ? "accepted" : "refused", answer: end };
}

function noteMessages(session: Session, messages: readonly Sendable[]): void {
  const broken = messages.filter(({ problem }) => problem !== undefined);
  for (const { ordinal, problem } of broken.slice(0, MOST_REMARKS))
    session.note(`message ${ordinal}: ${problem?.message} (${problem?.code}); it is sent as it is`);
  if (broken.length > MOST_REMARKS)
    session.note(
      `${broken.length - MOST_REMARKS} more messages have something wrong; they are sent as they are`,
    );
}

/** Receivers that follow the standard know no other end of a segment than CR. */
function noteLineEnds(session: Session, contents: readonly Buffer[], cr: boolean | undefined): void {
  if (cr || !contents.some((content) => content.includes(0x0a))) return;
  session.note("its lines end with LF, which not every receiver takes; --cr sends CR instead, as HL7 has it");
}
