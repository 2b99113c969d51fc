import { type AuditEntry, listActors, listAudit } from "../../ledger/operator/audit.ts";
import { AUDIT_COLUMNS } from "../../operator/audit-columns.ts";
import { HIDDEN } from "../../operator/text.ts";
import { filterForm, listTable, nextPage, options, SEARCH_AGAIN } from "../components.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import { type Site, wholeNumber } from "../site.ts";

const A_PAGE = 50;
const PATH = "/audit";

/** Who did and saw what, when and why. */
export function addAuditPage(site: Site, { pool }: Records): void {
  site.filter(PATH);
  site.page(PATH, async (visit) => {
    const { query, viewer, words, mayAct } = visit;
    const actor = query.get("actor") || undefined;
    const target = words.of(query);
    const beforeId = wholeNumber(query.get("before"), 15);
    const [found, actors] = await Promise.all([
      target === undefined
        ? []
        : listAudit(pool, { actor, target: target || undefined, beforeId, limit: A_PAGE + 1 }),
      listActors(pool),
    ]);
    const entries = found.slice(0, A_PAGE);
    const last = entries.at(-1);
    const shown = mayAct ? entries : withoutSubjects(entries, target);
    const inputs = html`
  <label>Who<select name="actor">${options(actors, actor)}</select></label>
  <label>To what, such as o17<input type="search" name="find" maxlength="200" value="${target}"></label>`;
    const nothing = target === undefined ? SEARCH_AGAIN : "Nobody did anything of that kind.";
    return {
      title: "Audit",
      section: PATH,
      body: html`
<h1>Audit</h1>
${filterForm(PATH, inputs, visit)}
${listTable(AUDIT_COLUMNS, shown, viewer, { nothing })}
${found.length > A_PAGE && last ? nextPage(query, PATH, String(last.id)) : ""}`,
    };
  });
}

/** Who searched for a subject's code got orders of one subject; which ones is nothing for those who don't see patients' data. */
function withoutSubjects(entries: readonly AuditEntry[], target: string | undefined): AuditEntry[] {
  return entries.flatMap((entry) => {
    if (entry.detail.search === undefined) return [entry];
    return target === "" ? [{ ...entry, target: HIDDEN }] : [];
  });
}
