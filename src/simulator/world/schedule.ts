import type { Clock } from "../../core/clock.ts";

interface Entry {
  readonly due: number;
  /** Entries due at the same moment run in the order in which they were added. */
  readonly turn: number;
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
  readonly #heap: Entry[] = [];
  #speed: number;
  #turn = 0;
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
    return this.#heap.length;
  }

  /** Runs something after so much simulated time. */
  add(afterMs: number, run: () => void): void {
    const due = (this.#present ?? this.now()) + afterMs;
    this.#turn += 1;
    push(this.#heap, { due, turn: this.#turn, run });
    if (due < this.#wakesAt) this.#nap?.abort();
  }

  /** Forgets everything that waits. */
  clear(): void {
    this.#heap.length = 0;
  }

  setSpeed(speed: number): void {
    this.#base = this.now();
    this.#baseAt = this.#clock.monotonic();
    this.#speed = speed;
    this.#nap?.abort();
  }

  /** Lets so much simulated time pass at once, and runs what falls due in it, each in its turn. */
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
    for (let next = this.#heap[0]; next && next.due <= this.now(); next = this.#heap[0]) {
      pop(this.#heap);
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
      const next = this.#heap[0];
      const untilNextMs = next ? (next.due - this.now()) / this.#speed : LONGEST_NAP_MS;
      this.#wakesAt = next?.due ?? Number.POSITIVE_INFINITY;
      this.#nap = new AbortController();
      const napMs = Math.min(Math.max(untilNextMs, SHORTEST_NAP_MS), LONGEST_NAP_MS);
      // A nap is cut short when something earlier is added, the speed changes, or the schedule stops.
      await this.#clock.sleep(napMs, this.#nap.signal).catch(() => undefined);
    }
  }
}

function isBefore(a: Entry, b: Entry): boolean {
  return a.due < b.due || (a.due === b.due && a.turn < b.turn);
}

/** Adds to a heap whose first entry is the earliest. */
function push(heap: Entry[], entry: Entry): void {
  let at = heap.length;
  while (at > 0) {
    const parentAt = (at - 1) >>> 1;
    const parent = heap[parentAt];
    if (!parent || !isBefore(entry, parent)) break;
    heap[at] = parent;
    at = parentAt;
  }
  heap[at] = entry;
}

/** Takes the first entry off a heap. */
function pop(heap: Entry[]): void {
  const last = heap.pop();
  if (!last || heap.length === 0) return;
  let at = 0;
  for (;;) {
    let childAt = 2 * at + 1;
    let child = heap[childAt];
    const right = heap[childAt + 1];
    if (child && right && isBefore(right, child)) {
      childAt += 1;
      child = right;
    }
    if (!child || !isBefore(child, last)) break;
    heap[at] = child;
    at = childAt;
  }
  heap[at] = last;
}
