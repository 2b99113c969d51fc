import { AsyncLocalStorage } from "node:async_hooks";
import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
import type { Clock } from "../../src/core/clock.ts";
import { EVERY_MS } from "../../src/core/every.ts";

/** Whoever takes steps: a daemon's run, the network, the lab, the service, a person. */
export interface Actor {
  readonly name: string;
  /** The steps of one that is frozen wait until it wakes up; those of one that is dead never come. */
  state: "up" | "frozen" | "dead";
}

/** What is to happen at a moment. Cancelled ones are left out. */
interface Step {
  at: number;
  readonly nth: number;
  readonly actor: Actor;
  readonly run: () => void | Promise<void>;
  /** One that comes again and again and says nothing by itself, such as a heartbeat. */
  readonly isIdle: boolean;
  isCancelled: boolean;
}

/** When every history begins, ms since the epoch. */
export const BEGINNING = Date.UTC(2026, 2, 1, 8);

/** Time is leapt over in pieces of at least so much, up to so long before the next thing. */
const LEAST_LEAP_MS = 600;
const BEFORE_MS = 100;
/** None is leapt over before every daemon has looked again at what was done, and said that it lives. */
const SEEN_AFTER_MS = EVERY_MS.heartbeat + 100;
/** A daemon that keeps itself busy without time going by would never end. */
const MOST_STEPS = 20_000;

/**
 * Time, and what happens in it, one step after the other: the next one is taken once nothing of the former is under way.
 * All chance is drawn from one seed, so a history is the same each time.
 */
export class World {
  readonly log: string[] = [];
  now = BEGINNING;
  /** How much of the time was leapt over, since nothing would have happened in it. */
  leaptMs = 0;
  steps = 0;
  /** Asked when nothing but idle steps is near: since and until when nothing happens anywhere else; and told of a leap. */
  quiet: { since(): number; until(): Promise<number>; leap(ms: number): Promise<void> } | undefined;
  #steps: Step[] = [];
  #nth = 0;
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** In [0, 1). */
  readonly random = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };

  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number {
    return least + Math.floor(this.random() * (most - least + 1));
  }

  pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.random() * from.length)] as T;
  }

  /** Seconds since the beginning. */
  get seconds(): string {
    return ((this.now - BEGINNING) / 1_000).toFixed(3);
  }

  say(who: string, what: string): void {
    this.log.push(`${this.seconds.padStart(9)} s  ${who}: ${what}`);
  }

  /** Has something happen later; gives what takes it back. */
  later(
    actor: Actor,
    ms: number,
    run: () => void | Promise<void>,
    { isIdle = false }: { readonly isIdle?: boolean } = {},
  ): () => void {
    this.#nth += 1;
    const step: Step = {
      at: this.now + Math.ceil(ms),
      nth: this.#nth,
      actor,
      run,
      isIdle,
      isCancelled: false,
    };
    this.#steps.push(step);
    return () => {
      step.isCancelled = true;
    };
  }

  /** The same as something to wait for. */
  sleep(actor: Actor, ms: number, signal?: AbortSignal, isIdle = false): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        cancel();
        reject(signal?.reason);
      };
      const done = () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      const cancel = this.later(actor, Math.max(0, ms), done, { isIdle });
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  /** The time by which the next step that says something is due; infinite where only idle ones are left. */
  get #nextAt(): number {
    let first = Number.POSITIVE_INFINITY;
    for (const { isIdle, isCancelled, actor, at } of this.#steps)
      if (!isIdle && !isCancelled && actor.state === "up" && at < first) first = at;
    return first;
  }

  /** Takes steps until `until`, or until `isOver` is true. */
  async run(until: number, isOver: () => boolean = () => false): Promise<void> {
    await settle();
    while (!isOver()) {
      await this.#leap(until);
      const next = this.#take(until);
      if (next === undefined) break;
      this.now = Math.max(this.now, next.at);
      this.steps += 1;
      if (this.steps > MOST_STEPS) throw new Error("the history does not end: a daemon keeps itself busy");
      await atWork.run({ world: this, actor: next.actor }, () => next.run());
      await settle();
    }
    if (!isOver()) this.now = Math.max(this.now, until);
  }

  /** Leaves out time in which daemons would only look again and again and find nothing. */
  async #leap(until: number): Promise<void> {
    if (this.quiet === undefined || this.now < this.quiet.since() + SEEN_AFTER_MS) return;
    const near = Math.min(this.#nextAt, until);
    if (near - this.now < LEAST_LEAP_MS) return;
    const ms = Math.floor(Math.min(near, await this.quiet.until()) - this.now - BEFORE_MS);
    if (ms < LEAST_LEAP_MS - BEFORE_MS) return;
    this.now += ms;
    this.leaptMs += ms;
    for (const step of this.#steps) if (step.isIdle) step.at += ms;
    await this.quiet.leap(ms);
  }

  #take(until: number): Step | undefined {
    let first: Step | undefined;
    let rest = 0;
    for (const step of this.#steps) {
      if (step.isCancelled || step.actor.state === "dead") continue;
      this.#steps[rest++] = step;
      if (step.actor.state !== "up" || step.at > until) continue;
      if (first === undefined || step.at < first.at || (step.at === first.at && step.nth < first.nth))
        first = step;
    }
    this.#steps.length = rest;
    if (first) this.#steps.splice(this.#steps.indexOf(first), 1);
    return first;
  }
}

/** Whose step is under way, for what asks for no clock that it is given. */
const atWork = new AsyncLocalStorage<{ readonly world: World; readonly actor: Actor }>();
const CANCEL = Symbol("cancel");

/** How many within a step wait for a turn of the event loop. */
let turnsWaitedFor = 0;
const { setImmediate: realImmediate } = globalThis;
const nextTurn = () => new Promise<void>((resolve) => realImmediate(resolve));

/** Has timers that are set within a step go by the simulated time, until the returned function is called. */
export function replaceTimers(): () => void {
  const { setTimeout: realSet, clearTimeout: realClear } = globalThis;
  const { setImmediate: realPromise } = timers;
  const set = (run: (...given: unknown[]) => void, ms = 0, ...given: unknown[]) => {
    const own = atWork.getStore();
    if (own === undefined) return realSet(run, ms, ...given);
    const cancel = own.world.later(own.actor, ms, () => run(...given), { isIdle: true });
    const timer = { [CANCEL]: cancel, ref: () => timer, unref: () => timer, hasRef: () => false };
    return timer;
  };
  const clear = (timer: unknown) => {
    const own = timer as { readonly [CANCEL]?: () => void } | undefined;
    if (own?.[CANCEL]) own[CANCEL]();
    else realClear(timer as NodeJS.Timeout);
  };
  const immediate = (run: (...given: unknown[]) => void, ...given: unknown[]) => {
    turnsWaitedFor += 1;
    return realImmediate(() => {
      turnsWaitedFor -= 1;
      run(...given);
    });
  };
  Object.assign(globalThis, { setTimeout: set, clearTimeout: clear, setImmediate: immediate });
  timers.setImmediate = (async (value?: unknown) => {
    await new Promise((resolve) => immediate(resolve));
    return value;
  }) as typeof realPromise;
  syncBuiltinESMExports();
  return () => {
    Object.assign(globalThis, { setTimeout: realSet, clearTimeout: realClear, setImmediate: realImmediate });
    timers.setImmediate = realPromise;
    syncBuiltinESMExports();
  };
}

/**
 * Waits until whatever a step set going has come to a stand: it waits for another step, or is over. What waits for another turn of
 * the event loop gets its turn before this goes on.
 */
async function settle(): Promise<void> {
  do await nextTurn();
  while (turnsWaitedFor > 0);
}

/** Sleeps of so many ms are between two looks of something that looks again and again. */
const LOOKS = new Set<number>([EVERY_MS.due, EVERY_MS.serviceTry, EVERY_MS.auditEnd]);

/** A daemon's own clock: its wall time may be another one than the world's, and jump. */
export class SimulatedClock implements Clock {
  readonly #world: World;
  readonly #actor: Actor;
  readonly #wall: { skewMs: number };

  constructor(world: World, actor: Actor, wall: { skewMs: number }) {
    this.#world = world;
    this.#actor = actor;
    this.#wall = wall;
  }

  now(): number {
    return this.#world.now + this.#wall.skewMs;
  }

  monotonic(): number {
    return this.#world.now - BEGINNING + 1_000_000;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    // A timer is no finer than this.
    return this.#world.sleep(this.#actor, Math.max(1, ms), signal, LOOKS.has(ms));
  }

  /** The same for heartbeats, which go on in the time that is leapt over. */
  beating(): Clock {
    return {
      now: () => this.now() - this.#world.leaptMs,
      monotonic: () => this.monotonic() - this.#world.leaptMs,
      sleep: (ms, signal) => this.#world.sleep(this.#actor, ms, signal, true),
    };
  }
}
