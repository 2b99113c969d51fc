import { type ChildProcess, fork } from "node:child_process";
import { appendFile, chmod, mkdtemp, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import pg from "pg";
import { pino } from "pino";
import { systemClock } from "../../src/core/clock.ts";
import {
  type EmbeddedConnection,
  startEmbeddedPostgres,
} from "../../src/ledger/embedded/embedded-postgres.ts";
import { FOUND } from "./found.ts";
import { HELD } from "./held.ts";
import { Histories } from "./history/histories.ts";
import type { HistoryEnd } from "./history/history.ts";
import { SimulatedLedger } from "./ledger/ledger.ts";
import { type Plan, plans } from "./plan.ts";

const SAY_EVERY_MS = 30_000;

/** A history that went wrong, and the shortest one of its kind. */
export interface Failing {
  /** The seed, or the name of a kept plan. */
  readonly source: string;
  readonly troubles: readonly string[];
  readonly plan: Plan;
  readonly story: readonly string[];
}

/** What histories came by. */
export interface Tally {
  histories: number;
  steps: number;
  simulatedMs: number;
  readonly covered: Map<string, number>;
  readonly failing: Failing[];
}

export const newTally = (): Tally => ({
  histories: 0,
  steps: 0,
  simulatedMs: 0,
  covered: new Map(),
  failing: [],
});

/** The plan of a seed. */
export function planOf(seed: number): Plan {
  return fc.sample(plans, { seed, numRuns: 1 })[0] as Plan;
}

/** A history that is to be run: of a seed, or of a plan that is kept. */
interface Chosen {
  readonly source: string;
  readonly plan: Plan;
  readonly seed?: number;
}

export const ofSeed = (seed: number): Chosen => ({ source: `seed ${seed}`, plan: planOf(seed), seed });

/** Runs a history; one of a seed that goes wrong is shrunk to a short one that goes wrong in the same way. */
export async function runChosen(
  histories: Histories,
  chosen: Chosen,
  tally: Tally,
  shrinks: number,
): Promise<HistoryEnd> {
  const end = await histories.run(chosen.plan);
  tally.histories += 1;
  tally.steps += end.steps;
  tally.simulatedMs += end.simulatedMs;
  for (const [what, times] of end.covered) tally.covered.set(what, (tally.covered.get(what) ?? 0) + times);
  if (end.troubles.length > 0) tally.failing.push(await shrink(histories, chosen, end, shrinks));
  return end;
}

/** The kind of a trouble: its words without numbers. */
const kindOf = (trouble: string) => trouble.replaceAll(/\d+/g, "").slice(0, 40);

async function shrink(
  histories: Histories,
  { source, plan, seed }: Chosen,
  first: HistoryEnd,
  most: number,
): Promise<Failing> {
  const kinds = new Set(first.troubles.map(kindOf));
  let shortest: Failing = { source, troubles: first.troubles, plan, story: first.story };
  let runs = 0;
  const isAlike = fc.asyncProperty(plans, async (smaller) => {
    if (runs >= most) return true;
    runs += 1;
    const { troubles, story } = await histories.run(smaller);
    if (!troubles.some((each) => kinds.has(kindOf(each)))) return true;
    shortest = { source, troubles, plan: smaller, story };
    return false;
  });
  if (most > 0 && seed !== undefined) await fc.check(isAlike, { seed, numRuns: 1 });
  return shortest;
}

/** A failing history, to read. */
export function tell({ source, troubles, plan, story }: Failing): string {
  const told = story.map((each) => `  ${each}`).join("\n");
  return `${source}: ${troubles.join("; ")}\n${JSON.stringify(plan)}\n${told}\n`;
}

interface RunOptions {
  readonly from: number;
  readonly seeds: number;
  readonly processes?: number | undefined;
  /** Whether the plans that are kept come first. */
  readonly hasKept: boolean;
  readonly isTold: boolean;
  /** Whether the first one that goes wrong ends the run. */
  readonly isUntilFailure: boolean;
  /** By how many histories a failing one is shrunk at most. */
  readonly shrinks: number;
}

/** What a process of the run is given, and what it gives back now and then. */
interface Share {
  readonly connection: EmbeddedConnection;
  readonly from: number;
  readonly to: number;
  readonly step: number;
  readonly options: RunOptions;
}
interface Report extends Omit<Tally, "covered"> {
  readonly covered: readonly (readonly [string, number])[];
}

/** Runs kept plans and seeds in several processes on a server of their own, and prints what came of them. Gives the exit status. */
export async function runSeeds(options: RunOptions): Promise<number> {
  const { from, seeds, processes, hasKept } = options;
  const share = process.env.SIMULATION_SHARE;
  if (share !== undefined) return runShare(JSON.parse(share) as Share);
  const startedAt = performance.now();
  const { connection, stop } = await startServer();
  const total = newTally();
  const all = seeds + (hasKept ? HELD.length + FOUND.length : 0);
  const count = Math.min(all, processes ?? availableParallelism());
  const say = () => {
    const seconds = (performance.now() - startedAt) / 1_000;
    const { histories, failing } = total;
    process.stderr.write(
      `${histories} histories in ${seconds.toFixed(0)} s, ${(histories / seconds).toFixed(1)} a second; ${failing.length} went wrong\n`,
    );
  };
  const saying = setInterval(say, SAY_EVERY_MS);
  const children: ChildProcess[] = [];
  // Each ends after the history that it is at, so that a run that is cut short says what it did.
  const onStop = () => {
    for (const child of children) if (child.connected) child.send("stop");
  };
  process.once("SIGINT", onStop).once("SIGTERM", onStop);
  try {
    await Promise.all(
      Array.from({ length: count }, async (_, index) => {
        const database = `simulation_${index}`;
        await onServer(connection, `create database ${database} template template0`);
        const own: Share = {
          ...{ connection: { ...connection, database }, from: from + index, to: from + seeds, step: count },
          options,
        };
        await new Promise<void>((resolve, reject) => {
          const child = fork(new URL("main.ts", import.meta.url), {
            env: { ...process.env, SIMULATION_SHARE: JSON.stringify(own) },
          });
          children.push(child);
          child.on("message", (report: Report) => {
            add(total, report);
            for (const each of report.failing) process.stdout.write(`${tell(each)}\n`);
            if (options.isUntilFailure && report.failing.length > 0) onStop();
          });
          child.on("exit", (code) =>
            code === 0 ? resolve() : reject(new Error(`a process ended with ${code}`)),
          );
        });
      }),
    );
  } finally {
    clearInterval(saying);
    await stop();
  }
  for (const [what, times] of [...total.covered].sort())
    process.stdout.write(`${String(times).padStart(9)}  ${what}\n`);
  say();
  process.stdout.write(
    `seeds from ${from}, ${total.histories} of ${all} histories: ${total.failing.length} went wrong${total.failing.length > 0 ? ` (${total.failing.map(({ source }) => source).join(", ")})` : ""}; ${(total.simulatedMs / 3_600_000).toFixed(1)} simulated hours, ${total.steps} steps\n`,
  );
  return total.failing.length === 0 ? 0 : 1;
}

function add(total: Tally, report: Report): void {
  total.histories += report.histories;
  total.steps += report.steps;
  total.simulatedMs += report.simulatedMs;
  total.failing.push(...report.failing);
  for (const [what, times] of report.covered) total.covered.set(what, (total.covered.get(what) ?? 0) + times);
}

async function runShare({ connection, from, to, step, options }: Share): Promise<number> {
  const histories = new Histories(await SimulatedLedger.open(connection));
  let tally = newTally();
  let saidAt = performance.now();
  const say = () => {
    process.send?.({ ...tally, covered: [...tally.covered] });
    tally = newTally();
    saidAt = performance.now();
  };
  let isStopped = false;
  process.once("message", () => {
    isStopped = true;
  });
  // The terminal tells all processes of a run; the first one tells the others when to end.
  process.on("SIGINT", () => undefined);
  process.once("disconnect", () => process.exit(1));
  for (const chosen of shareOf({ from, to, step, options })) {
    if (isStopped) break;
    const { story } = await runChosen(histories, chosen, tally, options.shrinks);
    if (options.isTold) process.stdout.write(`${chosen.source}\n${story.join("\n")}\n`);
    const isOver = options.isUntilFailure && tally.failing.length > 0;
    if (tally.failing.length > 0 || performance.now() - saidAt > 5_000) say();
    if (isOver) break;
  }
  say();
  await histories.close();
  process.removeAllListeners("disconnect");
  process.disconnect?.();
  return 0;
}

/** A share's histories, in turn: kept plans before seeds. */
function* shareOf({ from, to, step, options }: Omit<Share, "connection">): Generator<Chosen> {
  for (const [nth, { what, plan }] of options.hasKept ? [...HELD, ...FOUND].entries() : [])
    if (nth % step === from % step) yield { source: what, plan };
  for (let seed = from; seed < to; seed += step) yield ofSeed(seed);
}

/** What a server does for others than whoever has it, or for what comes after it: nobody looks at it, and it is thrown away. */
const UNTROUBLED = [
  ...["fsync = off", "full_page_writes = off", "synchronous_commit = off", "wal_level = minimal"],
  ...["max_wal_senders = 0", "max_wal_size = 8GB", "checkpoint_timeout = 1d", "bgwriter_lru_maxpages = 0"],
  ...["autovacuum = off", "track_activities = off", "track_counts = off", "update_process_title = off"],
];

/** A server of the run's own, which need not wait for a disk: nothing is ever committed there. */
async function startServer(): Promise<{ connection: EmbeddedConnection; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "simulation-server-"));
  await chmod(folder, 0o711);
  const logger = pino({ level: "silent" });
  const start = () => startEmbeddedPostgres({ dataDir: join(folder, "data"), logger, clock: systemClock });
  await (await start()).stop();
  await appendFile(
    join(folder, "data/postgres/data/postgresql.auto.conf"),
    UNTROUBLED.map((setting) => `${setting}\n`).join(""),
  );
  const server = await start();
  return {
    connection: server.connection,
    stop: async () => {
      await server.stop();
      await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
    },
  };
}

async function onServer(connection: EmbeddedConnection, sql: string): Promise<void> {
  const client = new pg.Client(connection);
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
