import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import type { Acknowledgment } from "../connectors/mllp/acknowledgment.ts";
import { MllpSender, type MllpSendSettings } from "../connectors/mllp/sender.ts";
import { asFailure, Failure } from "../core/failures.ts";
import type { Hl7Header } from "../formats/hl7/message.ts";
import { END_BLOCK, START_BLOCK } from "../formats/hl7/mllp.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import { hideHl7 } from "./hidden.ts";
import { type FileMessage, readHl7File } from "./hl7-file.ts";
import type { Session } from "./session.ts";

interface SendOptions {
  readonly to: { readonly host: string; readonly port: number };
  readonly tls?: boolean;
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly timeout: number;
  readonly times: number;
}

/** What became of one message. */
interface Sent {
  readonly ordinal: number;
  readonly controlId: string;
  readonly ms: number;
  /** The last acknowledgement, or why there is none; undefined where the message wants none. */
  readonly answer: Acknowledgment | Failure | undefined;
  /** What was acknowledged before: CA, where AA or AE follows. */
  readonly earlier: readonly Acknowledgment[];
}

/** `hl7 send`. */
export async function sendHl7(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const [path] = command.processedArgs as [string];
  const options = command.opts<SendOptions>();
  const messages = await readHl7File(session, path);
  const sender = new MllpSender(await settingsOf(options), session);
  const counts = { accepted: 0, refused: 0, unanswered: 0, unasked: 0 };
  const all: Sent[] = [];
  try {
    for (let round = 0; round < options.times; round += 1) {
      for (const message of messages) {
        const sent = await send(sender, message, session);
        counts[verdictOf(sent)] += 1;
        if (session.isJson) all.push(sent);
        else print(sent, session);
      }
    }
  } finally {
    await sender.close();
  }
  if (session.isJson)
    session.json({ counts, messages: all.map((sent) => sentJson(sent, session.mayShowPhi)) });
  else
    session.line(
      [
        `${counts.accepted} accepted, ${counts.refused} refused, ${counts.unanswered} without an answer`,
        ...(counts.unasked > 0 ? [`${counts.unasked} that want none`] : []),
      ].join(", "),
    );
  if (counts.unanswered > 0 && counts.accepted + counts.refused + counts.unasked === 0)
    return EXIT.unreachable;
  return counts.refused + counts.unanswered > 0 ? EXIT.failed : undefined;
}

async function send(sender: MllpSender, message: FileMessage, session: Session): Promise<Sent> {
  const { ordinal, raw } = message;
  const { messageControlId: controlId, acceptAckType, applicationAckType } = sendable(message);
  const earlier: Acknowledgment[] = [];
  const isLast = (answer: Acknowledgment) => {
    // CA says that the message is kept; what became of it is told by AA, AE or AR.
    if (answer.code !== "CA" || applicationAckType !== "AL") return true;
    earlier.push(answer);
    return false;
  };
  const isUnasked = [acceptAckType, applicationAckType].every((type) => type === undefined || type === "NE");
  const isOriginalMode = acceptAckType === undefined && applicationAckType === undefined;
  const startedAt = session.clock.monotonic();
  const sending: Promise<Acknowledgment | undefined> =
    isUnasked && !isOriginalMode
      ? sender.post(raw).then(() => undefined)
      : sender.exchange(raw, controlId, isLast);
  const answer = await sending.catch(asFailure);
  return { ordinal, controlId, ms: Math.round(session.clock.monotonic() - startedAt), answer, earlier };
}

/** The header of a message that can go over MLLP and whose answer can be told. @throws Failure CLI_USAGE. */
function sendable({
  ordinal,
  raw,
  encoding,
  message,
}: FileMessage): Hl7Header & { messageControlId: string } {
  const refuse = (problem: string) => new Failure("CLI_USAGE", `message ${ordinal}: ${problem}`);
  if (message instanceof Failure) throw refuse(message.message);
  if (encoding?.startsWith("utf-16")) {
    throw refuse("it is UTF-16, whose bytes may look like the end of a frame; send it as UTF-8");
  }
  if (raw.includes(START_BLOCK) || raw.includes(END_BLOCK)) {
    throw refuse("it holds 0x0B or 0x1C, which begin and end a frame; write them as \\X0B\\ and \\X1C\\");
  }
  const { messageControlId } = message.header;
  if (messageControlId === undefined) throw refuse("MSH-10 is empty, so no answer could be told to be its");
  return { ...message.header, messageControlId };
}

async function settingsOf(options: SendOptions): Promise<MllpSendSettings> {
  const { to, ca, cert, key } = options;
  if ((cert === undefined) !== (key === undefined))
    throw new Failure("CLI_USAGE", "--cert and --key go together");
  const isTls = options.tls === true || ca !== undefined || cert !== undefined;
  return {
    ...to,
    connectMs: 10_000,
    answerMs: options.timeout * 1_000,
    tls: isTls
      ? {
          ...(ca === undefined ? {} : { ca: await readPem(ca) }),
          ...(cert === undefined ? {} : { cert: await readPem(cert) }),
          ...(key === undefined ? {} : { key: await readPem(key) }),
        }
      : undefined,
  };
}

async function readPem(path: string): Promise<Buffer> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    throw new Failure("CLI_FILE_UNREADABLE", `${path} can't be read (${error.code ?? "unknown error"})`);
  });
}

function verdictOf({ answer }: Sent): "accepted" | "refused" | "unanswered" | "unasked" {
  if (answer === undefined) return "unasked";
  if (answer instanceof Failure) return "unanswered";
  return answer.code === "AA" || answer.code === "CA" ? "accepted" : "refused";
}

function sentJson({ ordinal, controlId, ms, answer, earlier }: Sent, mayShowPhi: boolean) {
  const textOf = ({ text }: Acknowledgment) => hideHl7(text.reveal(), mayShowPhi).join("\n");
  const common = {
    ordinal,
    controlId,
    ms,
    earlier: earlier.map((each) => ({ code: each.code, answer: textOf(each) })),
  };
  if (answer === undefined) return { ...common, code: null, condition: null, answer: null, problem: null };
  if (answer instanceof Failure) {
    const problem = { code: answer.code, message: answer.message };
    return { ...common, code: null, condition: null, answer: null, problem };
  }
  const { code, condition = null } = answer;
  return { ...common, code, condition, answer: textOf(answer), problem: null };
}

function print(sent: Sent, session: Session): void {
  const { ordinal, controlId, ms, answer, earlier } = sent;
  const lines = ({ text }: Acknowledgment) => {
    for (const line of hideHl7(text.reveal(), session.mayShowPhi)) session.line(`  ${line}`);
  };
  for (const each of earlier) {
    session.line(
      `message ${ordinal} (${controlId}): ${each.code}, an application acknowledgement is to follow`,
    );
    lines(each);
  }
  if (answer === undefined) {
    session.line(`message ${ordinal} (${controlId}): sent; by MSH-15 and MSH-16 it wants no answer`);
    return;
  }
  if (answer instanceof Failure) {
    session.line(
      session.paint("red", `message ${ordinal} (${controlId}): ${answer.message} (${answer.code})`),
    );
    session.line(`  ${answer.mend}`);
    return;
  }
  const colour = verdictOf(sent) === "accepted" ? "green" : "red";
  session.line(`message ${ordinal} (${controlId}): ${session.paint(colour, answer.code)} after ${ms} ms`);
  lines(answer);
}
