import { type Acknowledgment, isTaken } from "../../../connectors/mllp/read-acknowledgment.ts";
import { MllpSender, type MllpSendSettings } from "../../../connectors/mllp/sender.ts";
import { asFailure, Failure } from "../../../core/failures.ts";
import type { Hl7FilePart } from "../../../formats/hl7/file.ts";
import { findOddEnds, nameLineEnds } from "../../../formats/hl7/line-ends.ts";
import { Hl7Message } from "../../../formats/hl7/message.ts";
import { END_BLOCK, START_BLOCK } from "../../../formats/hl7/mllp.ts";
import type { Hl7Header } from "../../../formats/hl7/segment.ts";
import { hideHl7 } from "../../../operator/hl7-tree.ts";
import { clean } from "../../../operator/text.ts";
import { EXIT, type ExitStatus } from "../../exit-status.ts";
import { nameOfInput } from "../../io.ts";
import { JsonDocument } from "../../output/list.ts";
import { type Report, withProgress } from "../../output/progress.ts";
import type { Session } from "../../session.ts";
import { readHl7File, readMessage } from "./messages.ts";
import { type PemFiles, readPems } from "./tls.ts";

interface SendOptions extends PemFiles {
  readonly to: { readonly host: string; readonly port: number };
  /** Wait for no application acknowledgement: it goes another way. */
  readonly acceptOnly?: boolean;
  readonly tls?: boolean;
  /** Seconds. */
  readonly timeout: number;
}

/** A message, which goes out in a frame of its own. */
interface Frame {
  readonly name: string;
  /** MSH-10. */
  readonly controlId: string;
  readonly content: Buffer;
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
/** Frames that are shown before the next check whether anybody reads that. */
const DRAIN_EVERY = 50;
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
  const frames = await readFrames(session, path, options);
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
      const sent = await sendFrame(sender, frame, session);
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
    tlsSettings: { ca: "`--ca`", name: "`--to`", own: "`--cert` and `--key`" },
    tls: options.tls === true || Object.keys(pems).length > 0 ? pems : undefined,
  };
}

/** The messages of a file, each in a frame of its own. @throws Failure CLI_USAGE for one that no frame can hold */
async function readFrames(session: Session, path: string, options: SendOptions): Promise<Frame[]> {
  const { parts, isBatch } = await readHl7File(session, path, "refuse");
  if (isBatch) {
    const many =
      parts.length === 1 ? "its message is sent" : `its ${parts.length} messages are sent one by one`;
    session.note(`${nameOfInput(path)} is a batch: ${many}, without the headers around`);
  }
  return parts.map((part) => frameOf(part, options, session));
}

/** A message that is broken is sent as it is, with a remark. */
function frameOf(part: Hl7FilePart, { acceptOnly }: SendOptions, session: Session): Frame {
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
  const { messageControlId: controlId, acceptAckType, applicationAckType } = header ?? {};
  if (controlId === undefined)
    throw unsendable(ordinal, "MSH-10 is empty, so no answer could be recognised as its");
  const types = [acceptAckType, applicationAckType].filter((type) => type !== undefined);
  return {
    name: `message ${ordinal} (${controlId})`,
    controlId,
    content: withCarriageReturns(raw),
    isUnasked: types.length > 0 && types.every((type) => type === "NE"),
    hasApplicationAck: applicationAckType === "AL" && acceptOnly !== true,
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

/** A message with each line ended by CR alone: receivers that follow the standard know no other end. */
function withCarriageReturns(content: Buffer): Buffer {
  if (!content.includes(0x0a)) return content;
  return Buffer.from(content.toString("latin1").replace(/\r\n|\n/g, "\r"), "latin1");
}

/** What to do where the accept acknowledgement came, and no other in time. */
const ACCEPTED_ONLY =
  "The receiver has the message. Where its application acknowledgement goes another way (a connection of its own, a folder), send with --accept-only, which waits for the accept acknowledgement alone.";

const NO_ANSWER =
  "Look up the control id in the receiver's log, wait longer with --timeout, and check that both sides use TLS or neither (--tls).";
const UNREACHABLE =
  "Check that the receiver listens at the address of --to, and that both sides use TLS or neither (--tls).";

/** Sends a frame, and waits for its last answer: CA says that a message is kept; AA, AE or AR says what became of it. */
async function sendFrame(
  sender: MllpSender,
  { content, controlId, isUnasked, hasApplicationAck }: Frame,
  { clock }: Session,
): Promise<Sent> {
  const answers: Acknowledgment[] = [];
  const startedAt = clock.monotonic();
  const isLast = (answer: Acknowledgment) => answer.code !== "CA" || !hasApplicationAck;
  const sending = isUnasked
    ? sender.post(content)
    : sender.exchange(content, controlId, (answer) => answers.push(answer) > 0 && isLast(answer));
  const problem = await sending.then(() => undefined, asFailure);
  const ms = Math.round(clock.monotonic() - startedAt);
  const verdict = answers.every(isTaken) ? "accepted" : "refused";
  return { verdict: problem ? "unanswered" : isUnasked ? "unasked" : verdict, ms, answers, problem };
}

function print({ name }: Frame, { verdict, ms, answers, problem }: Sent, session: Session): void {
  const codes = answers.map(({ code }) => code).join(", ");
  const before = codes === "" ? "" : `${codes}, then `;
  const words = problem
    ? `${before}${problem.message} (${problem.code})`
    : verdict === "unasked"
      ? "sent; by MSH-15 and MSH-16 it wants no answer"
      : `${codes} after ${ms} ms`;
  session.line(`${clean(name)}: ${session.paint(COLOURS[verdict], clean(words))}`);
  if (problem) session.line(`  ${hintFor(problem, answers)}`);
  for (const answer of answers) session.lines(answerLines(answer, session), 2);
}

/** The hints of these codes are about results for the lab system; here the file goes to any receiver. */
function hintFor(problem: Failure, answers: readonly Acknowledgment[]): string {
  if (problem.code === "MLLP_UNREACHABLE") return problem.ownHint ?? UNREACHABLE;
  if (problem.code !== "MLLP_NO_ANSWER") return problem.hint;
  return answers.some(({ code }) => code === "CA") ? ACCEPTED_ONLY : NO_ANSWER;
}

function sentJson({ controlId }: Frame, { verdict, ms, answers, problem }: Sent, session: Session) {
  return {
    controlIds: [controlId],
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
