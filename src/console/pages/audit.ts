import type { AuditEntry } from "../../ledger/operator/audit.ts";
import { AUDIT_LIST } from "../../operator/lists/audit.ts";
import { HIDDEN } from "../../operator/text.ts";
import type { Records } from "../deps.ts";
import { addListPage } from "../list-page.ts";
import type { Site } from "../site.ts";

/** Who did and saw what, when and why. */
export function addAuditPage(site: Site, records: Records): void {
  addListPage(site, "/audit", AUDIT_LIST, records, {
    isLive: false,
    list: ({ rows, values, table }, { mayAct }) =>
      table({ rows: mayAct ? rows : withoutSubjects(rows, values?.target) }),
  });
}

/** Who searched for a subject's code got orders of one subject; which ones is nothing for those who don't see patients' data. */
function withoutSubjects(entries: readonly AuditEntry[], target: string | undefined): AuditEntry[] {
  return entries.flatMap((entry) => {
    if (entry.detail.search === undefined) return [entry];
    return target === undefined ? [{ ...entry, target: HIDDEN }] : [];
  });
}
