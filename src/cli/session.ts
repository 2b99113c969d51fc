import { userInfo } from "node:os";
import { styleText } from "node:util";
import type { Command } from "commander";
import { type Clock, systemClock } from "../core/clock.ts";
import { createLogger, type Logger } from "../core/logger.ts";
import type { SecretMask } from "../core/secret-mask.ts";
import type { Paint } from "../operator/column.ts";
import type { ExitStatus } from "./exit-status.ts";
import type { Io } from "./io.ts";

/** The options that every command takes. */
interface GlobalOptions {
  readonly config?: string;
  readonly json?: boolean;
  readonly showPhi?: boolean;
  readonly verbose?: boolean;
}

/** One run of a command: what it was asked for, and where its words go. */
export interface Session {
  readonly io: Io;
  readonly clock: Clock;
  /** Silent unless `--verbose`: a command's own words are its result. */
  readonly logger: Logger;
  /** The credentials of the configuration, once that is read: they are taken out of all that is written and logged. */
  readonly secrets: SecretMask;
  readonly configFile: string;
  readonly isJson: boolean;
  readonly mayShowPhi: boolean;
  readonly mayAskPhi: true;
  readonly isVerbose: boolean;
  /** Width to keep tables within; undefined when the output is no terminal. */
  readonly width: number | undefined;
  /** Who acts, for the audit: the operating system's user. */
  readonly actor: string;
  /** Text in a colour or weight, where they are wanted. */
  paint(style: Paint | readonly Paint[], text: string): string;
  /** A line of the result, on standard output. */
  line(text?: string): void;
  /** Lines of the result, indented by a number of blanks. */
  lines(lines: readonly string[], indent?: number): void;
  /** The result as one JSON document, on standard output. */
  json(value: unknown): void;
  /** The result: one JSON document for programs, lines for people. */
  result(json: unknown, lines: readonly string[]): void;
  /** Waits until what was written is on its way, so that it doesn't pile up; false when nobody reads it any more. */
  isRead(): Promise<boolean>;
  /** The same session in another place, such as a picture of the screen. */
  in(place: Partial<Io>): Session;
  /** A remark that is no part of the result, on standard error; left out with `--json`. */
  note(text: string): void;
}

export const DEFAULT_CONFIG_FILE = "config/cryobridge.yaml";

/** What a command does with its arguments and, after them, its options; gives an exit status other than 0 if need be. */
export type Act = (session: Session, ...given: never[]) => Promise<ExitStatus | undefined>;

/** A run of the command line; its commands leave their exit status here. */
export interface Cli {
  /** Its streams leave out what `secrets` knows. */
  readonly io: Io;
  readonly secrets: SecretMask;
  exitStatus: ExitStatus;
  /** The exit status for whatever failure ends the command, where the code of the failure does not decide it. */
  failureStatus?: ExitStatus;
}

/**
 * The action that commander calls for a command.
 *
 * @param failureStatus of a command whose other statuses are answers
 */
export function toAction(
  cli: Cli,
  act: Act,
  failureStatus?: ExitStatus,
): (...args: unknown[]) => Promise<void> {
  return async (...args) => {
    const command = args.at(-1) as Command;
    if (failureStatus !== undefined) cli.failureStatus = failureStatus;
    const session = openSession(cli, command.optsWithGlobals<GlobalOptions>());
    const status = await act(session, ...(args.slice(0, -1) as never[]));
    if (status !== undefined) cli.exitStatus = status;
  };
}

/** Whether the environment asks for more than the message of an error. */
export function isVerbose(options: GlobalOptions, env: Io["env"]): boolean {
  return options.verbose === true || Boolean(env.DEBUG);
}

function openSession({ io, secrets }: Pick<Cli, "io" | "secrets">, options: GlobalOptions): Session {
  const isJson = options.json === true;
  const hasColours = io.isTTY && !isJson && !io.env.NO_COLOR && io.env.TERM !== "dumb";
  const line = (text = "") => io.stdout.write(`${text}\n`);
  const lines = (texts: readonly string[], indent = 0) => {
    for (const text of texts) line(`${" ".repeat(indent)}${text}`);
  };
  const json = (value: unknown) => io.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
  return {
    io,
    clock: io.clock ?? systemClock,
    logger: createLogger({ level: isVerbose(options, io.env) ? "debug" : "silent" }, io.stderr, secrets),
    secrets,
    configFile: options.config ?? (io.env.CRYOBRIDGE_CONFIG || DEFAULT_CONFIG_FILE),
    isJson,
    mayShowPhi: options.showPhi === true,
    mayAskPhi: true,
    isVerbose: isVerbose(options, io.env),
    width: io.isTTY ? (io.columns ?? 80) : undefined,
    actor: userName(),
    paint: (style, text) =>
      hasColours
        ? styleText(typeof style === "string" ? style : [...style], text, { validateStream: false })
        : text,
    line,
    lines,
    json,
    result: (value, texts) => (isJson ? json(value) : lines(texts)),
    isRead: async () => (await io.stdout.drained?.()) ?? true,
    in: (place) => openSession({ io: { ...io, ...place }, secrets }, options),
    note: (text) => {
      if (!isJson) io.stderr.write(`${text}\n`);
    },
  };
}

/** An account may have no name, as in containers that run under any number. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.() ?? "unknown"}`;
  }
}
