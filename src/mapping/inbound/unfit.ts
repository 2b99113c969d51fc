import type { Problem } from "../../core/failures.ts";
import { renamed } from "../../core/place.ts";

/** What a value is for: a code that things are found by, a person's name, or free text for staff. */
export type ValueKind = "code" | "name" | "text";

/**
 * Characters that a value may have at most. Codes are keys of indexes, which take some 2,700 bytes, and no lab's
 * numbers come near 200 characters; nor do the service's fields for a name, a label or a description.
 */
const MOST_CHARACTERS: Readonly<Record<ValueKind, number>> = { code: 200, name: 200, text: 2_000 };

/**
 * Why a value is no fit for an order, in words that don't repeat it; undefined when it is fit. NUL and half a
 * surrogate pair can be kept nowhere. In a code every control character is refused, and whatever is not seen, such as a
 * zero-width space or a space that doesn't break: two codes that look alike must be the same code. Elsewhere tabs, line
 * ends and the like are left to the reader.
 */
export function findUnfit(value: string, kind: ValueKind): Omit<Problem, "place"> | undefined {
  if (value.length <= MOST_CHARACTERS[kind] && !(kind === "code" ? ODD_IN_CODE : ODD).test(value))
    return undefined;
  if (!value.isWellFormed()) {
    return { code: "MAPPING_CHARACTER_INVALID", message: "holds half of a character, expected whole ones" };
  }
  if (kind === "code" && /\p{Cc}/u.test(value)) {
    return {
      code: "MAPPING_CHARACTER_INVALID",
      message: "holds a control character, expected a code without",
    };
  }
  if (kind === "code" && UNSEEN.test(value)) {
    return {
      code: "MAPPING_CHARACTER_INVALID",
      message:
        "holds a character that is not seen, such as a zero-width or no-break space, expected a code without",
    };
  }
  if (value.includes("\0")) {
    return { code: "MAPPING_CHARACTER_INVALID", message: "holds a NUL character, expected text" };
  }
  const most = MOST_CHARACTERS[kind];
  const length = value.length > most ? countCharacters(value) : 0;
  if (length <= most) return undefined;
  return {
    code: "MAPPING_VALUE_TOO_LONG",
    message: `has ${length} characters, expected at most ${most}`,
    expected: [String(most)],
  };
}

/** Format characters, and every blank but the ordinary space. */
const UNSEEN = /[\p{Cf}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u;

/** What nearly no value has; one that has it is looked at more closely. */
const ODD = /[\p{Cc}\p{Cs}]/u;
const ODD_IN_CODE = new RegExp(`${ODD.source}|${UNSEEN.source}`, "u");

/** The code when it is fit to be kept, for what is only shown and never asked about. */
export function keptIfFit(value: string | undefined): string | undefined {
  return value === undefined || findUnfit(value, "code") ? undefined : value;
}

/** A problem whose words can be kept and printed, whatever they quote: modules and profiles write them too. */
export function presentable(given: Problem): Problem {
  const { code, place, message, unknownCode, table, hint, expected, columns } = given;
  const problem = {
    ...{ code, place: renamed(place, printable), message: printable(message) },
    ...(expected === undefined ? {} : { expected: expected.map(printable) }),
    ...(columns === undefined ? {} : { columns: columns.map(printable) }),
    ...(table === undefined ? {} : { table }),
    ...(hint === undefined ? {} : { hint: printable(hint) }),
  };
  if (unknownCode === undefined) return problem;
  return { ...problem, unknownCode: printable(unknownCode).slice(0, MOST_CHARACTERS.code).toWellFormed() };
}

function printable(text: string): string {
  return text.toWellFormed().replace(/\p{Cc}/gu, " ");
}

function countCharacters(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}
