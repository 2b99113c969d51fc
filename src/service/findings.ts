/** What a finding is about. */
export const FINDING_KINDS = ["envelope", "pageCap", "filter", "fields", "status", "type", "ids"] as const;
export type FindingKind = (typeof FINDING_KINDS)[number];

/** A fact about how the service decides what its specification leaves open. Holds names, never values of records. */
export interface ServiceFinding {
  readonly kind: FindingKind;
  /** The list's path, such as `/api/procedures`. */
  readonly list: string;
  /** The filter's name; empty for the other kinds. */
  readonly name: string;
  readonly value: string;
}

/** A finding that is new, or contradicts what was known before. */
export interface FindingChange extends ServiceFinding {
  /** What was known; undefined for something seen for the first time. */
  readonly before: string | undefined;
  /** Whether the service departs from what it did, or from the specification's words; else it was only found out. */
  readonly isDrift: boolean;
}

/** More names than that are no vocabulary. */
const MOST_NAMES = 40;
const ODD = "(odd name)";

/**
 * What is known of the service, across restarts where it is seeded with what an earlier run kept. Unlike the facts of
 * `Capabilities`, which are forgotten and found out anew, it remembers in order to notice a change.
 */
export class FindingBook {
  readonly #known = new Map<string, string>();
  readonly #onChange: (change: FindingChange) => void;

  /** @param onChange told of each finding that is new or differs; must not throw */
  constructor(known: readonly ServiceFinding[], onChange: (change: FindingChange) => void) {
    for (const finding of known) this.#known.set(keyOf(finding), finding.value);
    this.#onChange = onChange;
  }

  /** Everything known, in the order in which it was found. */
  list(): ServiceFinding[] {
    return [...this.#known].map(([key, value]) => {
      const [kind, list = "", name = ""] = key.split(" ");
      return { kind: kind as FindingKind, list, name, value };
    });
  }

  /** Notes a fact that replaces what was known. */
  saw(finding: ServiceFinding): void {
    const before = this.#known.get(keyOf(finding));
    if (before === finding.value) return;
    this.#known.set(keyOf(finding), finding.value);
    this.#onChange({ ...finding, before, isDrift: before !== undefined });
  }

  /**
   * Notes words that add to what was known, such as names of fields; a word that is missing now says nothing.
   *
   * @param isDriftAtOnce whether already the first such words are a departure from the specification
   */
  sawWords(
    kind: FindingKind,
    list: string,
    words: ReadonlySet<string>,
    { isDriftAtOnce }: { readonly isDriftAtOnce: boolean },
  ): void {
    const finding = { kind, list, name: "" };
    const before = this.#known.get(keyOf(finding));
    const known = before === undefined || before === "" ? [] : before.split(", ");
    const fresh = [...words].map(plainName).filter((word) => !known.includes(word));
    if (before !== undefined && (fresh.length === 0 || known.length >= MOST_NAMES)) return;
    const value = [...new Set([...known, ...fresh])].sort().slice(0, MOST_NAMES).join(", ");
    if (value === before) return;
    this.#known.set(keyOf(finding), value);
    const isDrift = before === undefined ? isDriftAtOnce && fresh.length > 0 : true;
    this.#onChange({ ...finding, value, before, isDrift });
  }
}

/**
 * A name of a field, or a word in capitals, as it may be written anywhere: names of people begin with one capital letter,
 * and anything else that doesn't look like a name of a field could be somebody's, too.
 */
export function plainName(text: string): string {
  return /^(?:[a-z_][A-Za-z0-9_.-]{0,39}|[A-Z][A-Z0-9_]{1,39}|[A-Z][a-z0-9]+[A-Z][A-Za-z0-9]{0,30})$/.test(
    text,
  )
    ? text
    : ODD;
}

function keyOf({ kind, list, name }: Omit<ServiceFinding, "value">): string {
  return `${kind} ${list} ${name}`.trimEnd();
}

/** A finding in words: `lists of /api/subjects come as data`. */
export function describeFinding({ kind, list, name, value }: ServiceFinding): string {
  switch (kind) {
    case "envelope":
      return `${list} comes as ${value === "array" ? "a bare array" : `a list under "${value}"`}`;
    case "pageCap":
      return `pages of ${list} hold at most ${value}`;
    case "filter":
      return `the filter ${name} of ${list} is ${value}`;
    case "fields":
      return `entries of ${list} have fields that the specification doesn't know: ${value || "none"}`;
    case "status":
      return `${list} has statuses that the specification doesn't know: ${value || "none"}`;
    case "type":
      return `${list} has types that the specification doesn't know: ${value || "none"}`;
    case "ids":
      return `ids of ${list} are written as ${value === "string" ? "strings" : "numbers"}`;
  }
}

/** A change in words: what is, and what was. */
export function describeChange(change: ServiceFinding & { readonly before: string | undefined }): string {
  const now = describeFinding(change);
  if (change.before === undefined) return now;
  const isSet = change.kind === "fields" || change.kind === "status" || change.kind === "type";
  return `${now}; before: ${isSet && change.before === "" ? "none" : change.before}`;
}
