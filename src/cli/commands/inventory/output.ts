import { listTable } from "../../../console/components.ts";
import { html } from "../../../console/html.ts";
import { printedFrame } from "../../../console/printed.ts";
import { encodeCsv } from "../../../formats/csv/encode.ts";
import { type Difference, FINDINGS, type InventoryCounts } from "../../../operator/inventory.ts";
import { DIFFERENCE_COLUMNS, FINDING_WORDS, findingCounts } from "../../../operator/inventory-columns.ts";
import { localTime } from "../../../operator/times.ts";
import type { FormOptions } from "../../output/form.ts";
import { ListWriter } from "../../output/list.ts";
import type { Session } from "../../session.ts";
import type { ReadList } from "./lab-list.ts";

/** What was found, and what it is to be read with. */
interface Found {
  readonly differences: readonly Difference[];
  /** Lines of the lab's list. */
  readonly list: ReadList;
  readonly counts: InventoryCounts;
  readonly facility: string;
  readonly notes: readonly string[];
}

/** Shows the differences: as a table or one JSON document unless another form is asked for. */
export function printInventory(session: Session, found: Found, form: FormOptions): void {
  if (form.csv === true) printCsv(session, found);
  else if (form.html === true) printHtml(session, found);
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

function printHtml(session: Session, { differences, counts, facility, notes }: Found): void {
  const title = `Inventory of ${facility}`;
  const { head, foot } = printedFrame(title);
  const at = localTime(new Date(session.clock.now()));
  const columns = DIFFERENCE_COLUMNS.filter(({ key }) => key !== "finding");
  const parts = FINDINGS.filter((finding) => counts[finding] > 0).map((wanted) => {
    const rows = differences.filter(({ finding }) => finding === wanted);
    return html`<h2>${FINDING_WORDS[wanted]} (${rows.length})</h2>${listTable(columns, rows, session, { nothing: "" })}`;
  });
  const body = html`<h1>${title}</h1><p class="note">${at}</p><p><strong>${findingCounts(counts)}</strong></p>${notes.map((note) => html`<p>${note}</p>`)}${parts}`;
  session.io.stdout.write(`${head}${body.text}${foot}`);
}
