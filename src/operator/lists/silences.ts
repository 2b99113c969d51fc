import { listSilences, type Silence, type Silenced } from "../../ledger/alerts/silences.ts";
import { formatId } from "../../ledger/ids.ts";
import { ageColumn, type Column, forPrograms } from "../column.ts";
import { list } from "../list.ts";
import { localTime } from "../times.ts";

/** What a person wants to hear nothing of for a while. */
const SILENCE_COLUMNS: readonly Column<Silence>[] = [
  { key: "id", title: "id", value: ({ id }) => formatId("s", id) },
  { title: "what", isFlexible: true, show: nameSilenced },
  ...forPrograms<Silence>("kind", "about"),
  { key: "until", title: "until" },
  ageColumn(({ until }) => until, "ends"),
  { key: "actor", title: "who" },
  { key: "reason", title: "why", isFlexible: true },
  { key: "createdAt" },
];

/** What is silenced, in words: `all tankOverdue`, `tankOverdue NORTH T1`. */
function nameSilenced({ kind, about }: Silenced): string {
  if (about === null) return `all ${kind}`;
  return about === "" ? kind : `${kind} ${about}`;
}

/** What a silence does, in a sentence. */
export function describeSilenced(silenced: Silenced, until: Date): string {
  return `Nothing is announced of ${nameSilenced(silenced)} until ${localTime(until)}.`;
}

/** What is silenced right now. A person makes each of them, so nobody has many. */
export const SILENCE_LIST = list({
  key: "silences",
  help: "List what is silenced right now.",
  filters: {},
  columns: SILENCE_COLUMNS,
  nothing: () => "Nothing is silenced.",
  read: ({ pool }, _values, { limit }) => listSilences(pool, limit),
});
