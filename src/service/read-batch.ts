import { asFailure, Failure } from "../core/failures.ts";
import type { ServiceContext } from "./context.ts";
import { EXTERNAL_PROCEDURES, getExternalProcedure } from "./external-procedures.ts";
import { type Listing, walkPages } from "./list.ts";
import { type IdRange, planReads } from "./plan-reads.ts";
import { getProcedure, PROCEDURES } from "./procedures.ts";
import { getRequest, REQUESTS } from "./requests.ts";
import { type ProcedureStatus, parseProcedure, parseRequest, type RequestStatus, UNTOLD } from "./shapes.ts";
import type { Query } from "./transport.ts";
import type { RawObject } from "./values.ts";
import type { ServiceWords } from "./words.ts";

/** What a batched read found. Every id asked for is in exactly one of the four. */
export interface BatchRead<T> {
  readonly found: ReadonlyMap<number, T>;
  /** The service says that it has no such object (404): not the same as cancelled. */
  readonly missing: readonly number[];
  /** Read one by one and refused for good, with the reason. */
  readonly refused: ReadonlyMap<number, Failure>;
  /** Not read, because the service failed on the way; to be asked again. */
  readonly unread: readonly number[];
  /** Why there are unread ones. */
  readonly failure?: Failure | undefined;
}

/** The state of many requests of a facility, in as few requests as the service allows. Never throws. */
export function readRequests(
  context: ServiceContext,
  facilityId: number,
  ids: readonly number[],
  signal: AbortSignal,
): Promise<BatchRead<RequestStatus>> {
  const kind: Kind<RequestStatus> = {
    endpoint: REQUESTS,
    filters: { facilityId },
    hasRanges: true,
    parse: parseRequest,
    // A short list entry may leave out the procedure that an accepted request has become.
    isWhole: (each) =>
      each.status !== UNTOLD && (each.status !== "ACCEPTED" || "procedureId" in each.raw.reveal()),
    single: (id) => getRequest(context, id, signal),
  };
  return new BatchReader(context, kind, signal).read(ids);
}

/** The same for procedures; a completed one comes with its container ids where the service tells them. */
export function readProcedures(
  context: ServiceContext,
  facilityId: number,
  ids: readonly number[],
  signal: AbortSignal,
): Promise<BatchRead<ProcedureStatus>> {
  const kind: Kind<ProcedureStatus> = {
    endpoint: PROCEDURES,
    filters: { facilityId },
    hasRanges: true,
    parse: parseProcedure,
    isWhole: isWholeProcedure,
    single: (id) => getProcedure(context, id, signal),
  };
  return new BatchReader(context, kind, signal).read(ids);
}

/** Procedures of the external surface of one facility and type. */
export interface ExternalBatch {
  readonly facilityId: number;
  readonly type: "STORE" | "RETRIEVAL";
  readonly ids: readonly number[];
}

/**
 * The same for procedures of the external surface. Its list is only asked by facility and type, which the specification
 * names. Entries omit the containers, so a completed procedure is read by its id: that is where locations come from.
 */
export function readExternalProcedures(
  context: ServiceContext,
  { facilityId, type, ids }: ExternalBatch,
  signal: AbortSignal,
): Promise<BatchRead<ProcedureStatus>> {
  const kind: Kind<ProcedureStatus> = {
    endpoint: EXTERNAL_PROCEDURES,
    filters: { facilityId, type },
    hasRanges: false,
    parse: parseProcedure,
    isWhole: isWholeProcedure,
    single: (id) => getExternalProcedure(context, id, signal),
  };
  return new BatchReader(context, kind, signal).read(ids);
}

function isWholeProcedure({ status, containerIds }: ProcedureStatus): boolean {
  return status !== UNTOLD && (status !== "COMPLETED" || containerIds !== undefined);
}

interface Kind<T> {
  readonly endpoint: string;
  readonly filters: Query;
  /** Whether the list may be asked for ranges of ids; else it is read whole. */
  readonly hasRanges: boolean;
  readonly parse: (raw: RawObject, words: ServiceWords) => T | undefined;
  /** Whether a list entry tells enough; else the object is read by its id. */
  readonly isWhole: (entry: T) => boolean;
  readonly single: (id: number) => Promise<T>;
}

/** One batch: ranges by the list, then what is left by a bounded walk of the whole list, then one by one. */
class BatchReader<T extends { readonly id: number }> {
  readonly #context: ServiceContext;
  readonly #kind: Kind<T>;
  readonly #signal: AbortSignal;
  readonly #open = new Set<number>();
  readonly #found = new Map<number, T>();
  readonly #missing: number[] = [];
  readonly #refused = new Map<number, Failure>();
  #failure: Failure | undefined;

  constructor(context: ServiceContext, kind: Kind<T>, signal: AbortSignal) {
    this.#context = context;
    this.#kind = kind;
    this.#signal = signal;
  }

  async read(ids: readonly number[]): Promise<BatchRead<T>> {
    for (const id of ids) this.#open.add(id);
    try {
      await this.#readRanges();
      await this.#readWholeList();
      await this.#readSingles();
    } catch (error) {
      this.#failure = asFailure(error);
    }
    return {
      found: this.#found,
      missing: this.#missing,
      refused: this.#refused,
      unread: [...this.#open],
      failure: this.#failure,
    };
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
    const queue = [...this.#open];
    const worker = async (): Promise<void> => {
      for (let id = queue.shift(); id !== undefined && !this.#failure; id = queue.shift()) {
        await this.#readSingle(id);
      }
    };
    await Promise.all(Array.from({ length: this.#context.settings.concurrency }, worker));
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
        return;
      }
    }
    this.#open.delete(id);
  }

  /** Keeps the entries that were asked for and tell enough; returns the ids of all. */
  #take(page: readonly RawObject[]): number[] {
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
