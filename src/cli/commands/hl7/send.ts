import {
  type Acknowledgment,
  isTaken,
  readAcknowledgment,
} from "../../../connectors/mllp/read-acknowledgment.ts";
import { MllpSender, type MllpSendSettings } from "../../../connectors/mllp/sender.ts";
import { findByteOrderMark } from "../../../core/byte-order-mark.ts";
import { asFailure, Failure, problemSentence } from "../../../core/failures.ts";
import { type Hl7FilePart, splitHl7File } from "../../../formats/hl7/file.ts";
import { findOddEnds, nameLineEnds } from "../../../formats/hl7/line-ends.ts";
import { Hl7Message } from "../../../formats/hl7/message.ts";
import { CARRIAGE_RETURN, END_BLOCK, START_BLOCK } from "../../../formats/hl7/mllp.ts";
import type { Hl7Header } from "../../../formats/hl7/segment.ts";
import { hideHl7 } from "../../../operator/hl7-tree.ts";
import { clean, counted } from "../../../operator/text.ts";
import { EXIT, type ExitStatus } from "../../exit-status.ts";
import { nameOfInput, readInput } from "../../io.ts";
import { JsonDocument } from "../../output/list.ts";
import { type Report, withProgress } from "../../output/progress.ts";
import type { Session } from "../../session.ts";
import { readHl7File, readMessage, wholeFailure } from "./messages.ts";
import { type PemFiles, readPems } from "./tls.ts";

interface SendOptions extends PemFiles {
  readonly to: { readonly host: string; readonly port: number };
  readonly oneFrame?: boolean;
  /** Wait for no application acknowledgement: it goes another way. */
  readonly acceptOnly?: boolean;
  readonly tls?: boolean;
  /** Seconds. */
  readonly timeout: number;
}

/** What goes out in one frame: a message, or with `--one-frame` all of a file. */
interface Frame {
  readonly name: string;
  readonly content: Buffer;
  readonly messages: readonly Sendable[];
  /** The answers to its messages may come in a batch, or in a frame each. */
  readonly isWhole: boolean;
}

interface Sendable {
  /** MSH-10; undefined where it can't be read, which only a message of a frame with others may be. */
  readonly controlId: string | undefined;
  /** By MSH-15 and MSH-16 it wants no answer. */
  readonly isUnasked: boolean;
  /** AA, AE or AR follows CA. */
  readonly hasApplicationAck: boolean;
}

/** What became of a frame. */
interface Sent {
  readonly verdict: "accepted" | "refused" | "unanswered" | "unasked";
  /** From the sending to the last answer, or to when it was given up. */
  readonly ms: number;
  readonly answers: readonly Acknowledgment[];
  /** Why there is no complete answer. */
  readonly problem: Failure | undefined;
}

const MOST_CONNECT_MS = 10_000;
/** The answer to a batch has a message for each of its own. */
const MOST_ANSWER_BYTES = 64 * 1024 * 1024;
/** Frames that are shown before the next check whether anybody reads that. */
const DRAIN_EVERY = 50;
/** What is wrong with batches is for the receiver to find: they may be sent to see that. */
const LEFT_TO_RECEIVER: readonly string[] = ["HL7_BATCH_COUNT", "HL7_BATCH_INCOMPLETE"];
/** Line ends, the blocks of a frame, and the end of a file of old. */
const AROUND: readonly number[] = [CARRIAGE_RETURN, 0x0a, START_BLOCK, END_BLOCK, 0x1a];
const BATCH_LINE = /^(?:FHS|BHS|BTS|FTS)(?![A-Za-z0-9])[^\r\n]*(?:\r\n|\r|\n|$)/gm;
const COLOURS = { accepted: "green", unasked: "green", refused: "red", unanswered: "red" } as const;

/**
 * `hl7 send`. All of the file is checked before any of it is sent. Status 4 when nothing was answered, 1 when
 * anything was not accepted or not sent.
 */
export async function sendHl7(
  session: Session,
  path: string,
  options: SendOptions,
): Promise<ExitStatus | undefined> {
  const settings = await readSettings(session, options);
  const frames = options.oneFrame ? [await readWhole(session, path)] : await readSingles(session, path);
  const sender = new MllpSender(settings, session);
  const document = session.isJson ? new JsonDocument(session, "frames") : undefined;
  const counts = { accepted: 0, refused: 0, unanswered: 0, unasked: 0 };
  let isStopped = false;
  let done = 0;
  // Asked once, it says how far it came; asked again, the process ends as any other.
  const end = session.io.onStop?.(() => {
    end?.();
    isStopped = true;
    void sender.close();
  });
  const sendAll = async (report: Report) => {
    for (const frame of frames) {
      const sent = await sendFrame(sender, options.acceptOnly ? acceptOnly(frame) : frame, session);
      counts[sent.verdict] += 1;
      done += 1;
      report(done, frames.length);
      if (document) document.add(sentJson(frame, sent, session));
      else print(frame, sent, session);
      if (isStopped || sent.problem?.code === "MLLP_UNREACHABLE") break;
      if (done % DRAIN_EVERY === 0 && !(await session.isRead())) break;
    }
  };
  try {
    await withProgress(session, { what: "hl7 send", nouns: "frames", isPrinting: true }, sendAll);
  } finally {
    end?.();
    await sender.close();
  }
  const unsent = frames.length - done;
  document?.end({ counts: { ...counts, unsent } });
  if (!document) session.line(sumUp({ ...counts, unsent }));
  if (counts.refused + counts.unanswered + unsent === 0) return undefined;
  return counts.unanswered === done && !isStopped ? EXIT.unreachable : EXIT.failed;
}

function sumUp({ accepted, refused, unanswered, unasked, unsent }: Readonly<Record<string, number>>): string {
  const words = `${accepted} accepted, ${refused} refused, ${unanswered} without an answer`;
  return `${words}${unasked ? `, ${unasked} that want none` : ""}${unsent ? `, ${unsent} not sent` : ""}`;
}

/** Where it goes, with certificates read and checked first. @throws Failure CLI_USAGE, CLI_FILE_UNREADABLE */
async function readSettings(session: Session, options: SendOptions): Promise<MllpSendSettings> {
  const pems = await readPems(session, options);
  const answerTimeoutMs = options.timeout * 1_000;
  return {
    ...options.to,
    connectTimeoutMs: Math.min(MOST_CONNECT_MS, answerTimeoutMs),
    answerTimeoutMs,
    maxAnswerBytes: MOST_ANSWER_BYTES,
    tlsSettings: { ca: "`--ca`", name: "`--to`", own: "`--cert` and `--key`" },
    tls: options.tls === true || Object.keys(pems).length > 0 ? pems : undefined,
  };
}

/** Each message in a frame of its own. */
async function readSingles(session: Session, path: string): Promise<Frame[]> {
  const { parts, isBatch } = await readHl7File(session, path, "refuse");
  if (isBatch) {
    const many = parts.length === 1 ? "its message" : `its ${parts.length} messages`;
    const name = nameOfInput(path);
    session.note(`${name} is a batch: ${many} are sent one by one, --one-frame sends it as a batch`);
  }
  return parts.map((part) => {
    const message = readSendable(part, session);
    const { ordinal, raw } = part;
    if (message.controlId === undefined)
      throw unsendable(ordinal, "MSH-10 is empty, so no answer could be recognised as its");
    const name = `message ${ordinal} (${message.controlId})`;
    return { name, content: withCarriageReturns(raw), messages: [message], isWhole: false };
  });
}

/**
 * The whole file in one frame, as it is, without what may stand around it (byte order mark, 0x1A, the blocks of a frame
 * that was captured).
 * @throws Failure CLI_USAGE for what no frame can hold, or the code of what is wrong with the file as a whole
 */
async function readWhole(session: Session, path: string): Promise<Frame> {
  const bytes = await readInput(session.io, path);
  const whole = splitHl7File(bytes, { mixedLineEnds: "refuse" });
  for (const problem of whole.problems) {
    if (!LEFT_TO_RECEIVER.includes(problem.code)) throw wholeFailure(nameOfInput(path), problem, bytes);
    session.note(`${problemSentence(problem)} (${problem.code}); it is sent as it is`);
  }
  const withoutBatch = () => Buffer.from(bytes.toString("latin1").replace(BATCH_LINE, ""), "latin1");
  const { parts } = whole.problems.length > 0 ? splitHl7File(withoutBatch()) : whole;
  const content = trimmed(bytes);
  if (content.includes(START_BLOCK) || content.includes(END_BLOCK)) {
    const why = "it holds 0x0B or 0x1C, as the frames of several messages do; leave out --one-frame";
    throw new Failure("CLI_USAGE", `${nameOfInput(path)}: ${why}`);
  }
  const name = `one frame with ${counted(parts.length, "message")}`;
  const messages = parts.map((part) => readSendable(part, session));
  return { name, content: withCarriageReturns(content), messages, isWhole: true };
}

/**
 * What sending takes of a message. One that is broken is sent as it is, with a remark.
 * @throws Failure CLI_USAGE for one that no frame can hold
 */
function readSendable(part: Hl7FilePart, session: Session): Sendable {
  const { ordinal, raw } = part;
  const { message, encoding } = readPart(part);
  requireSameEnds(part);
  if (encoding?.startsWith("utf-16"))
    throw unsendable(
      ordinal,
      "it is UTF-16, whose bytes may be taken for the end of a frame; send it as UTF-8",
    );
  if (raw.includes(START_BLOCK) || raw.includes(END_BLOCK)) {
    const why = "it holds 0x0B or 0x1C, which begin and end a frame; write them as \\X0B\\ and \\X1C\\";
    throw unsendable(ordinal, why);
  }
  if (message instanceof Failure)
    session.note(`message ${ordinal}: ${message.message} (${message.code}); it is sent as it is`);
  const header = message instanceof Failure ? findHeader(raw) : message.header;
  const { messageControlId, acceptAckType, applicationAckType } = header ?? {};
  const types = [acceptAckType, applicationAckType].filter((type) => type !== undefined);
  return {
    controlId: messageControlId,
    isUnasked: types.length > 0 && types.every((type) => type === "NE"),
    hasApplicationAck: applicationAckType === "AL",
  };
}

/** A message in ASCII is the same in every character set, whichever it names. */
function readPart(part: Hl7FilePart): ReturnType<typeof readMessage> {
  const read = readMessage(part);
  const isUnknown = read.message instanceof Failure && read.message.code === "HL7_CHARSET_UNKNOWN";
  return isUnknown && part.raw.every((byte) => byte < 0x80) ? readMessage(part, "us-ascii") : read;
}

const unsendable = (ordinal: number, why: string) => new Failure("CLI_USAGE", `message ${ordinal}: ${why}`);

/** The header of a message that is broken after it, or written in a character set other than it says. */
function findHeader(raw: Buffer): Hl7Header | undefined {
  const [line = ""] = raw.toString("latin1").split(/[\r\n]/, 1);
  try {
    return Hl7Message.parse(line).header;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}

/**
 * With a CR after each line, as it is sent, a line break in a text would end its segment.
 * @throws Failure HL7_LINE_ENDS_MIXED
 */
function requireSameEnds({ ordinal, raw, line }: Hl7FilePart): void {
  const { usual, odd } = findOddEnds(raw.toString("latin1"));
  const [first] = odd;
  if (first === undefined) return;
  const ends = `line ${line + first.line - 1} ends with ${nameLineEnds(first.kinds)}, most others with ${nameLineEnds(usual)}`;
  throw new Failure(
    "HL7_LINE_ENDS_MIXED",
    `message ${ordinal}: ${ends}; what follows may be text of a field`,
  );
}

/** Bytes without what stands around them, and with one CR at their end. */
function trimmed(bytes: Buffer): Buffer {
  let from = findByteOrderMark(bytes)?.length ?? 0;
  let to = bytes.length;
  while (from < to && AROUND.includes(bytes[from] ?? 0)) from += 1;
  while (from < to && AROUND.includes(bytes[to - 1] ?? 0)) to -= 1;
  return Buffer.concat([bytes.subarray(from, to), Buffer.of(CARRIAGE_RETURN)]);
}

/** The same with each line ended by CR alone: receivers that follow the standard know no other end. */
function withCarriageReturns(content: Buffer): Buffer {
  if (!content.includes(0x0a)) return content;
  return Buffer.from(content.toString("latin1").replace(/\r\n|\n/g, "\r"), "latin1");
}

/** The frame as one whose application acknowledgements come another way. */
function acceptOnly(frame: Frame): Frame {
  return { ...frame, messages: frame.messages.map((each) => ({ ...each, hasApplicationAck: false })) };
}

/** What to do where the accept acknowledgement came, and no other in time. */
const ACCEPTED_ONLY =
  "The receiver has the message. Where its application acknowledgement goes another way (a connection of its own, a folder), send with --accept-only, which waits for the accept acknowledgement alone.";

const REFUSED_WHOLE =
  "A receiver that refuses a frame as a whole may answer it once: correct what the answer names (--show-phi shows its words), and send it again.";
const NO_ANSWER =
  "Look up the control id in the receiver's log, wait longer with --timeout, and check that both sides use TLS or neither (--tls).";
const UNREACHABLE =
  "Check that the receiver listens at the address of --to, and that both sides use TLS or neither (--tls).";

/** Sends a frame, and gathers the answers until there is one to each message, or one to all. */
async function sendFrame(
  sender: MllpSender,
  { content, messages, isWhole }: Frame,
  { clock }: Session,
): Promise<Sent> {
  const answers: Acknowledgment[] = [];
  const startedAt = clock.monotonic();
  const [first] = messages;
  const isUnasked = messages.length > 0 && messages.every((message) => message.isUnasked);
  // CA says that a message is kept; AA, AE or AR says what became of it.
  const isLast = (answer: Acknowledgment) => answer.code !== "CA" || !first?.hasApplicationAck;
  const sending = async () => {
    if (isUnasked) return sender.post(content);
    if (isWhole || first?.controlId === undefined)
      return sender.converse(content, (reply) => isComplete(reply, messages, answers));
    await sender.exchange(content, first.controlId, (answer) => answers.push(answer) > 0 && isLast(answer));
  };
  const problem = await sending().then(() => undefined, asFailure);
  const ms = Math.round(clock.monotonic() - startedAt);
  const verdict = problem ? "unanswered" : isUnasked ? "unasked" : verdictOf(answers);
  return { verdict, ms, answers, problem };
}

/** Adds what a reply says; true when it is a batch, the answer to all, or the last of the single answers. */
function isComplete(reply: Buffer, messages: readonly Sendable[], answers: Acknowledgment[]): boolean {
  const { parts, outline } = splitHl7File(reply);
  const found = parts.flatMap(({ raw }) => readAcknowledgment(raw) ?? []);
  answers.push(...found);
  const isOfOne = (answer: Acknowledgment) =>
    messages.some(({ controlId }) => controlId?.trim() === answer.controlId);
  if (outline !== undefined || found.some((answer) => !isOfOne(answer))) return true;
  return messages.every((message) => message.isUnasked || isAnswered(message, answers));
}

function isAnswered({ controlId, hasApplicationAck }: Sendable, answers: readonly Acknowledgment[]): boolean {
  return answers.some(
    (answer) => answer.controlId === controlId?.trim() && (answer.code !== "CA" || !hasApplicationAck),
  );
}

/** A batch that came back without a message reports no error. */
function verdictOf(answers: readonly Acknowledgment[]): "accepted" | "refused" {
  return answers.every(isTaken) ? "accepted" : "refused";
}

function print({ name }: Frame, { verdict, ms, answers, problem }: Sent, session: Session): void {
  const codes = answers.map(({ code }) => code).join(", ");
  const before = codes === "" ? "" : `${codes}, then `;
  const words = problem
    ? `${before}${problem.message} (${problem.code})`
    : verdict === "unasked"
      ? "sent; by MSH-15 and MSH-16 it wants no answer"
      : `${codes || "an empty batch"} after ${ms} ms`;
  session.line(`${clean(name)}: ${session.paint(COLOURS[verdict], clean(words))}`);
  if (problem) session.line(`  ${hintFor(problem, answers)}`);
  for (const answer of answers) session.lines(answerLines(answer, session), 2);
}

/** The hints of these codes are about results for the lab system; here the file goes to any receiver. */
function hintFor(problem: Failure, answers: readonly Acknowledgment[]): string {
  if (problem.code === "MLLP_UNREACHABLE") return problem.ownHint ?? UNREACHABLE;
  if (problem.code !== "MLLP_NO_ANSWER") return problem.hint;
  if (answers.some(({ code }) => code === "CA")) return ACCEPTED_ONLY;
  return answers.some((answer) => !isTaken(answer)) ? REFUSED_WHOLE : NO_ANSWER;
}

function sentJson({ messages }: Frame, { verdict, ms, answers, problem }: Sent, session: Session) {
  return {
    controlIds: messages.map(({ controlId }) => controlId ?? null),
    verdict,
    ms,
    answers: answers.map((answer) => ({
      code: answer.code,
      controlId: answer.controlId ?? null,
      condition: answer.condition ?? null,
      text: answerLines(answer, session).join("\n"),
    })),
    problem: problem
      ? { code: problem.code, message: problem.message, hint: hintFor(problem, answers) }
      : null,
  };
}

/** The lines of an acknowledgement, with what may be a patient's hidden unless it may be shown. */
function answerLines({ text }: Acknowledgment, { mayShowPhi }: Session): string[] {
  return hideHl7(text.reveal(), mayShowPhi);
}
