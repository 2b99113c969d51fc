import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";
import { findListAt } from "../../core/service-catalogue.ts";
import type { FilterPolicy } from "../settings.ts";

/** Whether the service follows a filter. One that it refuses to know is never sent, which is as good as ignored. */
export type FilterFinding = "honoured" | "ignored";

/** The latest change in how the service decides what its specification leaves open. */
export interface ShapeChange {
  /** In words, with names of lists and filters: `/api/subjects comes as a list under "items"; before: array`. */
  readonly text: string;
  /** When it was noticed, monotonic ms. */
  readonly atMs: number;
}

interface Fact {
  readonly value: string | number;
  readonly at: number;
}

const LIFE_MS = 3_600_000;

/**
 * What calls of lists are planned by where the specification leaves it open: wrapping, page cap, refused and ignored
 * filters. Found out while working and kept in memory; forgotten after an hour, so that a changed service doesn't stay
 * misjudged. A change is logged once.
 */
export class Capabilities {
  readonly #facts = new Map<string, Fact>();
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #policy: FilterPolicy;
  #lastChange: ShapeChange | undefined;

  constructor(clock: Clock, logger: Logger, policy: FilterPolicy = "auto") {
    this.#clock = clock;
    this.#logger = logger;
    this.#policy = policy;
  }

  /** The latest change since the start. */
  get lastChange(): ShapeChange | undefined {
    return this.#lastChange;
  }

  sawEnvelope(endpoint: string, seen: string): void {
    const words = seen === "array" ? "a bare array" : `a list under "${seen}"`;
    this.#learn(`envelope ${endpoint}`, seen, `${endpoint} comes as ${words}`);
  }

  /** What is known of the length of a list's pages: that of the surface's longest one lately, and of this list's cap. */
  pagesOf(endpoint: string): Pick<FirstPage, "longest" | "cap"> {
    return {
      longest: this.#number(`longestPage ${findListAt(endpoint)?.surface}`) ?? 0,
      cap: this.#number(`pageCap ${endpoint}`),
    };
  }

  /** A page had that length. A service caps the pages of a surface's lists alike, so each speaks for the others. */
  sawPage(endpoint: string, length: number): void {
    const { longest, cap } = this.pagesOf(endpoint);
    const telling = Math.min(length, DEFAULT_PER_PAGE);
    if (telling >= longest) this.#set(`longestPage ${findListAt(endpoint)?.surface}`, telling);
    if (cap !== undefined && length > cap) this.sawCap(endpoint, length);
  }

  /** A page of that length was followed by another although more was asked for. */
  sawCap(endpoint: string, length: number): void {
    this.#learn(`pageCap ${endpoint}`, length, `pages of ${endpoint} hold at most ${length}`);
  }

  /** Undefined when it is not known; a filter that the site doesn't let be sent does as little as an ignored one. */
  filter(endpoint: string, name: string): FilterFinding | undefined {
    const form = name === "id" ? "id_from" : name;
    if (!isAllowed(this.#policy, endpoint, form) || this.isRefused(endpoint, form)) return "ignored";
    const value = this.#value(`filter ${endpoint} ${name}`);
    return value === "honoured" || value === "ignored" ? value : undefined;
  }

  sawFilter(endpoint: string, name: string, finding: FilterFinding): void {
    // What was never sent can't be honoured, however well the entries fit.
    const isSent = [name, `${name}_from`, `${name}_to`].every((form) => !this.isRefused(endpoint, form));
    if (!isSent || !isAllowed(this.#policy, endpoint, name)) return;
    this.#learn(`filter ${endpoint} ${name}`, finding, `the filter ${name} of ${endpoint} is ${finding}`);
  }

  /** Whether the service refused a parameter in the last hour: a filter, `page`, or a size (`perPage=500`). */
  isRefused(endpoint: string, parameter: string): boolean {
    return this.#value(`refused ${endpoint} ${parameter}`) !== undefined;
  }

  sawRefused(endpoint: string, parameter: string): void {
    this.#set(`refused ${endpoint} ${parameter}`, "refused");
  }

  /**
   * Has the service asked once more for what it refused or ignored of a list: what was learned kept an order from going on, and a
   * service that was corrected is not to be believed broken for an hour.
   */
  doubt(endpoint: string): void {
    for (const [key, fact] of this.#facts) {
      const isAbout = key.startsWith(`refused ${endpoint} `) || key.startsWith(`filter ${endpoint} `);
      if (isAbout) this.#facts.set(key, { ...fact, at: Number.NEGATIVE_INFINITY });
    }
  }

  /** Keeps a fact; one that differs from what was known, however long ago, is a change. */
  #learn(key: string, value: string | number, words: string): void {
    const before = this.#facts.get(key)?.value;
    this.#set(key, value);
    if (before === undefined || before === value) return;
    this.#lastChange = { text: `${words}; before: ${before}`, atMs: this.#clock.monotonic() };
    this.#logger.warn({ change: this.#lastChange.text }, "the service answers in another shape");
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

/** Whether the site lets a filter be sent. */
export function isAllowed(policy: FilterPolicy, endpoint: string, name: string): boolean {
  if (policy === "auto" || isDocumented(endpoint, name)) return true;
  return policy !== "none" && (policy.includes(name) || policy.includes(fieldOf(name)));
}

/** `createdAt` of `createdAt_from`, and of `createdAt` itself. */
function fieldOf(filter: string): string {
  return filter.replace(/_(like|from|to)$/, "");
}

/** Whether the specification names a filter for a list. */
export function isDocumented(endpoint: string, name: string): boolean {
  return findListAt(endpoint)?.filters.includes(name) === true;
}

/** Items per page of a call that names no `perPage` (specification, Limits). */
export const DEFAULT_PER_PAGE = 10;

/** Lengths that services usually cap their pages to. */
const USUAL_CAPS: readonly number[] = [DEFAULT_PER_PAGE, 20, 25, 50, 100, 200];

/** The first page of a list, by what shows whether another one follows. */
export interface FirstPage {
  /** Entries on it. */
  readonly length: number;
  /** How many were asked for. */
  readonly asked: number;
  /** How many the list has in all, where the answer says so. */
  readonly total: number | undefined;
  /** The longest page that any list of the service had lately, as far as that matters: up to a default page. */
  readonly longest: number;
  /** How many a page of this list was found to hold at most; undefined where nothing showed that. */
  readonly cap: number | undefined;
}

/**
 * Whether a first page is the whole list, so that nobody has to ask for an empty second one. By what the service says itself:
 * a `total` that is on it, unless the page is as long as one that may be cut, of which some services count the entries. Else by
 * its length: shorter than what was asked for and than the default page, than which no service is to cap its pages lower.
 *
 * Some may do so nevertheless, and there a cut list would look whole. So of two entries or more a page is believed only where a
 * longer one was seen lately, in whatever list. One entry is believed: no service could be worked with that gave a page for each.
 */
export function isWholeList({ length, asked, total, longest, cap }: FirstPage): boolean {
  if (length === 0) return true;
  if (length >= asked) return false;
  const isAtCap = cap !== undefined && length >= cap;
  if (total !== undefined && total >= length)
    return total === length && !isAtCap && !USUAL_CAPS.includes(length);
  if (length >= DEFAULT_PER_PAGE || isAtCap) return false;
  return length === 1 || length < longest;
}
