import type { AuditEntry } from "../../ledger/operator/audit.ts";
import { AUDIT_COLUMNS } from "../../operator/audit-columns.ts";
import { AUDIT_LIST } from "../../operator/lists/audit.ts";
import { HIDDEN } from "../../operator/text.ts";
import { listTable } from "../components.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import { readListPage } from "../listing.ts";
import type { Site } from "../site.ts";

const PATH = "/audit";

/** Who did and saw what, when and why. */
export function addAuditPage(site: Site, records: Records): void {
  site.filter(PATH);
  site.page(PATH, async (visit) => {
    const { rows, values, nothing, form, more } = await readListPage(AUDIT_LIST, PATH, visit, records);
    const shown = visit.mayAct ? rows : withoutSubjects(rows, values?.target);
    return {
      title: "Audit",
      section: PATH,
      body: html`
<h1>Audit</h1>
${form}
${listTable(AUDIT_COLUMNS, shown, visit.viewer, { nothing })}
${more}`,
    };
  });
}

/** Who searched for a subject's code got orders of one subject; which ones is nothing for those who don't see patients' data. */
function withoutSubjects(entries: readonly AuditEntry[], target: string | undefined): AuditEntry[] {
  return entries.flatMap((entry) => {
    if (entry.detail.search === undefined) return [entry];
    return target === undefined ? [{ ...entry, target: HIDDEN }] : [];
  });
}
