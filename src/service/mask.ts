import type { Phi } from "../core/phi.ts";

const MASK = "[masked]";
const LONGEST_TEXT = 300;

/** Words that a service may put in quotes without naming a patient: fields and values of the specification. */
const HARMLESS = new Set(
  (
    "id type status facilityId subjectCode sampleContainers sampleContainerId sampleContainerIds description code " +
    "firstName lastName dateOfBirth procedureId requestId storageId page perPage name label STORE RETRIEVAL " +
    "PENDING ACCEPTED REJECTED CANCELLED CREATED IN_PROGRESS COMPLETED FAILED string integer number array object " +
    "date null true false subject facility body YYYY-MM-DD"
  )
    .toLowerCase()
    .split(" "),
);

/**
 * Makes a text of the service fit for messages, logs and the ledger: control characters and broken ones out, the
 * given values of the patient replaced, and so are dates and quoted words that are no field names, since a service
 * may quote somebody else ("code belongs to 'Jane Roe'"). At most 300 characters.
 */
export function maskText(text: string, sensitive: readonly Phi[]): string {
  let masked = text
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
  const values = sensitive.flatMap((each) => spellings(each.reveal()));
  for (const value of [...new Set(values)].sort((a, b) => b.length - a.length)) {
    masked = masked.replace(wholeWord(value), MASK);
  }
  masked = masked
    .replace(/(["'`‘“«])([^"'`’”»]{1,200})(["'`’”»])/g, (whole, _open, inner: string) =>
      HARMLESS.has(inner.toLowerCase()) ? whole : `"${MASK}"`,
    )
    .replace(/\b\d{4}-\d{2}-\d{2}(T[\d:.]+Z?)?|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b/g, MASK);
  return masked.length > LONGEST_TEXT ? `${cut(masked)}…` : masked;
}

/** Never through the middle of a character of two units. */
function cut(text: string): string {
  return text.slice(0, LONGEST_TEXT).replace(/[\ud800-\udbff]$/, "");
}

/** The ways in which one value may come back: as it is, encoded for a URL or for JSON, a date without its dashes. */
function spellings(value: string): string[] {
  const trimmed = value.trim();
  if (trimmed === "") return [];
  return [
    trimmed,
    encodeURIComponent(trimmed.toWellFormed()),
    JSON.stringify(trimmed).slice(1, -1),
    ...(/^\d{4}-\d{2}-\d{2}$/.test(trimmed) ? [trimmed.replaceAll("-", "")] : []),
  ];
}

/** Finds a value as a word of its own, in any case; a one-letter name doesn't mask each of its letters elsewhere. */
function wholeWord(value: string): RegExp {
  const literal = value.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&").replace(/\s+/g, "\\s+");
  return new RegExp(`(?<![\\p{L}\\p{N}])${literal}(?![\\p{L}\\p{N}])`, "giu");
}
