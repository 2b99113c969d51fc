import type { Clock } from "../../core/clock.ts";

interface Entry {
  readonly due: number;
  readonly run: () => void;
}

/** Many entries may fall due close together: they are run in one go. */
const SHORTEST_NAP_MS = 5;
const LONGEST_NAP_MS = 3_600_000;

/**
 * Runs things when simulated time reaches them. Simulated time follows the clock at a speed and can be advanced by
 * hand. However many entries wait, there is one timer: for the earliest.
 */
export class Schedule {
  readonly #clock: Clock;
  /** The earliest first; those due at the same moment in the order in which they were added. */
  readonly #entries: Entry[] = [];
  #speed: number;
  /** Simulated time `#base` was reached at the clock's monotonic `#baseAt`. */
  #base = 0;
  #baseAt: number;
  /** The due time of the entry that is being run: what it adds is counted from there, however late it runs. */
  #present: number | undefined;
  #nap: AbortController | undefined;
  #wakesAt = Number.POSITIVE_INFINITY;
  #loop: Promise<void> | undefined;
  #isStopped = false;

  constructor(clock: Clock, speed: number) {
    this.#clock = clock;
    this.#speed = speed;
    this.#baseAt = clock.monotonic();
  }

  /** Simulated ms since the schedule was made. */
  now(): number {
    return this.#base + (this.#clock.monotonic() - this.#baseAt) * this.#speed;
  }

  get waiting(): number {
    return this.#entries.length;
  }

  /** Runs something after a length of simulated time. */
  add(afterMs: number, run: () => void): void {
    const due = (this.#present ?? this.now()) + afterMs;
    insert(this.#entries, { due, run });
    if (due < this.#wakesAt) this.#nap?.abort();
  }

  /** Forgets everything that waits. */
  clear(): void {
    this.#entries.length = 0;
  }

  setSpeed(speed: number): void {
    this.#base = this.now();
    this.#baseAt = this.#clock.monotonic();
    this.#speed = speed;
    this.#nap?.abort();
  }

  /** Lets this much simulated time pass at once, and runs what falls due in it, each in its turn. */
  advance(ms: number): void {
    this.#base += ms;
    this.#runDue();
  }

  start(): void {
    if (this.#loop) return;
    this.#isStopped = false;
    this.#loop = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#nap?.abort();
    await this.#loop;
    this.#loop = undefined;
  }

  #runDue(): void {
    for (let next = this.#entries[0]; next && next.due <= this.now(); next = this.#entries[0]) {
      this.#entries.shift();
      this.#present = next.due;
      try {
        next.run();
      } finally {
        this.#present = undefined;
      }
    }
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      this.#runDue();
      const next = this.#entries[0];
      const untilNextMs = next ? (next.due - this.now()) / this.#speed : LONGEST_NAP_MS;
      this.#wakesAt = next?.due ?? Number.POSITIVE_INFINITY;
      this.#nap = new AbortController();
      const napMs = Math.min(Math.max(untilNextMs, SHORTEST_NAP_MS), LONGEST_NAP_MS);
      // A nap is cut short when something earlier is added, the speed changes, or the schedule stops.
      await this.#clock.sleep(napMs, this.#nap.signal).catch(() => undefined);
    }
  }
}

/** Puts an entry after all that are due before it or at the same moment. */
function insert(entries: Entry[], entry: Entry): void {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle]?.due ?? 0) <= entry.due) low = middle + 1;
    else high = middle;
  }
  entries.splice(low, 0, entry);
}
