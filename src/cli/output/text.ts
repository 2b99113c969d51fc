import { FAILURES, type FailureCode, type Problem } from "../../core/failures.ts";

/** Text from outside as one harmless line: a terminal must not be commanded by a label or a file name. */
export function clean(text: string): string {
  return text.replace(/[\r\n]+/g, " ").replace(/[\p{Cc}\p{Cf}]/gu, "?");
}

/** The same for a text of several lines; CR, LF and CRLF all end a line. */
export function cleanLines(text: string): string[] {
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => line.replace(/[\p{Cc}\p{Cf}]/gu, (char) => (char === "\t" ? char : "?")));
}

/** `1 order`, `2 orders`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** `2 accepted, 1 refused`: counts by name, without those of nothing; `nothing` where all are. */
export function countsInWords(counts: Readonly<Record<string, number>>, nothing: string): string {
  const words = Object.entries(counts).flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : []));
  return words.join(", ") || nothing;
}

/** What to do about a failure. The ledger may hold codes of a later release, which have no hint here. */
export function hintOf(code: string): string | null {
  return FAILURES[code as FailureCode]?.mend ?? null;
}

/** Something with a code, such as a problem or a reason, with its hint, for programs. */
export function withHint<T extends { readonly code: string }>(it: T): T & { readonly hint: string | null } {
  return { ...it, hint: hintOf(it.code) };
}

/** What is wrong with a piece of input, each with its place and its hint. */
export function problemLines(problems: readonly Problem[]): string[] {
  return problems.flatMap(({ code, place, message }) => [
    `${place === "" ? "" : `${clean(place)}: `}${clean(message)} (${code})`,
    `  ${hintOf(code) ?? ""}`,
  ]);
}
