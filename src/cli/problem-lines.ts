import { FAILURES, type Problem } from "../core/failures.ts";
import { clean } from "./clean.ts";

/** What is wrong with a piece of input, each with its place and its mend. */
export function problemLines(problems: readonly Problem[]): string[] {
  return problems.flatMap(({ code, place, message }) => [
    `${place === "" ? "" : `${clean(place)}: `}${clean(message)} (${code})`,
    `  ${FAILURES[code]?.mend ?? ""}`,
  ]);
}
