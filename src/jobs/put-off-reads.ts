const FIRST_MS = 60_000;
const LONGEST_MS = 86_400_000;
/** A read that failed so often is not waited for any longer. */
const MOST_FAILURES = 3;

interface Entry {
  readonly times: number;
  readonly untilMs: number;
  readonly isOwed: boolean;
}

/**
 * Entries of a list that the ledger doesn't have after they were read one by one, so that they don't take the turn of
 * others in each reading. After the n-th time one is left alone for 1, 2, 4 … minutes, a day at most. A restart forgets
 * it, which costs a few reads, and so does a day in which nobody asked for it: the list doesn't show it any more. Times are by
 * a clock that only goes forwards.
 */
export class PutOffReads {
  readonly #byId = new Map<number, Entry>();

  /** Whether an entry is left alone for now. */
  has(id: number, nowMs: number): boolean {
    const entry = this.#byId.get(id);
    return entry !== undefined && nowMs < entry.untilMs;
  }

  /** How often an entry gave nothing. */
  times(id: number): number {
    return this.#byId.get(id)?.times ?? 0;
  }

  /** Whether the list is not read to its end without this entry: it was not read yet, and did not fail too often. */
  isOwed(id: number): boolean {
    return this.#byId.get(id)?.isOwed ?? true;
  }

  /** Entries whose read failed. */
  failed(ids: readonly number[], nowMs: number): void {
    for (const id of ids) this.#putOff(id, nowMs, this.times(id) + 1 < MOST_FAILURES);
  }

  /** Entries that the service doesn't know by their ids, or doesn't tell enough of. */
  gaveNothing(ids: readonly number[], nowMs: number): void {
    for (const id of ids) this.#putOff(id, nowMs, false);
  }

  /** Entries that were read, at the end of a reading: whatever of them the ledger doesn't keep won't change within a day. */
  wereRead(ids: readonly number[], nowMs: number): void {
    for (const id of ids)
      this.#byId.set(id, { times: this.times(id), untilMs: nowMs + LONGEST_MS, isOwed: false });
    for (const [id, { untilMs }] of this.#byId) if (nowMs - untilMs > LONGEST_MS) this.#byId.delete(id);
  }

  /** How many entries it knows of. */
  get size(): number {
    return this.#byId.size;
  }

  #putOff(id: number, nowMs: number, isOwed: boolean): void {
    const times = this.times(id) + 1;
    const pauseMs = Math.min(LONGEST_MS, FIRST_MS * 2 ** (times - 1));
    this.#byId.set(id, { times, untilMs: nowMs + pauseMs, isOwed });
  }
}
