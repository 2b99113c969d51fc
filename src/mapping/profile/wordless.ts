import { FAILURES, type FailureCode, listReasonsMet } from "../../core/failures.ts";
import { ORDER_STATES } from "../../core/order-state.ts";
import { statusWord } from "../outbound/codes.ts";
import type { Link } from "./inherit.ts";
import { CONTROL_FORMS, controlOfRow } from "./message-type.ts";
import { CONTROL_OPERATIONS, ROW_OPERATIONS } from "./operations.ts";
import {
  CONTROL_ENDS,
  type CsvStatus,
  columnsUsed,
  type FormedColumn,
  isFormed,
  REPORTED_STATES,
  type ResultState,
  reasonWordsOf,
} from "./results-schema.ts";
import type { ProfileDefinition } from "./schema.ts";
import { placeOfPart } from "./transform-schema.ts";
import { compilePipeline } from "./transforms.ts";
import { toValueObject } from "./value.ts";

/** A table of the lab's words, and what results can say that it has no word for. */
interface Wordless {
  readonly table: "results.words.status" | "results.words.operation" | "results.reasons";
  readonly lacking: readonly string[];
}

/**
 * What the lab would read in our words although it has a table of its own. Operations are those that the site's own tables
 * give, where it has some: what only a built-in profile knows, such as a status query, no lab file of the site holds.
 *
 * @param links the profile and those it extends, nearest first
 * @param whole all of them as one
 */
export function listWordless(links: readonly Link[], whole: ProfileDefinition): Wordless[] {
  const { words = {} } = whole.results ?? {};
  const operations = listOperations(links, whole);
  const columns = columnsUsed(whole.results ?? {});
  const check = (name: "status" | "operation", said: readonly string[]): Wordless[] => {
    const table = words[name];
    if (table === undefined || (whole.format === "csv" && !columns.has(name))) return [];
    const lacking = [...new Set(said)].flatMap((each) =>
      Object.hasOwn(table, each) ? lackingWords(each, table[each as keyof typeof table], operations) : [each],
    );
    return lacking.length === 0 ? [] : [{ table: `results.words.${name}`, lacking }];
  };
  const ofColumn = whole.format === "csv" ? operations : [];
  return [
    ...check("status", listStatuses(whole, operations)),
    ...check("operation", ofColumn),
    ...reasonWordsLacking(whole),
  ];
}

function reasonWordsLacking({ format = "hl7", results = {} }: ProfileDefinition): Wordless[] {
  const { reasons = {} } = results;
  const hasReasons = Object.keys(reasons).some((name) => Object.hasOwn(FAILURES, name));
  const lacking = hasReasons ? reasonWordsOf(format).filter((word) => !Object.hasOwn(reasons, word)) : [];
  return lacking.length === 0 ? [] : [{ table: "results.reasons", lacking }];
}

/** The reasons for which a lab's table has no words, where it has one: an answer with one of them is in English. */
export function listReasonsLacking({
  format = "hl7",
  results = {},
}: ProfileDefinition): readonly FailureCode[] {
  const { reasons = {} } = results;
  const hasReasons = Object.keys(reasons).some((name) => Object.hasOwn(FAILURES, name));
  return hasReasons ? listReasonsMet(format).filter((code) => !Object.hasOwn(reasons, code)) : [];
}

/** A column of results, and what its transforms don't take of all that it can be given. */
interface Untaken {
  readonly column: string;
  readonly lacking: readonly string[];
}

/**
 * The statuses and operations that a formed column of results passes on as they are, since its `table` does not list them or
 * its `regex` does not match them. A column with a `default` says that instead.
 */
export function listUntaken(links: readonly Link[], whole: ProfileDefinition): Untaken[] {
  if (whole.format !== "csv") return [];
  const operations = listOperations(links, whole);
  const statuses = [...new Set(listStatuses(whole, operations))];
  const { words = {}, columns = [] } = whole.results ?? {};
  const saidBy = {
    operation: operations.map((each) => [each, wordOf(words.operation, each)] as const),
    status: statuses.flatMap((each) =>
      [undefined, ...operations].map(
        (operation) => [each, statusWord(words, each, operation) ?? each] as const,
      ),
    ),
  };
  return columns.flatMap((entry, index): Untaken[] => {
    if (typeof entry === "string" || !isFormed(entry) || (entry.default ?? "") !== "") return [];
    const sources = [entry.from].flat().flatMap((source): ("status" | "operation")[] => {
      const [only, ...more] = typeof source === "string" ? [source] : source.join.map(placeOfPart);
      return more.length === 0 && (only === "status" || only === "operation") ? [only] : [];
    });
    const take = transformsOf(entry);
    const lacking = sources
      .flatMap((source) => saidBy[source])
      .flatMap(([ours, word]) => (take(word) ? [] : [ours]));
    const column = `results.columns[${index}] (${entry.header ?? ""})`;
    return lacking.length === 0 ? [] : [{ column, lacking: [...new Set(lacking)] }];
  });
}

function wordOf(table: Readonly<Partial<Record<string, string>>> = {}, word: string): string {
  return (Object.hasOwn(table, word) ? table[word] : undefined) ?? word;
}

function transformsOf(column: FormedColumn): (word: string) => boolean {
  // What is wrong with them was complained of when the profile was compiled.
  const steps = compilePipeline(column, { mayQuote: false, complain: () => {} });
  return (word) => {
    let value = word;
    for (const step of steps) {
      const next = step(value);
      if (typeof next !== "string") return false;
      value = next;
    }
    return true;
  };
}

/**
 * The operations for which a status has no word, such as `completed.RETRIEVAL`. What is refused or waits may have an operation that
 * nobody can read.
 */
function lackingWords(
  status: string,
  word: string | Readonly<Partial<Record<string, string>>> | undefined,
  operations: readonly string[],
): string[] {
  if (typeof word !== "object" || Object.hasOwn(word, "*")) return [];
  const said = operations.filter((operation) => {
    const isRequest = controlOfRow(operation) !== undefined;
    const statuses: readonly string[] = isRequest ? statusesOfRequest(operation) : CONTROL_ENDS;
    return statuses.includes(status) === isRequest;
  });
  const unread = status === "refused" || status === "waiting" ? ["*"] : [];
  return [...said, ...unread].filter((each) => !Object.hasOwn(word, each)).map((each) => `${status}.${each}`);
}

function listOperations(links: readonly Link[], whole: ProfileDefinition): string[] {
  const ofTypes = (["register", "update", "merge"] as const)
    .filter((key) => (whole[key] ?? []).length > 0)
    .map((key) => key.toUpperCase());
  const own = links.flatMap(({ name, definition: { operation } }) => {
    if (operation === undefined || name.startsWith("builtin/")) return [];
    const { table = {}, value } = toValueObject(operation);
    return [...Object.values(table), value].filter((each) => typeof each === "string");
  });
  const isCsv = whole.format === "csv";
  const all = own.length > 0 ? own : isCsv ? ROW_OPERATIONS : MOVES;
  return [...new Set([...all, ...ofTypes])];
}

/** What an HL7 message orders as a rule; other operations come of its type. */
const MOVES: readonly string[] = ["STORE", "RETRIEVAL"];

function listStatuses({ format, results }: ProfileDefinition, operations: readonly string[]): string[] {
  const send = results?.send ?? [];
  if (format !== "csv") return REPORTED_STATES.filter((state) => send.includes(state));
  const asked = CONTROL_OPERATIONS.filter((operation) => operations.includes(operation));
  return [
    ...send.flatMap((state): readonly string[] => STATUSES_BY_ANSWER[state] ?? [state]),
    ...asked.flatMap(statusesOfRequest),
  ];
}

const STATUSES_BY_ANSWER: Readonly<Partial<Record<ResultState, readonly CsvStatus[]>>> = {
  acknowledged: ["received", "duplicate"],
};

/** What the status of a row can be that wants something of an earlier order: a question for the state gets that of the order. */
function statusesOfRequest(operation: string): readonly string[] {
  const control = controlOfRow(operation);
  const [granted, refused] = control === undefined ? [] : CONTROL_FORMS[control].decided;
  return [...(granted === undefined ? [...ORDER_STATES, "held"] : [granted]), ...(refused ? [refused] : [])];
}
