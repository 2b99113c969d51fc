import { readFile } from "node:fs/promises";
import type { Command } from "commander";
import type { Acknowledgment } from "../connectors/mllp/acknowledgment.ts";
import { MllpSender, type MllpSendSettings } from "../connectors/mllp/sender.ts";
import { asFailure, Failure } from "../core/failures.ts";
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
  readonly answer: Acknowledgment | Failure;
}

/** `hl7 send`. */
export async function sendHl7(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const [path] = command.processedArgs as [string];
  const options = command.opts<SendOptions>();
  const messages = await readHl7File(path);
  const sender = new MllpSender(await settingsOf(options), session);
  const counts = { accepted: 0, refused: 0, unanswered: 0 };
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
      `${counts.accepted} accepted, ${counts.refused} refused, ${counts.unanswered} without an answer`,
    );
  if (counts.unanswered > 0 && counts.accepted + counts.refused === 0) return EXIT.unreachable;
  return counts.refused + counts.unanswered > 0 ? EXIT.failed : undefined;
}

async function send(
  sender: MllpSender,
  { ordinal, raw, message }: FileMessage,
  session: Session,
): Promise<Sent> {
  const controlId = message instanceof Failure ? undefined : message.header.messageControlId;
  if (controlId === undefined) {
    const problem =
      message instanceof Failure ? message.message : "MSH-10 is empty, so no answer could be told to be its";
    throw new Failure("CLI_USAGE", `message ${ordinal}: ${problem}`);
  }
  const startedAt = session.clock.monotonic();
  const answer = await sender.exchange(raw, controlId).catch(asFailure);
  return { ordinal, controlId, ms: Math.round(session.clock.monotonic() - startedAt), answer };
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
          servername: to.host,
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

function verdictOf({ answer }: Sent): "accepted" | "refused" | "unanswered" {
  if (answer instanceof Failure) return "unanswered";
  return answer.code === "AA" || answer.code === "CA" ? "accepted" : "refused";
}

function sentJson({ ordinal, controlId, ms, answer }: Sent, mayShowPhi: boolean) {
  if (answer instanceof Failure) {
    return {
      ordinal,
      controlId,
      ms,
      code: null,
      condition: null,
      answer: null,
      problem: { code: answer.code, message: answer.message },
    };
  }
  const text = hideHl7(answer.text.reveal(), mayShowPhi).join("\n");
  return {
    ordinal,
    controlId,
    ms,
    code: answer.code,
    condition: answer.condition ?? null,
    answer: text,
    problem: null,
  };
}

function print(sent: Sent, session: Session): void {
  const { ordinal, controlId, ms, answer } = sent;
  if (answer instanceof Failure) {
    session.line(
      session.paint("red", `message ${ordinal} (${controlId}): ${answer.message} (${answer.code})`),
    );
    session.line(`  ${answer.mend}`);
    return;
  }
  const colour = verdictOf(sent) === "accepted" ? "green" : "red";
  session.line(`message ${ordinal} (${controlId}): ${session.paint(colour, answer.code)} after ${ms} ms`);
  for (const line of hideHl7(answer.text.reveal(), session.mayShowPhi)) session.line(`  ${line}`);
}
