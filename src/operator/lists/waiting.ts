import { listWaitingCodes, type WaitingCode } from "../../ledger/messages/waiting.ts";
import { ageColumn, type Column } from "../column.ts";
import { list } from "../list.ts";

const KIND_WORDS = {
  facility: "a facility",
  operation: "an operation",
  earlier: "an earlier message",
} as const satisfies Record<WaitingCode["kind"], string>;

/** The values of what messages wait for. */
export const WAITING_COLUMNS: readonly Column<WaitingCode>[] = [
  { key: "kind", title: "waits for", show: ({ kind }) => KIND_WORDS[kind] },
  { key: "code", title: "code", isFlexible: true },
  { key: "connector", title: "connector" },
  { key: "messages", title: "messages", isRight: true },
  { key: "since", title: "since" },
  ageColumn(({ since }) => since),
  { key: "hint" },
];

/** What messages wait for. */
export const WAITING_LIST = list({
  key: "waiting",
  help: "List the codes that messages wait for because no table has them, and how many wait.",
  filters: {},
  columns: WAITING_COLUMNS,
  nothing: () => "No message waits for a code.",
  read: async ({ pool }, _values, { limit }) => (await listWaitingCodes(pool)).slice(0, limit),
});
