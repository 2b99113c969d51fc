import { listActors, listAudit } from "../../ledger/operator/audit.ts";
import { AUDIT_COLUMNS } from "../audit-columns.ts";
import { code, isNarrowedBy, known, list, search, since } from "../listing.ts";

/** Who did and saw what, when and why. */
export const AUDIT_LIST = list({
  key: "entries",
  help: "List what was done and seen, newest first.",
  filters: {
    actor: known(({ pool }) => listActors(pool), {
      ...{ value: "name", label: "Who" },
      help: "only what this person, connector or worker did, on the command line and in the console",
    }),
    target: search({
      ...{ value: "id", label: "To what, such as o17" },
      help: "only what was done to this, such as o17 or m12",
    }),
    action: code({
      ...{ value: "word", label: "What", help: "only this act, as --json names it, such as show-phi" },
    }),
    since: since(),
  },
  columns: AUDIT_COLUMNS,
  nothing: (values) =>
    isNarrowedBy(values) ? "Nobody did anything yet." : "Nobody did anything of that kind.",
  read: ({ pool }, filter, { limit, after: beforeId }) => listAudit(pool, { ...filter, beforeId, limit }),
  page: { of: ({ id }) => String(id) },
});
