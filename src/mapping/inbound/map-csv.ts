import type { CsvRow } from "../../core/intake.ts";
import { finishAll } from "./finish-orders.ts";
import { type MappedMessage, type MapperSettings, refuse } from "./mapped-message.ts";
import { viewCsv } from "../profile/message-view.ts";
import { missingColumns, readRows } from "./order-csv.ts";
import type { CsvProfile } from "../profile/profile.ts";
import { keptIfFit } from "./unfit.ts";
import { readWishRows, splitRows } from "./wish-csv.ts";

/** The rows of one order number: an order, wishes about it, or the one after the other. */
export function mapRows(
  rows: readonly CsvRow[],
  profile: CsvProfile,
  settings: MapperSettings,
): MappedMessage {
  const split = splitRows(rows, profile);
  if (split.wishes.length === 0) return mapOrderRows(rows, profile, settings);
  const { wishes, problems } = readWishRows(split, profile);
  const none: MappedMessage = { verdict: "accepted", orders: [], problems: [] };
  const mapped = split.orders.length === 0 ? none : mapOrderRows(split.orders, profile, settings);
  const placerOrderNumber = mapped.placerOrderNumber ?? wishes[0]?.placerOrderNumber;
  const numbered = placerOrderNumber === undefined ? mapped : { ...mapped, placerOrderNumber };
  if (problems.length > 0) {
    const all = [...mapped.problems, ...problems];
    const refused = { ...refuse(all), subjectCodes: undefined, orderNumbers: undefined };
    // A row that wants something of an order is not that order: its line tells which row is meant.
    return split.orders.length === 0 ? refused : { ...numbered, ...refused };
  }
  if (mapped.verdict !== "accepted") return numbered;
  const orderNumbers = wishes.flatMap((wish) => wish.placerOrderNumber ?? []);
  return { ...numbered, orderNumbers, wishes };
}

function mapOrderRows(rows: readonly CsvRow[], profile: CsvProfile, settings: MapperSettings): MappedMessage {
  const first = rows[0];
  if (first === undefined) return refuse([{ code: "MAPPING_NO_ORDER", place: "file", message: "no rows" }]);
  const missing = missingColumns(rows, profile);
  if (missing.length > 0) return refuse(missing);
  const draft = readRows(rows, profile);
  const finish = { ...settings, messagePlace: "" };
  const place = rows.length === 1 ? `line ${first.line}` : `lines ${first.line}-${rows.at(-1)?.line}`;
  const mapped = finishAll([draft], profile, () => viewCsv(rows), finish, place);
  const read = draft.placerOrderNumber;
  const number = read.status === "found" ? keptIfFit(read.value, "code") : undefined;
  return number === undefined ? mapped : { ...mapped, placerOrderNumber: number };
}
