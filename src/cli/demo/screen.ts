import { relative, sep } from "node:path";
import type { Clock } from "../../core/clock.ts";
import type { Session } from "../session.ts";

/** Where the demonstration's lines go; nothing is shown with `--json`. */
export interface Screen {
  readonly paint: Session["paint"];
  line(text?: string): void;
  /** A name and what it stands for. */
  field(name: string, text: string): void;
  /** Something that happened just now: to whom, to which order or file, and what. */
  happened(who: string, which: string, words: string): void;
  /** Something about the whole. */
  remark(text: string): void;
}

const FIELD_WIDTH = 11;
const WHO_WIDTH = 8;
const WHICH_WIDTH = 10;

/** A screen on a session's standard output; times are told in seconds since it was made. */
export function createScreen(session: Pick<Session, "paint" | "line" | "isJson">, clock: Clock): Screen {
  const startedAt = clock.monotonic();
  const { paint } = session;
  const line = (text?: string) => {
    if (!session.isJson) session.line(text);
  };
  const now = () => paint("dim", `${((clock.monotonic() - startedAt) / 1_000).toFixed(1).padStart(6)}s  `);
  return {
    paint,
    line,
    field: (name, text) => line(`  ${paint("bold", name.padEnd(FIELD_WIDTH))}${text}`),
    happened: (who, which, words) =>
      line(
        `${now()}${paint("dim", who.padEnd(WHO_WIDTH))} ${paint("bold", which.padEnd(WHICH_WIDTH))} ${words}`,
      ),
    remark: (text) => line(`${now()}${paint("cyan", text)}`),
  };
}

/** A path as a person types it from where they stand, unless it lies elsewhere. */
export function shownPath(path: string, from = process.cwd()): string {
  const short = relative(from, path);
  return short === "" || short.startsWith(`..${sep}`) || short === ".." ? path : short;
}
