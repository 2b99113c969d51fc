import {
  isObject,
  linkedId,
  normalizeStatus,
  normalizeType,
  type RawObject,
  subjectCodeOf,
} from "./values.ts";
import type { ServiceWords } from "./words.ts";

/** The four filter forms of the specification: exact, `_like`, `_from`, `_to`. */
const FORMS = ["like", "from", "to"] as const;
type Form = "is" | (typeof FORMS)[number];

/** One filter of a list, to be looked at again in each entry. */
export interface EntryFilter {
  /** As it is sent: `lastName_like`. */
  readonly name: string;
  readonly field: string;
  readonly form: Form;
  readonly value: string;
}

/** Takes a filter apart by its name. */
export function toEntryFilter(name: string, value: string): EntryFilter {
  const form = FORMS.find((each) => name.endsWith(`_${each}`) && name.length > each.length + 1);
  if (form === undefined) return { name, field: name, form: "is", value };
  return { name, field: name.slice(0, -form.length - 1), form, value };
}

/**
 * Whether an entry passes a filter; undefined when it doesn't tell the field. Where the specification leaves room the
 * entry gets the benefit: words of status and type in any spelling, and a bare date as the end of a range means all of
 * that day.
 */
export function passes(entry: RawObject, filter: EntryFilter, words: ServiceWords): boolean | undefined {
  const told = fieldOf(entry, filter.field);
  if (told === undefined) return undefined;
  const values = (Array.isArray(told) ? told : [told]).filter(
    (each) => !isObject(each) && !Array.isArray(each),
  );
  if (values.length === 0 && Array.isArray(told) && told.length > 0) return undefined;
  return values.some((value) => isPassed(value, filter, words));
}

function isPassed(value: unknown, { field, form, value: wanted }: EntryFilter, words: ServiceWords): boolean {
  if (value === null) return form === "is" && /^(null)?$/.test(wanted);
  const text = String(value);
  if (form === "like") return text.toLowerCase().includes(wanted.toLowerCase());
  if (form === "from") return compare(text, wanted, "start") >= 0;
  if (form === "to") return compare(text, wanted, "end") <= 0;
  if (text === wanted) return true;
  if (field === "status") return normalizeStatus(text, words) === normalizeStatus(wanted, words);
  if (field === "type") return normalizeType(text, words) === normalizeType(wanted, words);
  return false;
}

/** The value under a field: its own key, `facility.id` for `facilityId`, `subject.code`, or a path with dots. */
function fieldOf(entry: RawObject, field: string): unknown {
  if (Object.hasOwn(entry, field)) return entry[field];
  if (field === "subjectCode") return subjectCodeOf(entry);
  if (field.endsWith("Id")) return linkedId(entry, field, field.slice(0, -2));
  if (!field.includes(".")) return undefined;
  return field
    .split(".")
    .reduce<unknown>(
      (inner, key) => (isObject(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined),
      entry,
    );
}

/** Numbers by size, times by when they are, anything else by its text. */
function compare(value: string, wanted: string, bound: "start" | "end"): number {
  const numbers = [value, wanted].map((text) => (text.trim() === "" ? Number.NaN : Number(text)));
  const times = [timeOf(value, "start"), timeOf(wanted, bound)];
  for (const [a = Number.NaN, b = Number.NaN] of [numbers, times]) {
    if (!Number.isNaN(a) && !Number.isNaN(b)) return a - b;
  }
  return value < wanted ? -1 : value > wanted ? 1 : 0;
}

/** Ms since the epoch of an ISO 8601 date or time; the last ms of a bare date where it ends a range. */
function timeOf(text: string, bound: "start" | "end"): number {
  if (!/^\d{4}-\d{2}-\d{2}([T ]|$)/.test(text)) return Number.NaN;
  const isBareDate = text.length === 10;
  return Date.parse(text) + (isBareDate && bound === "end" ? 86_399_999 : 0);
}
