/**
 * A site's own words for statuses and types, each with the specification's word for it: `{ DONE: "COMPLETED" }`.
 * Keys are compared as {@link upperWord} writes them.
 */
export interface ServiceWords {
  readonly status: ReadonlyMap<string, string>;
  readonly type: ReadonlyMap<string, string>;
}

/** No words of the site's own. */
export const NO_WORDS: ServiceWords = { status: new Map(), type: new Map() };

/** What a configuration may say about words. */
export interface GivenWords {
  readonly status?: Readonly<Record<string, string>> | undefined;
  readonly type?: Readonly<Record<string, string>> | undefined;
}

/** The words of a configuration, in the spelling in which they are looked up. */
export function toServiceWords(given: GivenWords | undefined): ServiceWords {
  return { status: spelled(given?.status), type: spelled(given?.type) };
}

function spelled(words: Readonly<Record<string, string>> | undefined): ReadonlyMap<string, string> {
  return new Map(Object.entries(words ?? {}).map(([theirs, ours]) => [upperWord(theirs), upperWord(ours)]));
}

/** The service's words for a status of the specification: the site's own, else the word itself. */
export function theirStatusWords(status: string, words: ServiceWords): readonly string[] {
  const theirs = [...words.status].flatMap(([word, ours]) => (ours === status ? [word] : []));
  return theirs.length === 0 ? [status] : theirs;
}

/** A word in upper case with underscores between its parts: `IN_PROGRESS` from `in progress` or `In-Progress`. */
export function upperWord(text: string): string {
  return text
    .trim()
    .toUpperCase()
    .replace(/[\s-]+/g, "_");
}
