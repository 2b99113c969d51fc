import type { Clock } from "../core/clock.ts";
import type { Logger } from "../core/logger.ts";

/** Whether the service follows a filter. */
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

const LIFE_MS = 3_600_000;
const REPORTED = new Set(["envelope", "longestPage", "pageCap", "filter"]);

/**
 * What the service was seen to do where the specification leaves it open: envelope, page cap, filters. Each finding
 * is forgotten after an hour, so that it is found out again and a changed service doesn't stay misjudged.
 */
export class Capabilities {
  readonly #facts = new Map<string, Fact>();
  readonly #clock: Clock;
  readonly #logger: Logger;

  constructor(clock: Clock, logger: Logger) {
    this.#clock = clock;
    this.#logger = logger;
  }

  envelope(endpoint: string, seen: string): void {
    this.#note(`envelope ${endpoint}`, seen);
  }

  longestPage(endpoint: string): number | undefined {
    return this.#number(`longestPage ${endpoint}`);
  }

  pageCap(endpoint: string): number | undefined {
    return this.#number(`pageCap ${endpoint}`);
  }

  sawPage(endpoint: string, length: number): void {
    if (length > (this.longestPage(endpoint) ?? -1)) this.#set(`longestPage ${endpoint}`, length);
  }

  /** A page of that length was followed by another although more was asked for. */
  sawCap(endpoint: string, length: number): void {
    this.#note(`pageCap ${endpoint}`, length);
  }

  filter(endpoint: string, name: string): FilterFinding | undefined {
    const value = this.#value(`filter ${endpoint} ${name}`);
    return value === "honoured" || value === "ignored" ? value : undefined;
  }

  sawFilter(endpoint: string, name: string, finding: FilterFinding): void {
    this.#note(`filter ${endpoint} ${name}`, finding);
  }

  /** Any other number worth keeping for an hour, such as the share of ids that belong to a facility. */
  number(name: string): number | undefined {
    return this.#number(name);
  }

  sawNumber(name: string, value: number): void {
    this.#set(name, value);
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

  #note(key: string, value: string | number): void {
    const before = this.#facts.get(key)?.value;
    if (before !== undefined && before !== value) {
      this.#logger.warn({ finding: key, before, now: value }, "the service changed its behaviour");
    }
    this.#set(key, value);
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
