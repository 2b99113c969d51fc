import type { Phi } from "../../core/phi.ts";
import { cleanLines } from "./text.ts";

/** Stands for what identifies a patient where nobody asked to see it. */
export const HIDDEN = "••••";

/** A patient's value, or the mask; undefined stays undefined, so that "unknown" and "hidden" look different. */
export function reveal(value: Phi | undefined, mayShowPhi: boolean): string | undefined {
  if (value === undefined) return undefined;
  return mayShowPhi ? value.reveal() : HIDDEN;
}

/** A text that may hold something of a patient, or the mask. */
export function hideText(text: string, mayShowPhi: boolean): string {
  return mayShowPhi || text === "" ? text : HIDDEN;
}

/** Keys of the service's bodies and queries whose values identify a patient, or may hold anything a person typed. */
const PERSONAL = new Set(["code", "subjectCode", "firstName", "lastName", "dateOfBirth", "description"]);

/** A body or query with patients' values masked. */
export function hideBody(value: unknown, mayShowPhi: boolean): unknown {
  if (mayShowPhi) return value;
  if (Array.isArray(value)) return value.map((entry) => hideBody(entry, mayShowPhi));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [
      key,
      PERSONAL.has(key) && entry !== "" && entry !== null ? HIDDEN : hideBody(entry, mayShowPhi),
    ]),
  );
}

/** Segments of our answers without anything of the patient in them; all others echo what came in. */
const IMPERSONAL = /^(FHS|BHS|BTS|FTS|MSH|MSA|ERR|ORC|NTE)/;

/** The lines of an HL7 answer; segments that echo the patient keep their name only. */
export function hideHl7(text: string, mayShowPhi: boolean): string[] {
  return cleanLines(text)
    .filter((line) => line !== "")
    .map((line) => (mayShowPhi || IMPERSONAL.test(line) ? line : `${line.slice(0, 3)}|${HIDDEN}`));
}
