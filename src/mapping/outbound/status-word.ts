import type { ResultWords } from "../profile/results-schema.ts";

/** The lab's word for a status; undefined where it has none. */
export function statusWord(
  { status: table = {} }: ResultWords,
  status: string,
  operation: string | undefined,
): string | undefined {
  const word = wordIn<string | Readonly<Partial<Record<string, string>>>>(table, status);
  if (typeof word !== "object") return word;
  return (operation === undefined ? undefined : wordIn(word, operation)) ?? wordIn(word, "*");
}

function wordIn<T>(table: Readonly<Partial<Record<string, T>>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}
