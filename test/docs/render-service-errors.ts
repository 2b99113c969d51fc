import { parseAnswer } from "../../src/service/answer.ts";
import { classify, MEANINGS, VERDICTS, type Verdict } from "../../src/service/classify.ts";
import type { CallKind } from "../../src/service/error-rules.ts";

const READ: CallKind = { method: "GET", route: "/api/procedures/{id}" };
const WRITE: CallKind = { method: "POST", route: "/api/procedure-requests", creates: "STORE" };
/** The notExecuted of the configuration's defaults. */
const POLICY = { notExecuted: new Set([429]), errors: [] };

const BODIES = { json: '{"message":"x"}', html: "<html>x</html>", empty: "", other: "x" } as const;

/** The tables of `docs/guide/service-errors.md`, by the name of the place that each has in it. */
export function renderTables(): ReadonlyMap<string, string> {
  return new Map([
    ["meanings", table(["means", "of a read", "of a call that changes the service"], meaningRows())],
    ["table", table(["what came back", "of a read", "of a call that changes the service"], verdictRows())],
    ["writes", table(["status", ...Object.keys(BODIES)], statusRows(WRITE))],
    ["reads", table(["status", ...Object.keys(BODIES)], statusRows(READ))],
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

/** A row for each group of statuses that mean the same with every body, in the order of their first status. */
function statusRows(call: CallKind): string[][] {
  const groups = new Map<string, number[]>();
  for (let status = 200; status < 600; status += 1) {
    const cells = Object.values(BODIES).map((body) =>
      inWords(classify(call, { answer: parseAnswer(status, {}, Buffer.from(body)) }, POLICY)),
    );
    const key = cells.join("|");
    groups.set(key, [...(groups.get(key) ?? []), status]);
  }
  return [...groups].map(([key, statuses]) => [ranges(statuses), ...key.split("|")]);
}

/** `200-203, 205` of numbers in their order. */
function ranges(numbers: readonly number[]): string {
  const found: [number, number][] = [];
  for (const each of numbers) {
    const last = found.at(-1);
    if (last && last[1] === each - 1) last[1] = each;
    else found.push([each, each]);
  }
  return found.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(", ");
}

function inWords(verdict: Verdict): string {
  return verdict === "ok" ? "taken" : code(verdict);
}

function code(word: string): string {
  return `\`${word}\``;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}
