import { listActors, listAudit } from "../../ledger/operator/audit.ts";
import { AUDIT_COLUMNS } from "../../operator/audit-columns.ts";
import { listTable, nextPage, options } from "../components.ts";
import type { Records } from "../deps.ts";
import { html } from "../html.ts";
import type { Site } from "../site.ts";

const A_PAGE = 50;
const PATH = "/audit";

/** Who did and saw what, when and why. */
export function addAuditPage(site: Site, { pool }: Records): void {
  site.page(PATH, async ({ query, viewer }) => {
    const actor = query.get("actor") || undefined;
    const target = query.get("target")?.trim() || undefined;
    const beforeId = Number(query.get("before")) || undefined;
    const [found, actors] = await Promise.all([
      listAudit(pool, { actor, target, beforeId, limit: A_PAGE + 1 }),
      listActors(pool),
    ]);
    const entries = found.slice(0, A_PAGE);
    const last = entries.at(-1);
    return {
      title: "Audit",
      section: PATH,
      body: html`
<h1>Audit</h1>
<form class="filter" data-auto>
  <label>Who<select name="actor">${options(actors, actor)}</select></label>
  <label>To what, such as o17<input type="search" name="target" value="${target}"></label>
  <button class="small">Find</button>
</form>
${listTable(AUDIT_COLUMNS, entries, viewer, { nothing: "Nobody did anything of that kind." })}
${found.length > A_PAGE && last ? nextPage(query, PATH, String(last.id)) : ""}`,
    };
  });
}
