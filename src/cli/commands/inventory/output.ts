import { listTable } from "../../../console/components.ts";
import { html } from "../../../console/html.ts";
import { printedFrame } from "../../../console/printed.ts";
import { encodeCsv } from "../../../formats/csv/encode.ts";
import {
  type Difference,
  FINDINGS,
  type Inventory,
  type InventoryCounts,
} from "../../../ledger/reports/inventory.ts";
import { DIFFERENCE_COLUMNS, FINDING_WORDS, findingCounts } from "../../../operator/inventory-columns.ts";
import { localTime } from "../../../operator/times.ts";
import type { FormOptions } from "../../output/form.ts";
import { ListWriter } from "../../output/list.ts";
import type { Session } from "../../session.ts";
import type { ReadList } from "./lab-list.ts";

/** What was found, and what it is to be read with. */
interface Found {
  readonly inventory: Inventory;
  /** Lines of the lab's list. */
  readonly list: ReadList;
  readonly counts: InventoryCounts;
  readonly facility: string;
  readonly notes: readonly string[];
}

/** Rows that are written at once, at least. */
const AT_ONCE = 500;

/** Shows the differences while they are read. */
export async function printInventory(session: Session, found: Found, form: FormOptions): Promise<void> {
  if (form.csv === true) await printCsv(session, found);
  else if (form.html === true) await printHtml(session, found);
  else await printList(session, found);
}

/** A table, or one JSON document. */
async function printList(session: Session, found: Found): Promise<void> {
  const { inventory, list, counts, facility, notes } = found;
  if (!session.isJson) session.lines([...notes, session.paint("bold", findingCounts(counts))]);
  const output = new ListWriter(session, {
    key: "differences",
    columns: DIFFERENCE_COLUMNS,
    nothing: "Both lists say the same.",
  });
  // The first rows decide how wide the columns are, so they should be of all kinds.
  let rows: Difference[] = [];
  for (const finding of FINDINGS)
    for await (const page of inventory.differences(finding)) {
      rows.push(...page);
      if (rows.length < AT_ONCE) continue;
      output.write(rows);
      rows = [];
      await session.isRead();
    }
  output.write(rows);
  output.end({ rest: { facility, ...list, ...counts, notes } });
}

async function printCsv(session: Session, { inventory, notes }: Found): Promise<void> {
  for (const note of notes) session.note(note);
  const headings = ["finding", "label", "lines", "container_ids", "lab_says", "service_says"];
  session.io.stdout.write(encodeCsv(headings, []));
  for (const finding of FINDINGS)
    for await (const page of inventory.differences(finding)) {
      const rows = page.map(({ label, lines, containerIds, labSays, serviceSays }) => [
        ...[finding, label, lines.join(" "), containerIds.join(" "), labSays, serviceSays],
      ]);
      session.io.stdout.write(encodeCsv(undefined, rows));
      await session.isRead();
    }
}

async function printHtml(session: Session, { inventory, counts, facility, notes }: Found): Promise<void> {
  const { stdout } = session.io;
  const title = `Inventory of ${facility}`;
  const { head, foot } = printedFrame(title);
  const at = localTime(new Date(session.clock.now()));
  stdout.write(head);
  stdout.write(
    html`<h1>${title}</h1><p class="note">${at}</p><p><strong>${findingCounts(counts)}</strong></p>${notes.map((note) => html`<p>${note}</p>`)}`
      .text,
  );
  const columns = DIFFERENCE_COLUMNS.filter(({ key }) => key !== "finding");
  for (const finding of FINDINGS) {
    if (counts[finding] === 0) continue;
    stdout.write(html`<h2>${FINDING_WORDS[finding]} (${counts[finding]})</h2>`.text);
    for await (const page of inventory.differences(finding)) {
      stdout.write(listTable(columns, page, session, { nothing: "" }).text);
      await session.isRead();
    }
  }
  stdout.write(foot);
}
