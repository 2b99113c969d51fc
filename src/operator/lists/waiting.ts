import { listWaitingCodes } from "../../ledger/messages/waiting.ts";
import { list } from "../list.ts";
import { WAITING_COLUMNS } from "../message-columns.ts";

/** What messages wait for. */
export const WAITING_LIST = list({
  key: "waiting",
  help: "List the codes that messages wait for because no table has them, and how many wait.",
  filters: {},
  columns: WAITING_COLUMNS,
  nothing: () => "No message waits for a code.",
  read: async ({ pool }, _values, { limit }) => (await listWaitingCodes(pool)).slice(0, limit),
});
