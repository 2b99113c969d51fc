import { Failure, hintOf } from "../core/failures.ts";

/** A place in a configuration file, both counted from 1. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

/** The way to a value inside the file: keys and list positions (from 0). */
export type Path = readonly (string | number)[];

/** One mistake (or, among the warnings, one risk) in the configuration. */
export interface ConfigProblem extends Position {
  readonly code: "CONFIG_INVALID";
  /** For people: the file with the line and the column, and the way to the value. */
  readonly place: string;
  readonly message: string;
  readonly hint?: string | undefined;
  /** The file as the caller named it, or a profile file beside it. */
  readonly file: string;
  /** The way to the value as people write it: `connectors[1].directory`; empty for the file as a whole. */
  readonly path: string;
}

/** A configuration that can't be used: a CONFIG_INVALID {@link Failure} that carries every mistake found. */
type ConfigFailure = Failure & { readonly problems: readonly ConfigProblem[] };

/** One problem at one place. */
export function problemAt(file: string, position: Position, path: Path, message: string): ConfigProblem {
  const words = formatPath(path);
  const place = `${file}:${position.line}:${position.column}${words === "" ? "" : ` ${words}`}`;
  return { code: "CONFIG_INVALID", file, ...position, path: words, place, message };
}

/** The error for a list of mistakes; its message has one line for each, such as `config/cryobridge.yaml:6:3 service.timout: unknown key …`. */
export function configFailure(problems: readonly ConfigProblem[]): ConfigFailure {
  const sorted = [...problems].sort(
    (a, b) =>
      compareText(a.file, b.file) || a.line - b.line || a.column - b.column || compareText(a.path, b.path),
  );
  const message = sorted.map(({ place, message }) => `${place}: ${message}`).join("\n");
  const hints = new Set(sorted.map((problem) => hintOf(problem) ?? ""));
  const failure = new Failure("CONFIG_INVALID", { message, hint: [...hints].join("\n") });
  return Object.assign(failure, { problems: sorted });
}

/** Whether an error is the one that {@link configFailure} makes. */
export function isConfigFailure(error: unknown): error is ConfigFailure {
  return error instanceof Failure && error.code === "CONFIG_INVALID" && "problems" in error;
}

/** `connectors[1].type`; keys that are no plain word stand in quotes: `facilities["NORTH 1"]`. */
function formatPath(path: Path): string {
  return path.reduce<string>((text, part) => {
    if (typeof part === "number") return `${text}[${part}]`;
    if (!/^[A-Za-z_][\w-]*$/.test(part)) return `${text}[${JSON.stringify(part)}]`;
    return text === "" ? part : `${text}.${part}`;
  }, "");
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
