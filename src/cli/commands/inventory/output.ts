import { encodeCsv } from "../../../formats/csv/encode.ts";
import type { Difference, InventoryCounts } from "../../../operator/inventory.ts";
import { DIFFERENCE_COLUMNS, findingCounts } from "../../../operator/inventory-columns.ts";
import { ListWriter } from "../../output/list.ts";
import type { Session } from "../../session.ts";
import type { ReadList } from "./lab-list.ts";

interface Found {
  readonly differences: readonly Difference[];
  /** Lines of the lab's list. */
  readonly list: ReadList;
  readonly counts: InventoryCounts;
  readonly facility: string;
  readonly notes: readonly string[];
}

/** Shows the differences: as a table or one JSON document unless CSV is asked for. */
export function printInventory(session: Session, found: Found, isCsv: boolean): void {
  if (isCsv) printCsv(session, found);
  else printList(session, found);
}

function printList(session: Session, { differences, list, counts, facility, notes }: Found): void {
  if (!session.isJson) session.lines([...notes, session.paint("bold", findingCounts(counts))]);
  const output = new ListWriter(session, {
    key: "differences",
    columns: DIFFERENCE_COLUMNS,
    nothing: "Both lists say the same.",
  });
  output.write(differences);
  output.end({ rest: { facility, ...list, ...counts, notes } });
}

function printCsv(session: Session, { differences, notes }: Found): void {
  for (const note of notes) session.note(note);
  const headings = ["finding", "label", "lines", "container_ids", "lab_says", "service_says"];
  const rows = differences.map(({ finding, label, lines, containerIds, labSays, serviceSays }) => [
    ...[finding, label, lines.join(" "), containerIds.join(" "), labSays, serviceSays],
  ]);
  session.io.stdout.write(encodeCsv(headings, rows));
}
