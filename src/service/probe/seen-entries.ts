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

/** What the entries of a list are made of. */
export interface SeenEntries {
  /** How ids are written; undefined without an entry. */
  readonly ids: "number" | "string" | undefined;
  /** Ids that can't be read exactly are among them. */
  readonly hasUnreadableIds: boolean;
  /** Some entry does not show whose it is. */
  readonly isSubjectMissing: boolean;
  readonly unknownStatuses: readonly string[];
  readonly unknownTypes: readonly string[];
}

/** Looks at the entries of a page. Gives words, never values of records. */
export function observeEntries(
  entries: readonly RawObject[],
  known: Pick<ServiceList, "statuses" | "types">,
  words: ServiceWords,
): SeenEntries {
  const textsOf = (key: string) =>
    entries.flatMap((entry) => {
      const value = entry[key];
      return typeof value === "string" ? [value] : [];
    });
  const statuses = new Set(textsOf("status").map((text) => normalizeStatus(text, words)));
  const types = new Set(textsOf("type").map((text) => normalizeType(text, words)));
  const id = entries[0]?.id;
  return {
    ids: typeof id === "number" || typeof id === "string" ? (typeof id as "number" | "string") : undefined,
    hasUnreadableIds: entries.some((entry) => entry.id !== undefined && idOf(entry) === undefined),
    isSubjectMissing: entries.some((entry) => !subjectCodeOf(entry)),
    unknownStatuses:
      known.statuses.length > 0 ? plain([...statuses].filter((word) => !known.statuses.includes(word))) : [],
    unknownTypes:
      known.types.length > 0 ? plain([...types].filter((word) => !known.types.includes(word))) : [],
  };
}

/** Words that could be somebody's name are shown as odd ones. */
function plain(words: readonly string[]): string[] {
  return [...new Set(words.map(plainName))];
}
