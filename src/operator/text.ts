import { hintOf, type ShownProblem } from "../core/failures.ts";
import type { Phi } from "../core/phi.ts";
import { type Known, readyHint } from "./ready-hint.ts";

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

/** With a capital and a full stop. */
export function asSentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}

/** Said wherever nothing moves because of it. */
export const NO_DAEMON = "no daemon works on this ledger";

/** `1 order`, `2 orders`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** `2 accepted, 1 refused`: counts by name, without those of nothing; `nothing` where all are. */
export function countsInWords(counts: Readonly<Record<string, number>>, nothing: string): string {
  const words = Object.entries(counts).flatMap(([name, count]) => (count > 0 ? [`${count} ${name}`] : []));
  return words.join(", ") || nothing;
}

/** Something with a code, such as a problem or a reason, with its hint, for programs. */
export function withHint<T extends { readonly code: string; readonly hint?: string | undefined }>(
  it: T,
): Omit<T, "hint"> & { readonly hint: string | null } {
  return { ...it, hint: hintOf(it) };
}

/** What is wrong with a piece of input, each with its place and its hint. @param known the records that the commands of hints are about */
export function problemLines(problems: readonly ShownProblem[], known: Known = {}): string[] {
  return problems.flatMap((problem) => {
    const { code, place, message } = problem;
    return [
      `${place === "" ? "" : `${clean(place)}: `}${clean(message)} (${code})`,
      `  ${clean(readyHint(problem.hint ?? "", known))}`,
    ];
  });
}

/** Stands for what identifies a patient where nobody asked to see it. */
export const HIDDEN = "••••";

/** A patient's value, or the mask; undefined stays undefined, so that "unknown" and "hidden" differ. */
export function reveal(value: Phi | undefined, mayShowPhi: boolean): string | undefined {
  if (value === undefined) return undefined;
  return mayShowPhi ? value.reveal() : HIDDEN;
}

/** A text that may hold something of a patient, or the mask. */
export function hideText(text: string, mayShowPhi: boolean): string {
  return mayShowPhi || text === "" ? text : HIDDEN;
}
