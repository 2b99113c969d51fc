import { HIDDEN } from "./hidden.ts";

/** Segments that hold nothing of the patient but numbers and codes. Everything else is hidden, Z segments too. */
const IMPERSONAL = new Set([
  "MSH",
  "MSA",
  "ERR",
  "ORC",
  "EVN",
  "SFT",
  "TQ1",
  "QRD",
  "BHS",
  "FHS",
  "BTS",
  "FTS",
]);
/** Fields of other segments that are numbers, times and codes of the order. */
const IMPERSONAL_FIELDS: Readonly<Record<string, ReadonlySet<number>>> = {
  PID: new Set([1]),
  PV1: new Set([1, 2, 3]),
  OBR: new Set([1, 2, 3, 4, 5, 6, 7, 22, 24, 25]),
  OBX: new Set([1, 2, 3, 4, 6, 11, 14]),
  SPM: new Set([1, 2, 3, 4, 15, 26, 27]),
  SAC: new Set([1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15]),
  NTE: new Set([1, 2]),
};
/** Fields of impersonal segments that name people: who ordered, entered or verified. */
const NAMES: Readonly<Record<string, ReadonlySet<number>>> = {
  ORC: new Set([10, 11, 12, 19, 23, 24]),
  EVN: new Set([5]),
};

/** Components that say whose number it is and of which kind, which a mapping chooses by, but not the number. */
const IMPERSONAL_COMPONENTS: Readonly<Record<string, ReadonlySet<number>>> = { "PID-3": new Set([4, 5]) };

/** A value of a message for the screen: hidden where it may say something of a person, unless that was asked for. */
export function shownValue(
  segment: string,
  { field, component = 1 }: { readonly field: number; readonly component?: number | undefined },
  value: string,
  mayShowPhi: boolean,
): string {
  if (mayShowPhi || IMPERSONAL_COMPONENTS[`${segment}-${field}`]?.has(component)) return value;
  if (NAMES[segment]?.has(field)) return HIDDEN;
  if (IMPERSONAL.has(segment) || IMPERSONAL_FIELDS[segment]?.has(field)) return value;
  return HIDDEN;
}
