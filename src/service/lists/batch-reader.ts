import { asFailure, Failure } from "../../core/failures.ts";
import { OF_THE_SERVICE, type ServiceContext } from "../http/context.ts";
import type { Query } from "../http/transport.ts";
import type { RawObject, ServiceWords } from "../values.ts";
import { fetchPage, type Listing, walkPages } from "./list.ts";
import { hasRanges, type IdRange, readRanges } from "./ranges.ts";

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
  /** Whether a list entry shows enough; else the object is read by its id. */
  readonly isWhole: (entry: T) => boolean;
  readonly single: (id: number) => Promise<T>;
}

/** Entries that aren't there, and none that is, after which it is looked whether anything can be read. */
const ABSENT_TO_CONFIRM = 3;
/** Single reads in one batch while a list fails that may work again soon. */
const SINGLES_FOR_NOW = 200;
/** A list without ranges is walked as long as its pages can be expected to serve this many entries each. */
const FEWEST_A_PAGE = 4;
/** Single reads that fail in a row after which the rest is left for the next time. One alone may be out of order itself. */
const FAILURES_IN_A_ROW = 3;

/**
 * One batch: by pages of the list where it takes ranges of ids, else by a bounded walk of the whole list; then what is left
 * one by one. A thousand ids in a row are ten pages of a hundred.
 */
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

  /** A list that is out of order must not keep orders from being followed that can be read one by one. */
  async #readLists(): Promise<void> {
    try {
      if (this.#hasRanges && this.#open.size > 1) await this.#readRanges();
      if (!this.#hasRanges) await this.#walk(undefined);
    } catch (error) {
      const failure = asFailure(error);
      if (this.#signal.aborted || OF_THE_SERVICE.has(failure.code)) throw failure;
      this.#listFailure = failure;
    }
  }

  async #readRanges(): Promise<void> {
    const take = (page: readonly RawObject[]) => this.#take(page);
    const search = { listing: this.#listing(undefined), ids: this.#open, take };
    const left = await readRanges(this.#context, search, this.#signal);
    if (left) await this.#walk(left);
  }

  /** Walks a list in whatever order it has, as long as that can take fewer calls than single reads. */
  async #walk(range: IdRange | undefined): Promise<void> {
    if (this.#open.size < 3) return;
    let pagesLeft = Math.ceil(this.#open.size / FEWEST_A_PAGE);
    for await (const page of walkPages(this.#context, this.#listing(range), this.#signal)) {
      this.#take(page);
      pagesLeft -= 1;
      if (this.#open.size === 0 || pagesLeft <= 0) return;
    }
  }

  async #readSingles(): Promise<void> {
    const isForNow = this.#listFailure !== undefined && this.#listFailure.class !== "permanent";
    const queue = [...this.#open].slice(0, isForNow ? SINGLES_FOR_NOW : undefined);
    // A few calls show whether it is the list alone that fails.
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
        this.#failuresInARow += OF_THE_SERVICE.has(failure.code) ? FAILURES_IN_A_ROW : 1;
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
      await fetchPage(this.#context, this.#listing(undefined), { page: 1, perPage: 1 }, this.#signal);
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

  /** Keeps the entries that were asked for and show enough. */
  #take(page: readonly RawObject[]): void {
    for (const raw of page) {
      const entry = this.#kind.parse(raw, this.#context.settings.words);
      if (!entry || !this.#open.has(entry.id) || !this.#kind.isWhole(entry)) continue;
      this.#found.set(entry.id, entry);
      this.#open.delete(entry.id);
    }
  }

  #listing(range: IdRange | undefined): Listing {
    const { endpoint, filters } = this.#kind;
    return { endpoint, query: { ...filters, ...range }, ends: "short" };
  }

  /** A service that ignores the filter is asked for its whole list. */
  get #hasRanges(): boolean {
    const { endpoint, hasRanges: hasRangesOf } = this.#kind;
    return hasRangesOf && hasRanges(this.#context, endpoint);
  }
}
