import { Help } from "commander";
import type { Failure } from "../../core/failures.ts";
import { clean } from "../../operator/text.ts";
import { localTime } from "../../operator/times.ts";
import type { Screen } from "../io.ts";
import { wrapped } from "../output/wrap.ts";
import type { Session } from "../session.ts";

/** The other screen of the terminal, so that what stood there is back at the end; no cursor, and no line flows over. */
const ENTER = "\u001b[?1049h\u001b[?25l\u001b[?7l";
const LEAVE = "\u001b[?7h\u001b[?25h\u001b[?1049l";
const HOME = "\u001b[H";
const CLEAR_LINE = "\u001b[K";
const CLEAR_BELOW = "\u001b[J";

/** A picture that is drawn over the former one, in one write so that nothing flickers. */
export class Picture {
  readonly #session: Session;
  readonly #screen: Screen;
  readonly #everyMs: number;
  #last = { text: "", at: 0 };

  constructor(session: Session, screen: Screen, everyMs: number) {
    this.#session = session;
    this.#screen = screen;
    this.#everyMs = everyMs;
    session.io.stdout.write(ENTER);
    process.once("exit", this.#leave);
  }

  /** The last column stays free: to clear a line behind a character there would take that with it. */
  get place() {
    return { columns: Math.max(1, this.#screen.columns - 1) };
  }

  /** Draws what a turn wrote; after a failure the last picture stays, below what is wrong. */
  show(text: string, failure: Failure | undefined): void {
    const { clock, paint } = this.#session;
    const now = clock.now();
    if (failure === undefined) this.#last = { text, at: now };
    const { message, code } = failure ?? {};
    const wrong =
      failure === undefined
        ? []
        : [
            paint("red", `✗ ${clean(`${message} (${code})`)}`),
            `  Tried again every ${this.#everyMs / 1_000} s.${this.#last.at > 0 ? ` As of ${localTime(new Date(this.#last.at))}:` : ""}`,
          ];
    const head = paint("dim", `${localTime(new Date(now))}, every ${this.#everyMs / 1_000} s; q ends`);
    const lines = [head, ...wrong, ...this.#last.text.replace(/\n+$/, "").split("\n")];
    const { columns } = this.place;
    const drawn = fitTo(
      lines.flatMap((line) => wrap(line, columns)),
      this.#screen.rows,
    );
    this.#session.io.stdout.write(HOME + drawn.map((line) => line + CLEAR_LINE).join("\r\n") + CLEAR_BELOW);
  }

  close(): void {
    process.off("exit", this.#leave);
    this.#leave();
  }

  /** Also when the process ends by an error that nobody caught: a terminal without its cursor is of no use. */
  readonly #leave = () => {
    this.#session.io.stdout.write(LEAVE);
  };
}

/** Lines for a window of this many rows; of what is too long, how much more there is. */
function fitTo(lines: readonly string[], rows: number): readonly string[] {
  if (lines.length <= rows) return lines;
  return [...lines.slice(0, rows - 1), `… ${lines.length - rows + 1} more lines: a taller window shows them`];
}

/** A line broken between words, the rest set in; a row of a table is cut instead. Colours take no room. */
function wrap(line: string, columns: number): string[] {
  if (new Help().displayWidth(line) <= columns) return [line];
  const indent = /^ */.exec(line)?.[0] ?? "";
  if (/\S {2,}\S/.test(line)) return [cut(line, columns)];
  return wrapped(line.slice(indent.length), columns, [indent, `${indent}  `]);
}

function cut(line: string, columns: number): string {
  let room = columns - 1;
  return line.replace(STYLE_OR_CHARACTER, (part) => {
    if (part.length > 2) return part;
    room -= 1;
    return room >= 0 ? part : room === -1 ? "…" : "";
  });
}

/** A colour of `util.styleText`, or a character. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escape sequences begin with one
const STYLE_OR_CHARACTER = /\u001b\[[0-9;]*m|./gsu;
