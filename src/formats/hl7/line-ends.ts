/** The ends of lines between one that holds something and the next, as bits: a run of several has those of all. */
export const LINE_END = { CR: 1, LF: 2, CRLF: 4 } as const;

/** `CR`, or `CR and CRLF` for lines that all end with both. */
export function nameLineEnds(kinds: number): string {
  return Object.entries(LINE_END)
    .flatMap(([name, bit]) => ((kinds & bit) === 0 ? [] : [name]))
    .join(" and ");
}

/** An end of a segment that is not like the others of its message. */
interface OddEnd {
  /** Which segment it ends, 0-based. */
  readonly segment: number;
  /** Line of the message, 1-based. */
  readonly line: number;
  readonly kinds: number;
}

/**
 * The segments of a message that end in another way than most of it, each followed by one more: a line break in pasted text
 * looks like such an end, and what stands after it like a segment. The last segment may end as it likes.
 *
 * @param text a message that can be parsed
 */
export function findOddEnds(text: string): { readonly usual: number; readonly odd: readonly OddEnd[] } {
  // Nearly every message has CR alone, or LF alone.
  if (!text.includes("\n") || !text.includes("\r")) return { usual: 0, odd: [] };
  const ends: OddEnd[] = [];
  const counts = new Map<number, number>();
  let line = 1;
  for (const { 0: run, index } of text.matchAll(/[\r\n]+/g)) {
    let [kinds, breaks] = [0, 0];
    for (const [end] of run.matchAll(/\r\n|\r|\n/g)) {
      kinds |= end === "\r" ? LINE_END.CR : end === "\n" ? LINE_END.LF : LINE_END.CRLF;
      breaks += 1;
    }
    const isBetween = /[^\ufeff]/.test(text.slice(0, Math.min(index, 2))) && index + run.length < text.length;
    if (isBetween) {
      ends.push({ segment: ends.length, line, kinds });
      counts.set(kinds, (counts.get(kinds) ?? 0) + 1);
    }
    line += breaks;
  }
  const usual = [...counts].reduce((most, each) => (each[1] > most[1] ? each : most), [0, 0])[0];
  return { usual, odd: ends.filter(({ kinds }) => kinds !== usual) };
}
