import { z } from "zod";

const NAMES = [",", ";", "|", "tab", "\t"] as const;

const EXPECTED = "expected a comma, semicolon or | in quotes, or the word tab";

/** What separates the columns of a table; `'\t'` in single quotes is two characters to YAML, and no tab. */
export const delimiterSchema = z.enum(NAMES, { error: EXPECTED });

/** The same for a table that is read, whose first line may show it. */
export const readDelimiterSchema = z.enum([...NAMES, "auto"], { error: `${EXPECTED} or auto` });

/** The character itself. */
export function delimiterOf<T extends string>(name: T | undefined): Exclude<T, "tab"> | "\t" | undefined {
  return name === "tab" ? "\t" : (name as Exclude<T, "tab"> | undefined);
}
