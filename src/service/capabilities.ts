import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";
import { isAllowed } from "./filter-policy.ts";
import { FindingBook, type FindingChange, plainName, type ServiceFinding } from "./findings.ts";
import { KNOWN_ENTRIES } from "./known-words.ts";
import type { FilterPolicy } from "./settings.ts";
import { normalizeStatus, normalizeType, type RawObject } from "./values.ts";
import { NO_WORDS, type ServiceWords } from "./words.ts";

/** Whether the service follows a filter. One that it refuses to know is never sent, which is as good as ignored. */
export type FilterFinding = "honoured" | "ignored";

/** What was found out about one list endpoint; parts not found out yet are undefined. */
export interface EndpointFindings {
  readonly envelope?: string | undefined;
  /** Longest page seen: a shorter one must be the last. */
  readonly longestPage?: number | undefined;
  /** The service's cap on `perPage`, when it showed one below what was asked. */
  readonly pageCap?: number | undefined;
  readonly filters: Readonly<Record<string, FilterFinding>>;
}

interface Fact {
  readonly value: string | number;
  readonly at: number;
}

/** What is known beforehand, and who is told. */
export interface CapabilityOptions {
  readonly policy?: FilterPolicy | undefined;
  readonly words?: ServiceWords | undefined;
  /** What an earlier run found out. */
  readonly known?: readonly ServiceFinding[] | undefined;
  /** Told of each finding that is new or differs from what was known; must not throw. */
  readonly onFinding?: ((change: FindingChange) => void) | undefined;
}

const LIFE_MS = 3_600_000;
const REPORTED = new Set(["envelope", "longestPage", "pageCap", "filter"]);

/**
 * What the service was seen to do where the specification leaves it open: envelope, page cap, filters, words. Facts
 * that calls are planned by are forgotten after an hour, so that they are found out again and a changed service doesn't
 * stay misjudged; a change is logged and told.
 */
export class Capabilities {
  readonly #facts = new Map<string, Fact>();
  readonly #outOfOrder = new Set<string>();
  readonly #clock: Clock;
  readonly #policy: FilterPolicy;
  readonly #words: ServiceWords;
  readonly #book: FindingBook;

  constructor(clock: Clock, logger: Logger, options: CapabilityOptions = {}) {
    this.#clock = clock;
    this.#policy = options.policy ?? "auto";
    this.#words = options.words ?? NO_WORDS;
    this.#book = new FindingBook(options.known ?? [], (change) => {
      if (change.isDrift) {
        const { kind, list, name, before, value } = change;
        logger.warn(
          { finding: kind, list, filter: name || undefined, before, now: value },
          "the service changed its behaviour",
        );
      }
      options.onFinding?.(change);
    });
  }

  envelope(endpoint: string, seen: string): void {
    this.#set(`envelope ${endpoint}`, seen);
    const value = seen.split(".").map(plainName).join(".");
    this.#book.saw({ kind: "envelope", list: endpoint, name: "", value });
  }

  longestPage(endpoint: string): number | undefined {
    return this.#number(`longestPage ${endpoint}`);
  }

  pageCap(endpoint: string): number | undefined {
    return this.#number(`pageCap ${endpoint}`);
  }

  sawPage(endpoint: string, length: number): void {
    if (length > (this.longestPage(endpoint) ?? -1)) this.#set(`longestPage ${endpoint}`, length);
    const cap = this.pageCap(endpoint);
    // The cap was lifted: what is planned by it would ask more often than needed.
    if (cap !== undefined && length > cap) this.sawCap(endpoint, length);
  }

  /** A page of that length was followed by another although more was asked for. */
  sawCap(endpoint: string, length: number): void {
    this.#set(`pageCap ${endpoint}`, length);
    this.#book.saw({ kind: "pageCap", list: endpoint, name: "", value: String(length) });
  }

  /** Undefined when it is not known; a filter that the site doesn't let be sent does as little as an ignored one. */
  filter(endpoint: string, name: string): FilterFinding | undefined {
    const forms = name === "id" ? ["id_from"] : [name];
    if (forms.some((form) => !isAllowed(this.#policy, endpoint, form))) return "ignored";
    if (forms.some((form) => this.isRefused(endpoint, form))) return "ignored";
    const value = this.#value(`filter ${endpoint} ${name}`);
    return value === "honoured" || value === "ignored" ? value : undefined;
  }

  sawFilter(endpoint: string, name: string, finding: FilterFinding): void {
    // What was never sent can't be honoured, however well the entries fit.
    const isSent = [name, `${name}_from`, `${name}_to`].every((form) => !this.isRefused(endpoint, form));
    if (!isSent || !isAllowed(this.#policy, endpoint, name)) return;
    this.#set(`filter ${endpoint} ${name}`, finding);
    this.#book.saw({ kind: "filter", list: endpoint, name, value: finding });
  }

  /** Whether the service refused a parameter in the last hour: a filter, `page`, or a size (`perPage=500`). */
  isRefused(endpoint: string, parameter: string): boolean {
    return this.#value(`refused ${endpoint} ${parameter}`) !== undefined;
  }

  sawRefused(endpoint: string, parameter: string): void {
    this.#set(`refused ${endpoint} ${parameter}`, "refused");
    this.#book.saw({ kind: "filter", list: endpoint, name: parameter, value: "refused" });
  }

  /** Looks at what a list's entries are made of: fields, words and the spelling of ids, never their other values. */
  sawEntries(endpoint: string, entries: readonly RawObject[]): void {
    const known = KNOWN_ENTRIES[endpoint];
    const [first] = entries;
    if (!known || !first) return;
    const fields = new Set<string>();
    const statuses = new Set<string>();
    const types = new Set<string>();
    for (const entry of entries) {
      for (const field of Object.keys(entry)) if (!known.fields.has(field)) fields.add(field);
      if (typeof entry.status === "string") statuses.add(normalizeStatus(entry.status, this.#words));
      if (typeof entry.type === "string") types.add(normalizeType(entry.type, this.#words));
    }
    this.#book.sawWords("fields", endpoint, fields, { isDriftAtOnce: false });
    this.#sawUnknownWords("status", endpoint, statuses, known.statuses);
    this.#sawUnknownWords("type", endpoint, types, known.types);
    const spelling = typeof first.id;
    if (spelling === "number" || spelling === "string") {
      this.#book.saw({ kind: "ids", list: endpoint, name: "", value: spelling });
    }
  }

  #sawUnknownWords(
    kind: "status" | "type",
    endpoint: string,
    seen: ReadonlySet<string>,
    known: ReadonlySet<string>,
  ): void {
    const unknown = new Set([...seen].filter((word) => !known.has(word)));
    if (known.size > 0 && unknown.size > 0) {
      this.#book.sawWords(kind, endpoint, unknown, { isDriftAtOnce: true });
    }
  }

  /** Any other number worth keeping for an hour, such as the share of ids that belong to a facility. */
  number(name: string): number | undefined {
    return this.#number(name);
  }

  sawNumber(name: string, value: number): void {
    this.#set(name, value);
  }

  /** Whether a list could not be read when that was tried last, however long ago: orders may be asked about once a day. */
  isOutOfOrder(list: string): boolean {
    return this.#outOfOrder.has(list);
  }

  sawOutOfOrder(list: string, isOutOfOrder: boolean): void {
    if (isOutOfOrder) this.#outOfOrder.add(list);
    else this.#outOfOrder.delete(list);
  }

  /** All findings by endpoint, for `check` and for people. */
  report(): Readonly<Record<string, EndpointFindings>> {
    const byEndpoint: Record<string, { -readonly [K in keyof EndpointFindings]: EndpointFindings[K] }> = {};
    for (const key of this.#facts.keys()) {
      const [kind, endpoint, filter] = key.split(" ");
      const value = this.#value(key);
      if (kind === undefined || endpoint === undefined || value === undefined || !REPORTED.has(kind))
        continue;
      byEndpoint[endpoint] ??= { filters: {} };
      const findings = byEndpoint[endpoint];
      if (kind === "envelope") findings.envelope = String(value);
      else if (kind === "longestPage") findings.longestPage = Number(value);
      else if (kind === "pageCap") findings.pageCap = Number(value);
      else if (kind === "filter" && filter !== undefined && (value === "honoured" || value === "ignored")) {
        findings.filters = { ...findings.filters, [filter]: value };
      }
    }
    return byEndpoint;
  }

  /** Everything found out since the start, and what was known before. */
  findings(): readonly ServiceFinding[] {
    return this.#book.list();
  }

  #set(key: string, value: string | number): void {
    this.#facts.set(key, { value, at: this.#clock.monotonic() });
  }

  #number(key: string): number | undefined {
    const value = this.#value(key);
    return typeof value === "number" ? value : undefined;
  }

  #value(key: string): string | number | undefined {
    const fact = this.#facts.get(key);
    return fact && this.#clock.monotonic() - fact.at < LIFE_MS ? fact.value : undefined;
  }
}
