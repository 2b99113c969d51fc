import type { ServiceList } from "../../core/service-catalogue.ts";
import {
  idOf,
  normalizeStatus,
  normalizeType,
  plainName,
  type RawObject,
  type ServiceWords,
  subjectCodeOf,
} from "../values.ts";

/** The order of a list, as its first page shows it. */
type SeenOrder =
  | "by id"
  | "by id, newest first"
  | "by creation"
  | "by creation, newest first"
  | "in no order";

/** What the entries of a list are made of. */
export interface SeenEntries {
  /** Undefined with fewer than two entries. */
  readonly order: SeenOrder | undefined;
  /** How ids are written; undefined without an entry. */
  readonly ids: "number" | "string" | undefined;
  /** Ids that can't be read exactly are among them. */
  readonly hasUnreadableIds: boolean;
  /** Fields of the specification that each entry could have and none has. */
  readonly missingFields: readonly string[];
  /** Some entry does not show whose it is. */
  readonly isSubjectMissing: boolean;
  readonly unknownFields: readonly string[];
  readonly unknownStatuses: readonly string[];
  readonly unknownTypes: readonly string[];
}

/** Looks at the entries of a page. Gives names of fields and words, never values of records. */
export function observeEntries(
  entries: readonly RawObject[],
  known: Pick<ServiceList, "fields" | "always" | "statuses" | "types">,
  words: ServiceWords,
): SeenEntries {
  const fields = new Set(entries.flatMap((entry) => Object.keys(entry)));
  const textsOf = (key: string) =>
    entries.flatMap((entry) => {
      const value = entry[key];
      return typeof value === "string" ? [value] : [];
    });
  const statuses = new Set(textsOf("status").map((text) => normalizeStatus(text, words)));
  const types = new Set(textsOf("type").map((text) => normalizeType(text, words)));
  const id = entries[0]?.id;
  return {
    order: orderOf(entries),
    ids: typeof id === "number" || typeof id === "string" ? (typeof id as "number" | "string") : undefined,
    hasUnreadableIds: entries.some((entry) => entry.id !== undefined && idOf(entry) === undefined),
    missingFields: entries.length === 0 ? [] : known.always.filter((field) => !fields.has(field)),
    isSubjectMissing: entries.some((entry) => !subjectCodeOf(entry)),
    unknownFields: plain([...fields].filter((field) => !known.fields.includes(field))),
    unknownStatuses:
      known.statuses.length > 0 ? plain([...statuses].filter((word) => !known.statuses.includes(word))) : [],
    unknownTypes:
      known.types.length > 0 ? plain([...types].filter((word) => !known.types.includes(word))) : [],
  };
}

/** Words and names of fields that could be somebody's name are shown as odd ones. */
function plain(words: readonly string[]): string[] {
  return [...new Set(words.map(plainName))];
}

function orderOf(entries: readonly RawObject[]): SeenOrder | undefined {
  if (entries.length < 2) return undefined;
  const ids = entries.map((entry) => idOf(entry) ?? Number.NaN);
  if (isSorted(ids)) return "by id";
  if (isSorted(ids.toReversed())) return "by id, newest first";
  const times = entries.map(({ createdAt }) => Date.parse(String(createdAt)));
  if (isSorted(times)) return "by creation";
  return isSorted(times.toReversed()) ? "by creation, newest first" : "in no order";
}

/** NaN sorts with nothing. */
function isSorted(values: readonly number[]): boolean {
  return values.every((value, index) => index === 0 || (values[index - 1] ?? Number.NaN) <= value);
}
