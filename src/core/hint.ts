/**
 * A command that a hint names. In the text of the hint it stands between backticks, as it is typed: `cryobridge orders retry ID`.
 * Whatever is written around it, what is linked, filled in or left out of it is this.
 */
export interface HintCommand {
  /** Such as `orders retry`, or `queue resume submit`; of `requests|procedures` the first is for the request surface. */
  readonly words: readonly string[];
  /** What the words are followed by, such as `ID`, `o17` or a file. */
  readonly operands: readonly string[];
  /** With their values, such as `--reason` and `TEXT`; of `--request-id|--procedure-id` the first is for the request surface. */
  readonly options: readonly (readonly [name: string, value?: string | undefined])[];
}

const PROGRAM = "cryobridge ";
const WORD = /^[a-z][a-z-]*(\|[a-z][a-z-]*)?$/;

/** A command line of this program, such as `cryobridge orders list --state parked`. */
export function parseCommand(line: string): HintCommand {
  const tokens = line.slice(PROGRAM.length).split(" ");
  const end = tokens.findIndex((token) => token.startsWith("--"));
  const before = end === -1 ? tokens : tokens.slice(0, end);
  const others = before.findIndex((token) => !WORD.test(token));
  const options: [string, string?][] = [];
  for (const token of end === -1 ? [] : tokens.slice(end)) {
    const open = options.at(-1);
    if (token.startsWith("--") || open === undefined) options.push([token]);
    else open[1] = open[1] === undefined ? token : `${open[1]} ${token}`;
  }
  return {
    words: others === -1 ? before : before.slice(0, others),
    operands: others === -1 ? [] : before.slice(others),
    options,
  };
}

/**
 * A hint that has a profile or an encoding changed, and how a running daemon takes that over. It is said where the hint is
 * written, since who writes it knows what it changes.
 */
export function byReload(hint: string): string {
  return `${hint} A running daemon takes a changed setting over by \`cryobridge reload\`.`;
}

/** A command as it is typed. */
export function commandLine({ words, operands, options }: HintCommand): string {
  const typed = [...words, ...operands, ...options.flat()].filter((each) => each !== undefined);
  return `${PROGRAM}${typed.join(" ")}`;
}

/** A hint, its commands taken apart from its words. A span between backticks that is no command, such as a setting, is `code`. */
export function partsOf(hint: string): (string | HintCommand | { readonly code: string })[] {
  return hint.split("`").map((part, nth) => {
    if (nth % 2 === 0) return part;
    return part.startsWith(PROGRAM) ? parseCommand(part) : { code: part };
  });
}

/** The same hint with each of its commands as several that take its place, of which one is typed. */
export function withCommandsOf(
  hint: string,
  toType: (command: HintCommand) => readonly HintCommand[],
): string {
  return partsOf(hint)
    .map((part) => {
      if (typeof part === "string") return part;
      const typed = "code" in part ? [part.code] : toType(part).map(commandLine);
      return typed.map((each) => `\`${each}\``).join(" or ");
    })
    .join("");
}
