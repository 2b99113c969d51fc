import { asFailure, Failure, type FailureCode } from "../core/failures.ts";
import type { ServiceContext } from "./context.ts";
import { fetchPage, type Listing, walkPages } from "./list.ts";
import { type IdRange, planReads } from "./plan-reads.ts";
import type { Query } from "./transport.ts";
import type { RawObject } from "./values.ts";
import type { ServiceWords } from "./words.ts";

/** What a batched read found. Every id asked for is in exactly one of the four. */
export interface BatchRead<T> {
  readonly found: ReadonlyMap<number, T>;
  /** The service says that it has no such object (404), and shows others: not the same as cancelled. */
  readonly missing: readonly number[];
  /** Read one by one and refused for good, with the reason. */
  readonly refused: ReadonlyMap<number, Failure>;
  /** Not read, because the service failed on the way; to be asked again. */
  readonly unread: readonly number[];
  /** Why there are unread ones. */
  readonly failure?: Failure | undefined;
  /** Why the list was of no use, so that the entries had to be read one by one. */
  readonly listFailure?: Failure | undefined;
}

/** What is read, and where. */
export interface Kind<T> {
  readonly endpoint: string;
  readonly filters: Query;
  /** Whether the list may be asked for ranges of ids; else it is read whole. */
  readonly hasRanges: boolean;
  readonly parse: (raw: RawObject, words: ServiceWords) => T | undefined;
  /** Whether a list entry tells enough; else the object is read by its id. */
  readonly isWhole: (entry: T) => boolean;
  readonly single: (id: number) => Promise<T>;
}

/** Failures that are of the service or of the way to it: whatever else it is asked now will fail as well. */
const NOT_OF_THE_LIST: ReadonlySet<FailureCode> = new Set<FailureCode>([
  "SERVICE_BUSY",
  "SERVICE_UNREACHABLE",
  "SERVICE_STOPPED",
  "SERVICE_CREDENTIALS_REFUSED",
]);
/** Entries that aren't there, and none that is, after which it is looked whether anything can be read. */
const ABSENT_TO_CONFIRM = 3;
/** Single reads in one batch while a list fails that may work again soon. */
const SINGLES_FOR_NOW = 200;
/** Single reads that fail in a row after which the rest is left for the next time. One alone may be out of order itself. */
const FAILURES_IN_A_ROW = 3;

/** One batch: ranges by the list, then what is left by a bounded walk of the whole list, then one by one. */
export class BatchReader<T extends { readonly id: number }> {
  readonly #context: ServiceContext;
  readonly #kind: Kind<T>;
  readonly #signal: AbortSignal;
  readonly #open = new Set<number>();
  readonly #found = new Map<number, T>();
  readonly #missing: number[] = [];
  readonly #refused = new Map<number, Failure>();
  #failure: Failure | undefined;
  #listFailure: Failure | undefined;
  #failuresInARow = 0;
  #isListRead = false;

  constructor(context: ServiceContext, kind: Kind<T>, signal: AbortSignal) {
    this.#context = context;
    this.#kind = kind;
    this.#signal = signal;
  }

  async read(ids: readonly number[]): Promise<BatchRead<T>> {
    for (const id of ids) this.#open.add(id);
    try {
      await this.#readLists();
      await this.#readSingles();
    } catch (error) {
      this.#failure = asFailure(error);
    }
    return {
      found: this.#found,
      missing: this.#missing,
      refused: this.#refused,
      unread: [...this.#open],
      failure: this.#failure ?? (this.#open.size > 0 ? this.#listFailure : undefined),
      listFailure: this.#listFailure,
    };
  }

  /**
   * A list that is out of order must not keep orders from being followed that can be read one by one. But what fails once
   * is tried again first: that takes fewer calls.
   */
  async #readLists(): Promise<void> {
    const { capabilities } = this.#context;
    const hasFailedBefore = capabilities.isOutOfOrder(this.#name);
    try {
      await this.#readRanges();
      await this.#readWholeList();
      if (this.#isListRead) capabilities.sawOutOfOrder(this.#name, false);
    } catch (error) {
      const failure = asFailure(error);
      if (this.#signal.aborted || NOT_OF_THE_LIST.has(failure.code)) throw failure;
      capabilities.sawOutOfOrder(this.#name, true);
      if (failure.class !== "permanent" && !hasFailedBefore) throw failure;
      this.#listFailure = failure;
    }
  }

  async #readRanges(): Promise<void> {
    const { capabilities } = this.#context;
    if (!this.#hasRanges) return;
    const density = capabilities.number(this.#densityName) ?? 1;
    const plan = planReads([...this.#open], { pageSize: this.#pageSize, density });
    for (const range of plan.ranges) {
      const finding = await this.#readRange(range);
      if (finding === undefined) continue;
      capabilities.sawFilter(this.#kind.endpoint, "id", finding);
      if (finding === "ignored") return;
    }
  }

  /** Walks one range until all its ids are found, its list ends, or single reads would have been cheaper. */
  async #readRange(range: IdRange): Promise<"honoured" | "ignored" | undefined> {
    const { capabilities } = this.#context;
    const listing = this.#listing({ id_from: range.from, id_to: range.to });
    const wanted = new Set(range.ids);
    let pages = 0;
    let entries = 0;
    try {
      for await (const page of walkPages(this.#context, listing, this.#signal)) {
        pages += 1;
        entries += page.length;
        const ids = this.#take(page);
        if (ids.some((id) => id < range.from || id > range.to)) return "ignored";
        for (const id of ids) wanted.delete(id);
        if (wanted.size === 0 || pages >= range.ids.length) break;
      }
    } catch (error) {
      // "Unknown filter" is an answer too: the list is then read without.
      if (error instanceof Failure && error.code === "SERVICE_REFUSED") return "ignored";
      throw error;
    }
    if (entries === 0) return undefined;
    if (wanted.size === 0 || pages < range.ids.length) {
      // The walk went through the range (or far into it), so its entries tell how thickly it is populated.
      const span = range.to - range.from + 1;
      capabilities.sawNumber(this.#densityName, Math.min(1, Math.max(entries, range.ids.length) / span));
    }
    return "honoured";
  }

  /**
   * Without id filters: the facility's whole list, newest and oldest mixed as the service likes. Worth it only
   * while it takes fewer pages than single reads; a walk that didn't pay is not tried again for an hour.
   */
  async #readWholeList(): Promise<void> {
    const { capabilities } = this.#context;
    if (this.#hasRanges || this.#open.size < 3) return;
    const name = `listPages ${this.#name}`;
    const knownPages = capabilities.number(name);
    const budget = knownPages === undefined ? Math.ceil(this.#open.size / 2) : this.#open.size - 1;
    if (knownPages !== undefined && knownPages > budget) return;
    let pages = 0;
    let isEnded = true;
    try {
      for await (const page of walkPages(this.#context, this.#listing({}), this.#signal)) {
        pages += 1;
        this.#take(page);
        if (this.#open.size === 0) return;
        if (pages >= budget) {
          isEnded = false;
          break;
        }
      }
    } catch (error) {
      const isForGood = error instanceof Failure && error.class === "permanent";
      // A list that can't be paged may be too long to be read at all; its entries can still be had one by one.
      if (!isForGood && !this.#kind.hasRanges && !this.#signal.aborted) return;
      if (!isForGood) throw error;
      isEnded = false;
    }
    capabilities.sawNumber(name, isEnded ? pages : Number.MAX_SAFE_INTEGER);
  }

  async #readSingles(): Promise<void> {
    const isForNow = this.#listFailure !== undefined && this.#listFailure.class !== "permanent";
    const queue = [...this.#open].slice(0, isForNow ? SINGLES_FOR_NOW : undefined);
    // A few calls tell whether it is the list alone that fails.
    if (this.#listFailure) await this.#readUntilAnswered(queue);
    await this.#readEach(queue, () => this.#absentCount >= ABSENT_TO_CONFIRM && this.#found.size === 0);
    await this.#confirmAbsent(queue);
    await this.#readEach(queue, () => false);
  }

  async #readUntilAnswered(queue: number[]): Promise<void> {
    const isAnswered = () => this.#found.size + this.#absentCount > 0;
    while (!isAnswered() && this.#failuresInARow < FAILURES_IN_A_ROW) {
      const id = queue.shift();
      if (id === undefined) return;
      await this.#readSingle(id);
    }
  }

  async #readEach(queue: number[], isEnough: () => boolean): Promise<void> {
    const work = async (): Promise<void> => {
      while (this.#failuresInARow < FAILURES_IN_A_ROW && !isEnough()) {
        const id = queue.shift();
        if (id === undefined) return;
        await this.#readSingle(id);
      }
    };
    await Promise.all(Array.from({ length: this.#context.settings.concurrency }, work));
  }

  async #readSingle(id: number): Promise<void> {
    try {
      const value = await this.#kind.single(id);
      if (value.id !== id) {
        throw new Failure(
          "SERVICE_SHAPE_UNKNOWN",
          `GET ${this.#kind.endpoint}/{id}: the answer has another id`,
        );
      }
      this.#found.set(id, value);
    } catch (error) {
      const failure = asFailure(error);
      if (failure.code === "SERVICE_NOT_FOUND") this.#missing.push(id);
      else if (failure.code === "SERVICE_REFUSED") this.#refused.set(id, failure);
      else {
        this.#failure ??= failure;
        this.#failuresInARow += NOT_OF_THE_LIST.has(failure.code) ? FAILURES_IN_A_ROW : 1;
        return;
      }
    }
    this.#failuresInARow = 0;
    this.#open.delete(id);
  }

  /**
   * A gateway that lost its way answers 404 to everything, and lost rights are a 403 everywhere. That says something of an
   * entry only where something else can be read: one of the others, perhaps of the last ones, or else the list.
   */
  async #confirmAbsent(queue: number[]): Promise<void> {
    if (this.#absentCount === 0) return;
    if (this.#listFailure) await this.#readEach(queue.splice(-ABSENT_TO_CONFIRM), () => false);
    if (this.#found.size > 0) return;
    try {
      await fetchPage(this.#context, this.#listing({}), { page: 1, perPage: 1 }, this.#signal);
    } catch (error) {
      for (const id of [...this.#missing, ...this.#refused.keys()]) this.#open.add(id);
      this.#missing.length = 0;
      this.#refused.clear();
      throw error;
    }
  }

  get #absentCount(): number {
    return this.#missing.length + this.#refused.size;
  }

  /** Keeps the entries that were asked for and tell enough; returns the ids of all. */
  #take(page: readonly RawObject[]): number[] {
    this.#isListRead = true;
    const ids: number[] = [];
    for (const raw of page) {
      const entry = this.#kind.parse(raw, this.#context.settings.words);
      if (!entry) continue;
      ids.push(entry.id);
      if (!this.#open.has(entry.id) || !this.#kind.isWhole(entry)) continue;
      this.#found.set(entry.id, entry);
      this.#open.delete(entry.id);
    }
    return ids;
  }

  #listing(filters: Readonly<Record<string, number>>): Listing {
    return {
      endpoint: this.#kind.endpoint,
      query: { ...this.#kind.filters, ...filters },
      sensitive: [],
      ends: "short",
    };
  }

  get #pageSize(): number {
    return this.#context.capabilities.pageCap(this.#kind.endpoint) ?? this.#context.settings.perPage;
  }

  get #hasRanges(): boolean {
    const { endpoint, hasRanges } = this.#kind;
    return hasRanges && this.#context.capabilities.filter(endpoint, "id") !== "ignored";
  }

  get #densityName(): string {
    return `density ${this.#name}`;
  }

  /** The list, for findings about it. */
  get #name(): string {
    return `${this.#kind.endpoint}#${Object.values(this.#kind.filters).join("/")}`;
  }
}
