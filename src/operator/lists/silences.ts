import { listSilences } from "../../ledger/alerts/silences.ts";
import { SILENCE_COLUMNS } from "../alert-columns.ts";
import { list } from "../list.ts";

/** What is silenced right now. A person makes each of them, so nobody has many. */
export const SILENCE_LIST = list({
  key: "silences",
  help: "List what is silenced right now.",
  filters: {},
  columns: SILENCE_COLUMNS,
  nothing: () => "Nothing is silenced.",
  read: ({ pool }, _values, { limit }) => listSilences(pool, limit),
});
