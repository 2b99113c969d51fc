import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Command } from "commander";
import { MllpListener } from "../connectors/mllp/listener.ts";
import { Failure } from "../core/failures.ts";
import { buildAck } from "../formats/hl7/ack.ts";
import { planAcks } from "../formats/hl7/ack-mode.ts";
import { buildMessage } from "../formats/hl7/build.ts";
import { decodeHl7 } from "../formats/hl7/charset.ts";
import { Hl7Message } from "../formats/hl7/message.ts";
import { createEcho } from "../mapping/echo.ts";
import { clean } from "./clean.ts";
import { hideHl7 } from "./hidden.ts";
import { typeOf } from "./hl7-file.ts";
import type { Session } from "./session.ts";
import { untilStopped } from "./until-stopped.ts";

interface ListenOptions {
  readonly host: string;
  readonly port: number;
  readonly answer: "AA" | "AE" | "AR";
  readonly save?: string;
  readonly count?: number;
}

const OUTCOME_BY_ANSWER = { AA: "taken", AE: "content", AR: "foreign" } as const;
const STOP_WITHIN_MS = 2_000;

/** `hl7 listen`: runs until it is asked to stop, or until so many messages came. */
export async function listenHl7(session: Session, command: Command): Promise<undefined> {
  const options = command.opts<ListenOptions>();
  const save = options.save === undefined ? undefined : await openFolder(options.save, session);
  const enough = Promise.withResolvers<void>();
  let received = 0;
  const listener = new MllpListener(
    {
      host: options.host,
      port: options.port,
      allow: [],
      maxConnections: 100,
      maxBytes: 64 * 1024 * 1024,
      maxOpenBytes: 256 * 1024 * 1024,
      maxInFlight: 1,
      idleMs: 3_600_000,
      frameMs: 60_000,
    },
    {
      clock: session.clock,
      logger: session.logger,
      take: async (frame) => {
        received += 1;
        const ordinal = received;
        await save?.(frame);
        const answers = answerTo(frame, ordinal, options, session);
        if (ordinal === options.count) enough.resolve();
        return answers;
      },
      keepUnended: (bytes) => {
        session.note(`a frame of ${bytes.length} bytes had no end; it was not answered`);
        return Promise.resolve();
      },
    },
  );
  await listener.start();
  session.note(`listening on ${options.host}:${listener.port}; Ctrl+C ends it`);
  await Promise.race([untilStopped(session.io), enough.promise]);
  await listener.stop(STOP_WITHIN_MS);
  return undefined;
}

/** Saves messages in a folder under numbers that go on behind those that an earlier run left there. */
async function openFolder(folder: string, session: Session): Promise<(frame: Buffer) => Promise<void>> {
  const names = await mkdir(folder, { recursive: true })
    .then(() => readdir(folder))
    .catch((error: NodeJS.ErrnoException) => {
      const why = error.code ?? "unknown error";
      throw new Failure("CLI_FILE_UNREADABLE", `--save ${folder} can't be made or read as a folder (${why})`);
    });
  const numbers = names.map((name) => Number(/^(\d{6,})\.hl7$/.exec(name)?.[1] ?? 0));
  let last = numbers.reduce((highest, number) => Math.max(highest, number), 0);
  return async (frame) => {
    last += 1;
    const path = join(folder, `${String(last).padStart(6, "0")}.hl7`);
    await writeFile(path, frame, { flag: "wx" }).catch((error: NodeJS.ErrnoException) => {
      session.note(
        `${path} can't be written (${error.code ?? "unknown error"}); the message was not answered`,
      );
      throw error;
    });
  };
}

function answerTo(frame: Buffer, ordinal: number, options: ListenOptions, session: Session): Buffer[] {
  const message = read(frame);
  if (message instanceof Failure) {
    tell(session, ordinal, frame, `${message.message} (${message.code})`, []);
    return [];
  }
  const { header } = message;
  // An acknowledgement is not acknowledged, or two systems would answer each other for ever.
  const plan = message.first("MSA") ? undefined : planAcks(header, OUTCOME_BY_ANSWER[options.answer]);
  // Trying out a sender, the application acknowledgement comes on the same connection.
  const codes = [plan?.immediate, plan?.deferred].filter((code) => code !== undefined);
  tell(session, ordinal, frame, typeOf(message), codes);
  const { delimiters } = createEcho(message);
  return codes.map((code, n) => {
    const ack = buildAck({
      to: header,
      code,
      controlId: `L${session.clock.now()}${n}${ordinal}`.slice(0, 20),
      dateTime: new Date(session.clock.now()),
    });
    return Buffer.from(buildMessage(ack, { delimiters }), "utf8");
  });
}

function read(frame: Buffer): Hl7Message | Failure {
  try {
    const { text, encoding } = decodeHl7(frame);
    return Hl7Message.parse(text, { encoding });
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
}

function tell(
  session: Session,
  ordinal: number,
  frame: Buffer,
  what: string,
  codes: readonly string[],
): void {
  const lines = hideHl7(frame.toString("utf8"), session.mayShowPhi);
  if (session.isJson) {
    // One document a message, as each comes: there is no end to wait for.
    session.io.stdout.write(
      `${JSON.stringify({ ordinal, what, answer: codes.at(-1) ?? null, answers: codes, text: lines.join("\n") })}\n`,
    );
    return;
  }
  session.line(
    session.paint(
      "bold",
      clean(`message ${ordinal}: ${what}, answered ${codes.join(", then ") || "with nothing"}`),
    ),
  );
  for (const line of lines) session.line(`  ${line}`);
}
