import { type DestinationStream, type Logger as PinoLogger, pino } from "pino";
import type { Clock } from "./clock.ts";
import { LogTarget } from "./log-target.ts";
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

/** How long the end of a program waits for its last lines, ms. */
export const LOG_END_MS = 1_000;

/** Opens standard error for the log: JSON lines, or words when a person reads them. */
export async function openLog({ pretty }: Pick<LogSettings, "pretty">, clock: Clock): Promise<LogTarget> {
  const isTerminal = process.stderr.isTTY === true;
  if (pretty === false || (pretty === "auto" && !isTerminal)) return new LogTarget(2, clock);
  // Commands, which log nothing, start in half the time without it.
  const { prettyFactory } = await import("pino-pretty");
  return new LogTarget(2, clock, prettyFactory({ colorize: isTerminal, ignore: "pid,hostname" }));
}

/**
 * The daemon's logger.
 *
 * @param output what gets JSON lines
 * @param secrets what no line may hold; may get more later
 */
export function createLogger(
  settings: Pick<LogSettings, "level">,
  output: DestinationStream,
  secrets?: SecretMask,
): Logger {
  return pino(
    {
      level: settings.level,
      redact: { paths: REDACTED.flatMap((key) => [key, `*.${key}`]), censor: "[redacted]" },
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      serializers: { err: serializeError },
      hooks: secrets === undefined ? {} : { streamWrite: (line: string) => secrets.mask(line) },
    },
    output,
  );
}

/**
 * What the log keeps of an error: code, class, message and own hint of a Failure; name, system code and stack of anything else.
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
    ...(known && "ownHint" in error && error.ownHint ? { hint: error.ownHint } : {}),
    ...(cause ? { cause } : {}),
  };
}
