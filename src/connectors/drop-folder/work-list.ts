import { lstat, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Backoff, longestBackoffMs } from "../../core/backoff.ts";
import type { Clock } from "../../core/clock.ts";
import { Failure } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import { type Claim, isClaimId, type Plan, parseClaim, readPlan } from "./claim.ts";
import { type DecideDeps, decideFile } from "./decide.ts";
import { errnoOf, exists, fingerprint } from "./file-ops.ts";
import { isCommonTrouble, type Pause, wordsOf } from "./pause.ts";
import type { Fate, Publication } from "./publication.ts";

/** While that many claimed files wait for a retry, no more are claimed: the fault is hardly theirs. */
const MOST_WAITING = 10;
/** Decided one after the other, then carried out together, so that they share the syncs. */
const CARRIED_OUT_TOGETHER = 32;
/** A report may be long; those in memory together may not. */
const PROBLEMS_TOGETHER = 2_000;
/** Of a file that can't be taken. */
const RETRY: Backoff = { firstMs: 1_000, maxMs: 300_000 };

/** A claimed file and what is known of it in memory; all that must survive lies in the work folder. */
interface Item {
  readonly claim: Claim;
  /** Undefined until it is known to rest. */
  expected: string | undefined;
  resting: { fingerprint: string; sinceMs: number } | undefined;
  /** False only for what was claimed a moment ago. */
  mayHavePlan: boolean;
  attempts: number;
  /** Monotonic. */
  nextAtMs: number;
  trouble: string | undefined;
}

/** An item whose fate is known. */
type Decided = { readonly item: Item } & (
  | { readonly plan: Plan }
  | { readonly fate: Fate; readonly sha256: string | undefined }
);

/** Tries of a file that may not be read, with pauses of 1, 2, 4 … s between them: a minute. */
const MOST_TRIES = 6;

interface WorkListDeps extends Omit<DecideDeps, "isLastTry"> {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly publication: Publication;
  readonly pause: Pause;
  readonly stableForMs: number;
}

/** The claimed files: worked on in the order in which they were claimed, each until it lies where it belongs. */
export class WorkList {
  readonly #deps: WorkListDeps;
  readonly #items = new Map<string, Item>();

  constructor(deps: WorkListDeps) {
    this.#deps = deps;
  }

  /** What is wrong with a file that can't be taken, for an operator. */
  get trouble(): string | undefined {
    for (const item of this.#items.values()) if (item.trouble) return item.trouble;
    return undefined;
  }

  /** Whether what was claimed has to be done first. Files that had their try may be overtaken, unless there are many. */
  get isBusy(): boolean {
    const items = [...this.#items.values()];
    return items.some((item) => item.attempts === 0) || this.isHeldUp;
  }

  /** Whether enough files wait for a retry that claiming more would only add to them. */
  get isHeldUp(): boolean {
    let waiting = 0;
    for (const item of this.#items.values()) if (item.trouble) waiting += 1;
    return waiting >= MOST_WAITING;
  }

  /** How long until the next file is due, ms, at most `longestMs`. */
  untilNext(longestMs: number): number {
    const nowMs = this.#deps.clock.monotonic();
    let soonestMs = longestMs;
    for (const item of this.#items.values()) soonestMs = Math.min(soonestMs, item.nextAtMs - nowMs);
    return Math.max(0, soonestMs);
  }

  /** Takes a claim on. `expected` is the fingerprint with which it was found to be whole, if it was. */
  add(claim: Claim, expected: string | undefined): void {
    if (this.#items.has(claim.id)) return;
    const mayHavePlan = expected === undefined;
    const start = { resting: undefined, attempts: 0, nextAtMs: 0, trouble: undefined };
    this.#items.set(claim.id, { claim, expected, mayHavePlan, ...start });
  }

  /** Takes on what lies in a work folder, and finishes what is only half moved. Returns the claims. */
  async recover(folder: string): Promise<Claim[]> {
    const names = (await readdir(folder)).sort();
    const claims = names.flatMap((name) => parseClaim(folder, name) ?? []);
    for (const claim of claims) this.add(claim, undefined);
    const ids = new Set(names.filter((name) => !parseClaim(folder, name)).map((name) => name.slice(0, 26)));
    for (const id of ids) {
      if (!isClaimId(id) || this.#items.has(id)) continue;
      const plan = await readPlan({ folder, id });
      if (plan) await this.#deps.publication.carryOut({ folder, id }, undefined, plan);
      else
        for (const name of names)
          if (name.startsWith(`${id}.`)) await rm(join(folder, name), { force: true });
    }
    await this.#deps.publication.flush();
    return claims;
  }

  /** Works on everything that is due. Throws nothing: what fails is tried again, alone or after a pause. */
  async run(): Promise<void> {
    const { clock, pause, signal } = this.#deps;
    // Looked at once: a file that comes to rest while the loop runs must not overtake those before it.
    const nowMs = clock.monotonic();
    let group: Decided[] = [];
    // A file is taken by one configuration from its first byte to its closing.
    let release = await this.#hold();
    const finishGroup = async () => {
      const decided = group;
      group = [];
      await this.#carryOut(decided);
    };
    try {
      for (const item of [...this.#items.values()]) {
        if (signal.aborted || pause.leftMs > 0) break;
        if (item.nextAtMs > nowMs) continue;
        if (group.length === 0) {
          release();
          release = await this.#hold();
        }
        try {
          // The ledger must have closed a file before it is asked whether another one has the same bytes.
          const beforeOpening = (sha256: string) =>
            group.some((decided) => "fate" in decided && decided.sha256 === sha256)
              ? finishGroup()
              : undefined;
          const decided = await this.#decide(item, beforeOpening);
          if (decided) group.push(decided);
        } catch (error) {
          await this.#afterError(item, error);
        }
        if (group.length >= CARRIED_OUT_TOGETHER || problemsIn(group) > PROBLEMS_TOGETHER)
          await finishGroup();
      }
      await finishGroup();
    } finally {
      release();
    }
  }

  async #hold(): Promise<() => void> {
    return (await this.#deps.intake.hold?.()) ?? (() => {});
  }

  /** One try at a file. Undefined while it has yet to come to rest. */
  async #decide(
    item: Item,
    beforeOpening: (sha256: string) => Promise<void> | undefined,
  ): Promise<Decided | undefined> {
    const { claim } = item;
    const plan = item.mayHavePlan ? await readPlan(claim) : undefined;
    item.mayHavePlan = true;
    if (plan) return { item, plan };
    if (!(await this.#isResting(item))) return undefined;
    let sha256: string | undefined;
    const fate = await decideFile(claim, item.expected ?? "", {
      ...this.#deps,
      isLastTry: item.attempts >= MOST_TRIES,
      beforeOpening: async (digest) => {
        sha256 = digest;
        await beforeOpening(digest);
      },
    });
    return { item, fate, sha256 };
  }

  async #carryOut(group: readonly Decided[]): Promise<void> {
    const { publication, pause, logger } = this.#deps;
    const plans = await Promise.all(
      group.map(async (decided) => {
        try {
          if ("plan" in decided) return decided.plan;
          const { fate } = decided;
          const plan = await publication.writePlan(decided.item.claim, fate);
          const { report, folder } = fate;
          const words = { claim: decided.item.claim.id, folder, result: report?.result ?? "taken" };
          logger.info({ ...words, counts: report?.counts }, "file read");
          return plan;
        } catch (error) {
          await this.#afterError(decided.item, error);
          return undefined;
        }
      }),
    );
    try {
      await publication.syncPlans();
    } catch (error) {
      pause.begin(error);
      return;
    }
    await Promise.all(
      group.map(async ({ item }, i) => {
        const plan = plans[i];
        if (!plan) return;
        try {
          await publication.carryOut(item.claim, item.claim.path, plan);
          this.#items.delete(item.claim.id);
          pause.end();
        } catch (error) {
          await this.#afterError(item, error);
        }
      }),
    );
    try {
      await publication.flush();
    } catch (error) {
      pause.begin(error);
    }
  }

  /** A file that was found in the work folder, or changed there, has to rest there: its writer may still hold it. */
  async #isResting(item: Item): Promise<boolean> {
    if (item.expected !== undefined) return true;
    const nowMs = this.#deps.clock.monotonic();
    const seen = fingerprint(await lstat(item.claim.path, { bigint: true }));
    if (item.resting?.fingerprint !== seen) {
      // One that keeps changing must not hold up those that came after it.
      if (item.resting) item.attempts += 1;
      item.resting = { fingerprint: seen, sinceMs: nowMs };
    }
    item.nextAtMs = item.resting.sinceMs + this.#deps.stableForMs;
    if (nowMs < item.nextAtMs) return false;
    item.expected = seen;
    return true;
  }

  async #afterError(item: Item, error: unknown): Promise<void> {
    const { clock, logger, pause, signal } = this.#deps;
    const claim = item.claim.id;
    if (signal.aborted) return;
    item.attempts += 1;
    if (errnoOf(error) === "ENOENT" && !(await exists(item.claim.path).catch(() => true))) {
      logger.warn(
        { workId: claim },
        "a file is gone from the work folder: another daemon or a person took it",
      );
      this.#items.delete(claim);
    } else if (error instanceof Failure && error.code === "FILE_CHANGED") {
      logger.info(
        { workId: claim, code: error.code },
        "a file is still being written; waiting for it to rest",
      );
      item.expected = undefined;
      item.resting = undefined;
      item.nextAtMs = clock.monotonic();
    } else if (isCommonTrouble(error)) {
      pause.begin(error);
    } else {
      item.nextAtMs = clock.monotonic() + longestBackoffMs(item.attempts, RETRY);
      item.trouble = `file ${claim} in ${item.claim.folder} can't be taken (${wordsOf(error)}); trying again`;
      logger.error(
        { workId: claim, attempts: item.attempts, err: error },
        "a file can't be taken; trying again",
      );
    }
  }
}

function problemsIn(group: readonly Decided[]): number {
  return group.reduce(
    (sum, decided) => sum + ("fate" in decided ? (decided.fate.report?.problems.length ?? 0) : 0),
    0,
  );
}
