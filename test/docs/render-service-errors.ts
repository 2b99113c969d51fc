import { type AnswerMeaning, MEANINGS, VERDICTS } from "../../src/service/http/classify.ts";

/** The tables of `docs/guide/service-errors.md`, by the name of the place that each has in it. */
export function renderTables(): ReadonlyMap<string, string> {
  return new Map([
    ["meanings", table(["means", "of a read", "of a call that changes the service"], meaningRows())],
    ["table", table(["what came back", "of a read", "of a call that changes the service"], verdictRows())],
  ]);
}

function meaningRows(): string[][] {
  return Object.entries(MEANINGS).map(([means, { read, write }]) => [code(means), code(read), code(write)]);
}

function verdictRows(): string[][] {
  return VERDICTS.map(({ name, read, write }) => [
    name,
    read === undefined ? "-" : inWords(read),
    inWords(write),
  ]);
}

function inWords(verdict: AnswerMeaning): string {
  return verdict === "ok" ? "taken" : code(verdict);
}

function code(word: string): string {
  return `\`${word}\``;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
