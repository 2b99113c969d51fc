import { isUtf8 } from "node:buffer";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { MllpListener } from "../../../connectors/mllp/listener.ts";
import { Failure } from "../../../core/failures.ts";
import type { Logger } from "../../../core/logger.ts";
import { makeFolders } from "../../../core/make-folders.ts";
import { hideHl7 } from "../../../operator/hl7-tree.ts";
import { clean } from "../../../operator/text.ts";
import { untilStopped } from "../../io.ts";
import type { Session } from "../../session.ts";
import { answerFrame, type HeardFrame } from "./answer.ts";
import { describeCertificate, type PemFiles, type Pems, readPems } from "./tls.ts";

interface ListenOptions extends PemFiles {
  readonly host: string;
  readonly port: number;
  readonly answer: "AA" | "AE" | "AR";
  readonly save?: string;
  readonly count?: number;
  readonly tls?: boolean;
}

/** How to make a certificate for trying things out, on one line that can be copied. */
const MAKE_PAIR =
  'openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=localhost -addext "subjectAltName=DNS:localhost,IP:127.0.0.1" -keyout key.pem -out cert.pem';

const STOP_WITHIN_MS = 2_000;

/** `hl7 listen`: runs until it is asked to stop, or until the messages that were asked for came. */
export async function listenHl7(session: Session, options: ListenOptions): Promise<undefined> {
  const tls = await readTls(session, options);
  const save = options.save === undefined ? undefined : await openFolder(options.save, session);
  const enough = Promise.withResolvers<void>();
  let received = 0;
  const listener = new MllpListener(
    {
      host: options.host,
      port: options.port,
      allow: [],
      maxConnections: 100,
      maxConnectionsPerAddress: 100,
      maxBytes: 64 * 1024 * 1024,
      maxOpenBytes: 256 * 1024 * 1024,
      maxInFlight: 1,
      maxMessages: Number.POSITIVE_INFINITY,
      idleMs: 3_600_000,
      firstFrameMs: 3_600_000,
      frameMs: 60_000,
      tls,
    },
    {
      clock: session.clock,
      logger: session.isVerbose ? session.logger : createNoteLogger(session),
      take: async (frame) => {
        await save?.(frame);
        const ordinal = received + 1;
        const heard = answerFrame(frame, {
          answer: options.answer,
          ordinal,
          now: new Date(session.clock.now()),
        });
        received += heard.messages.length;
        print(session, ordinal, heard);
        if (options.count !== undefined && received >= options.count) enough.resolve();
        if (!(await session.isRead())) {
          session.note("nobody reads what is printed any more, so it ends here");
          enough.resolve();
        }
        return heard.replies;
      },
      keepUnended: () => Promise.resolve(),
    },
  );
  await listener.start();
  const how = tls === undefined ? "" : " with TLS";
  session.note(`listening on ${options.host}:${listener.port}${how}; Ctrl+C ends it`);
  if (tls !== undefined) session.note(clean(`its certificate: ${describeCertificate(tls.cert)}`));
  await Promise.race([untilStopped(session.io), enough.promise]);
  await listener.stop(STOP_WITHIN_MS);
  return undefined;
}

/** @throws Failure CLI_USAGE for TLS without a certificate, and as `readPems` does */
async function readTls(
  session: Session,
  options: ListenOptions,
): Promise<(Pems & { readonly cert: Buffer; readonly requestCert: boolean }) | undefined> {
  const pems = await readPems(session, options);
  const { cert, ca } = pems;
  // With authorities to judge senders by, only those are let in that show a certificate of theirs.
  if (cert !== undefined) return { ...pems, cert, requestCert: ca !== undefined };
  if (options.tls !== true && ca === undefined) return undefined;
  throw new Failure(
    "CLI_USAGE",
    `TLS needs --cert and --key; a pair for trying things out is made by\n${MAKE_PAIR}\nand senders then trust cert.pem`,
  );
}

/** Saves what comes in frames in a folder, a file for each, numbered after those of an earlier run. */
async function openFolder(folder: string, session: Session): Promise<(frame: Buffer) => Promise<void>> {
  const names = await makeFolders(folder, 0o750)
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
    await writeFile(path, frame, { flag: "wx", mode: 0o640 }).catch((error: NodeJS.ErrnoException) => {
      session.note(
        `${path} can't be written (${error.code ?? "unknown error"}); the message was not answered`,
      );
      throw error;
    });
  };
}

function print(session: Session, first: number, { messages, isBatch }: HeardFrame): void {
  const batchMessages = isBatch ? messages.length : null;
  if (messages.length === 0 && !session.isJson)
    session.line(session.paint("bold", "a batch without messages, answered with another"));
  for (const [n, { what, codes, raw }] of messages.entries()) {
    const ordinal = first + n;
    const lines = hideHl7(raw.toString(isUtf8(raw) ? "utf8" : "latin1"), session.mayShowPhi);
    if (session.isJson) {
      // One document a message, as each comes: there is no end to wait for.
      const heard = { ordinal, what, batchMessages, answer: codes.at(-1) ?? null, answers: codes };
      session.line(JSON.stringify({ ...heard, text: lines.join("\n") }));
      continue;
    }
    const where = isBatch ? ` (${n + 1} of ${messages.length} in a batch)` : "";
    const answered = `answered ${codes.join(", then ") || "with nothing"}`;
    session.line(session.paint("bold", clean(`message ${ordinal}${where}: ${what}, ${answered}`)));
    session.lines(lines, 2);
  }
}

/** What the further keys of a log line add to its words. */
const DETAILS: Readonly<Record<string, (value: string) => string>> = {
  bytes: (value) => `${value} bytes`,
  maxBytes: (value) => `more than ${value} bytes`,
  looksLike: (value) => `they look like ${value}`,
  reason: (value) => value,
};

/** A logger whose warnings a person at a terminal reads as notes. */
function createNoteLogger(session: Session): Logger {
  return pino(
    { level: "warn", base: null },
    {
      write: (line) => {
        const { msg, ...rest } = JSON.parse(line) as Record<string, unknown>;
        const details = Object.entries(DETAILS).flatMap(([key, say]) =>
          rest[key] === undefined ? [] : [say(String(rest[key]))],
        );
        session.note(clean(`${String(msg)}${details.length > 0 ? ` (${details.join("; ")})` : ""}`));
      },
    },
  );
}
