import { roundToUnit } from "../../operator/times.ts";
import type { Session } from "../session.ts";

/**
 * Says how far the work is.
 * @param total where it is known
 * @param nouns what is counted from here on, where the work has several parts
 */
export type Report = (done: number, total?: number, nouns?: string) => void;

/** What is over sooner needs no word about it, ms. */
const SHOWN_AFTER_MS = 1_000;
const DRAWN_EVERY_MS = 250;
const ERASE = "\r\u001b[K";

interface Progressing {
  /** What is done, such as `backup`. */
  readonly what: string;
  /** What is counted, such as `rows`. */
  readonly nouns: string;
  /** Whether it prints as it goes, so that who sees that sees how far it is. */
  readonly isPrinting?: boolean;
}

/**
 * Does something that may take long, and shows meanwhile how far it is, in a line on standard error that is gone at the
 * end. Only a terminal is shown it, not with `--json`, and nothing of what is over within a second.
 */
export async function withProgress<T>(
  session: Session,
  { what, nouns, isPrinting = false }: Progressing,
  work: (report: Report) => Promise<T>,
): Promise<T> {
  const { clock, io, isJson } = session;
  if (isJson || io.isErrorTTY !== true || (isPrinting && io.isTTY)) return work(() => {});
  const end = new AbortController();
  let part: Part = { done: 0, total: undefined, nouns, since: clock.monotonic() };
  const draw = async () => {
    for (let pauseMs = SHOWN_AFTER_MS; ; pauseMs = DRAWN_EVERY_MS) {
      await clock.sleep(pauseMs, end.signal);
      const words = inWords(part, clock.monotonic() - part.since);
      io.stderr.write(`${ERASE}${what}: ${words}`);
      isDrawn = true;
    }
  };
  let isDrawn = false;
  const drawing = draw().catch(() => undefined);
  try {
    return await work((done, total, now = part.nouns) => {
      part =
        now === part.nouns
          ? { ...part, done, total: total ?? part.total }
          : { done, total, nouns: now, since: clock.monotonic() };
    });
  } finally {
    end.abort();
    await drawing;
    if (isDrawn) io.stderr.write(ERASE);
  }
}

interface Part {
  readonly done: number;
  readonly total: number | undefined;
  readonly nouns: string;
  /** Monotonic, ms. */
  readonly since: number;
}

/** Such as `1200 of 4000 rows (30 %), 600 a second`. */
function inWords({ done, total, nouns }: Part, ms: number): string {
  if (done === 0 && total === undefined) return `${roundToUnit(ms)} …`;
  const share = total ? ` of ${total}` : "";
  const percent = total ? ` (${Math.floor((100 * done) / total)} %)` : "";
  const rate = done / (ms / 1_000);
  const shown = rate >= 10 ? Math.round(rate) : Number(rate.toFixed(1));
  return `${done}${share} ${nouns}${percent}, ${shown} a second`;
}
