import { type AuditEntry, listActors, listAudit } from "../../ledger/operator/audit.ts";
import type { Column, Viewer } from "../column.ts";
import { code, isNarrowedOnlyBy, known, list, search, since } from "../list.ts";

/** Acts whose names say too little. */
const ACTION_WORDS: Readonly<Record<string, string>> = {
  "show-phi": "looked at patients' data",
  "task-done": "did a task",
  "drain-worker": "asked the daemon to stop",
  reloaded: "read its configuration again",
  backup: "began a backup",
  "backup-written": "wrote a backup",
  restore: "restored a backup",
  "restore-noticed": "noticed a restored ledger",
  "release-after-restore": "ended the comparison after a restore",
};

/** What somebody did, or saw. */
const AUDIT_COLUMNS: readonly Column<AuditEntry>[] = [
  { key: "id" },
  { key: "at", title: "when" },
  { key: "actor", title: "who" },
  { key: "action", title: "what", show: ({ action }) => ACTION_WORDS[action] ?? action.replaceAll("-", " ") },
  {
    key: "target",
    title: "to what",
    isFlexible: true,
    isHidden: isOfSubject,
    link: ({ target }, { pageOf }) => pageOf?.(target),
  },
  { title: "more", isFlexible: true, show: moreOf },
  { title: "why", isFlexible: true, show: ({ detail: { reason } }) => reason },
  { key: "detail" },
];

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
  isStill: true,
  nothing: (values) =>
    isNarrowedOnlyBy(values) ? "Nobody did anything yet." : "Nobody did anything of that kind.",
  read: ({ pool, mayAskPhi }, filter, { limit, after: beforeId }) => {
    const withoutSearches = filter.target !== undefined && !mayAskPhi;
    return listAudit(pool, { ...filter, withoutSearches, beforeId, limit });
  },
  page: { of: ({ id }) => String(id) },
});

/** Who searched for a subject's code got orders of one subject; which ones is nothing for those who don't see patients' data. */
function isOfSubject({ detail }: AuditEntry, { mayAskPhi }: Viewer): boolean {
  return detail.search !== undefined && !mayAskPhi;
}

/** What else is known of it: `messageId m12`. */
function moreOf({ detail }: AuditEntry): string {
  return Object.entries(detail)
    .filter(([key, value]) => key !== "reason" && value !== null)
    .map(([key, value]) => `${key} ${typeof value === "object" ? JSON.stringify(value) : String(value)}`)
    .join(", ");
}
