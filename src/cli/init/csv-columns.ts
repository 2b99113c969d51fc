import type { CsvTable } from "./csv-table.ts";
import { guessDateFormats } from "./date-formats.ts";
import { MEANINGS, type Meaning, scoreOf } from "./headings.ts";
import { operationOf } from "./operation-words.ts";

/** More different words than operations of a lab have. */
const MOST_OPERATIONS = 20;

/**
 * Which column holds what, by its heading and its values, whatever the order of the columns. A meaning that two columns have
 * as well, or a column that has two, is left out: a person says then. Without headings only operations and dates are known
 * by their values, since an order number, a subject code and a label may look alike.
 */
export function guessColumns(table: CsvTable): ReadonlyMap<Meaning, string> {
  const found = new Map<Meaning, string>();
  for (const meaning of MEANINGS) {
    const column = bestColumn(table, meaning);
    if (column !== undefined) found.set(meaning, column);
  }
  const operation = byValues(table, isOperations);
  if (operation !== undefined) found.set("operation", operation);
  if (!found.has("date_of_birth") && !table.hasHeader) {
    const dates = byValues(
      table,
      (values) => guessDateFormats(values).kind !== "none" && !/^\d{1,5}$/.test(values[0] ?? ""),
    );
    if (dates !== undefined) found.set("date_of_birth", dates);
  }
  dropShared(found, table);
  // `Name` beside a first name is the last name.
  const name = found.get("full_name");
  if (name !== undefined && found.has("first_name") && !found.has("last_name")) found.set("last_name", name);
  if (found.has("last_name")) found.delete("full_name");
  return found;
}

/** The values of a column that are filled. */
export function valuesOf({ rows }: CsvTable, column: string): string[] {
  return rows.map((row) => (row.get(column) ?? "").trim()).filter((value) => value !== "");
}

function bestColumn({ columns, hasHeader }: CsvTable, meaning: Meaning): string | undefined {
  if (!hasHeader) return undefined;
  const scored = columns.map((column) => ({ column, score: scoreOf(column, meaning) }));
  const most = Math.max(0, ...scored.map(({ score }) => score));
  const best = scored.filter(({ score }) => score === most && most > 0);
  return best.length === 1 ? best[0]?.column : undefined;
}

/** The only column with such values; undefined where there are several. */
function byValues(table: CsvTable, test: (values: readonly string[]) => boolean): string | undefined {
  const found = table.columns.filter((column) => {
    const values = valuesOf(table, column);
    return values.length > 0 && test(values);
  });
  return found.length === 1 ? found[0] : undefined;
}

function isOperations(values: readonly string[]): boolean {
  const distinct = new Set(values);
  return distinct.size <= MOST_OPERATIONS && [...distinct].every((value) => operationOf(value) !== undefined);
}

/** A column has one meaning: the one that its heading says best. Its values say what an operation is. */
function dropShared(found: Map<Meaning, string>, { hasHeader }: CsvTable): void {
  for (const [meaning, column] of [...found]) {
    const rivals = [...found].filter(([other, its]) => other !== meaning && its === column);
    if (rivals.length === 0 || (meaning === "operation" && !hasHeader)) continue;
    const own = scoreOf(column, meaning);
    if (rivals.some(([other]) => scoreOf(column, other) >= own)) found.delete(meaning);
  }
}
