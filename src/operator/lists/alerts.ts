import { listRecentAlerts } from "../../ledger/alerts/alerts.ts";
import { formatId } from "../../ledger/ids.ts";
import { ALERT_COLUMNS, withMessages } from "../alert-columns.ts";
import { list, since } from "../list.ts";

/** Of those that are over, the ones that ended within this time are shown unless another one is asked for, ms. */
const OVER_WITHIN_MS = 7 * 86_400_000;

/** Alerts that hold, and then those that were over lately. */
export const ALERT_LIST = list({
  key: "alerts",
  help: "List alerts that hold, and those that were over within 7 days.",
  filters: {
    since: {
      ...since(),
      ...{ label: "Over within", unset: "a week" },
      help: "of those that are over, the ones that ended since: 2h, 30d, or 2026-11-21T08:00",
    },
  },
  columns: ALERT_COLUMNS,
  nothing: () => "No alert holds, and none was over lately.",
  read: async ({ pool, nowMs }, { since }, { limit, after }) => {
    const withinMs = since === undefined ? OVER_WITHIN_MS : Math.max(0, nowMs - since.getTime());
    return withMessages(pool, await listRecentAlerts(pool, withinMs, limit, after));
  },
  page: { kind: "a", of: ({ id }) => formatId("a", id) },
});
