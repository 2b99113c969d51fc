import { Failure, problemSentence } from "../../../core/failures.ts";
import { withoutGuard } from "../../../formats/csv/encode.ts";
import { readCsv } from "../../../formats/csv/read.ts";
import type { LabLine } from "../../../operator/inventory.ts";
import { counted } from "../../../operator/text.ts";
import { looksLikeHeadings } from "../../init/csv-table.ts";
import { scoreOf } from "../../init/headings.ts";
import { nameOfInput, readInput } from "../../io.ts";
import type { Session } from "../../session.ts";

/** Which columns of the lab's list say what, and which lines count. */
export interface ListOptions {
  readonly label?: string;
  readonly storage?: string;
  readonly position?: string;
  readonly only?: readonly string[];
  readonly encoding: string;
  /** False for a list whose first line is a container. */
  readonly heading: boolean;
}

/** Lines read at once. */
const BATCH = 2_000;

/** What was read of the lab's list. */
export interface ReadList {
  readonly lines: number;
  /** Lines that `--only` leaves out, and lines without a label. */
  readonly leftOut: number;
  readonly withoutLabel: number;
}

/**
 * Reads the lab's list.
 *
 * @param take is given its lines in batches
 * @throws Failure CLI_FILE_UNREADABLE; CLI_USAGE for columns that it does not have; those of CSV for what is damaged, since of
 *   half a list all that is missing would seem to be missing there
 */
export async function readLabList(
  session: Session,
  file: string,
  options: ListOptions,
  take: (lines: readonly LabLine[], read: number) => void,
): Promise<ReadList> {
  const dialect = {
    delimiter: "auto",
    quote: '"',
    header: options.heading,
    encoding: options.encoding,
    isEncodingForced: true,
  } as const;
  const only = (options.only ?? []).map(parseOnly);
  const { columns: header, rows } = await readCsv(await readInput(session.io, file), dialect);
  let columns: Columns | undefined;
  let batch: LabLine[] = [];
  const counts = { lines: 0, leftOut: 0, withoutLabel: 0 };
  for await (const { line, values, problem } of rows) {
    if (problem) throw new Failure(problem.code, `${nameOfInput(file)}: ${problemSentence(problem)}`);
    columns ??= findColumns({ header, second: values }, options, only);
    const cellOf = (column: string | undefined) =>
      column === undefined ? "" : (values.get(column) ?? "").trim();
    counts.lines += 1;
    if (only.some(({ column, wanted }) => cellOf(column) !== wanted)) counts.leftOut += 1;
    else {
      const label = withoutGuard(cellOf(columns.label));
      if (label === "") counts.withoutLabel += 1;
      else batch.push({ line, label, storage: cellOf(columns.storage), position: cellOf(columns.position) });
    }
    if (batch.length < BATCH) continue;
    take(batch, counts.lines);
    batch = [];
  }
  if (columns === undefined) findColumns({ header }, options, only);
  take(batch, counts.lines);
  return counts;
}

interface Columns {
  readonly label: string;
  readonly storage: string | undefined;
  readonly position: string | undefined;
}

/** The columns of a list, and its second line, by which one sees whether the first one names columns. */
interface Beginning {
  readonly header: readonly string[];
  readonly second?: ReadonlyMap<string, string>;
}

function findColumns(
  beginning: Beginning,
  options: ListOptions,
  only: readonly { readonly column: string }[],
): Columns {
  const { header } = beginning;
  const found = describeColumns(beginning, options);
  const named = (option: string, wanted: string) => {
    if (header.includes(wanted)) return wanted;
    throw new Failure("CLI_USAGE", `${option} ${wanted}: the list has ${found}`);
  };
  for (const { column } of only) named("--only", column);
  const { label, storage, position } = options;
  return {
    label: label === undefined ? guessLabel(header, found) : named("--label", label),
    storage: storage === undefined ? undefined : named("--storage", storage),
    position: position === undefined ? undefined : named("--position", position),
  };
}

/** Columns by their names, unless the first line may be a container with a patient's values. */
function describeColumns({ header, second }: Beginning, { heading }: ListOptions): string {
  const names = `the ${header.length === 1 ? "column" : "columns"} ${header.join(", ")}`;
  if (!heading) return names;
  const first = new Map(header.map((column) => [column, column]));
  if (second !== undefined && looksLikeHeadings([first, second])) return names;
  return `${counted(header.length, "column")}. If its first line is a container, add --no-heading; columns are called 1, 2, … then`;
}

/** By the words that `init` knows. */
function guessLabel(columns: readonly string[], found: string): string {
  const [first] = columns;
  if (columns.length === 1 && first !== undefined) return first;
  const scores = columns.map((column) => scoreOf(column, "container_label"));
  const best = Math.max(...scores);
  if (best > 0 && scores.indexOf(best) === scores.lastIndexOf(best))
    return columns[scores.indexOf(best)] as string;
  const words = "none of the columns is certainly the label: name it with --label";
  throw new Failure("CLI_USAGE", `${words}; the list has ${found}`);
}

/** @throws Failure CLI_USAGE */
function parseOnly(text: string): { readonly column: string; readonly wanted: string } {
  const at = text.indexOf("=");
  if (at > 0) return { column: text.slice(0, at).trim(), wanted: text.slice(at + 1).trim() };
  throw new Failure("CLI_USAGE", `--only ${text}: expected COLUMN=VALUE, such as status=stored`);
}
