import { type DestinationStream, type Logger as PinoLogger, pino } from "pino";
import type { SecretMask } from "./secret-mask.ts";

export type Logger = PinoLogger;

export interface LogSettings {
  readonly level: "trace" | "debug" | "info" | "warn" | "error" | "silent";
  /** Coloured lines for people; `auto` when standard error is a terminal. */
  readonly pretty: boolean | "auto";
}

/** Keys that could carry personal data or secrets if someone logged a whole object by mistake. */
const REDACTED = [
  "raw",
  "subject",
  "firstName",
  "lastName",
  "dateOfBirth",
  "subjectCode",
  "authorization",
  "clientSecret",
  "apiToken",
  "token",
  "password",
];

/**
 * The daemon's logger: JSON lines on standard error, or words when a person reads them.
 *
 * @param secrets what no line may hold; may get more later
 * @param output a file that JSON lines are appended to, or a stream that gets them, instead
 */
export function createLogger(
  settings: LogSettings,
  secrets?: SecretMask,
  output?: string | DestinationStream,
): Logger {
  const isPretty = settings.pretty === "auto" ? process.stderr.isTTY === true : settings.pretty;
  const options = {
    level: settings.level,
    redact: { paths: REDACTED.flatMap((key) => [key, `*.${key}`]), censor: "[redacted]" },
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    serializers: { err: serializeError },
    hooks: secrets === undefined ? {} : { streamWrite: (line: string) => secrets.mask(line) },
  };
  if (typeof output === "string") {
    return pino(options, pino.destination({ dest: output, append: true, sync: true }));
  }
  if (output !== undefined) return pino(options, output);
  if (isPretty) {
    return pino({
      ...options,
      transport: { target: "pino-pretty", options: { destination: 2, ignore: "pid,hostname" } },
    });
  }
  return pino(options, pino.destination({ fd: 2, sync: false }));
}

/**
 * What the log keeps of an error: code, class and message of a Failure; name, system code and stack of anything else.
 * A foreign message is left out, since parsers and databases quote the data they choke on.
 */
function serializeError(error: unknown): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error };
  const known = "class" in error && error.name === "Failure";
  const cause = error.cause instanceof Error ? serializeError(error.cause) : undefined;
  const frames = error.stack
    ?.split("\n")
    .filter((line) => /^\s+at /.test(line))
    .slice(0, 8)
    .map((line) => line.trim());
  return {
    type: error.name,
    ...("code" in error ? { code: error.code } : {}),
    ...(known ? { message: error.message } : { stack: frames }),
    ...(cause ? { cause } : {}),
  };
}
