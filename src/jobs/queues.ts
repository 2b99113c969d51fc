import { randomUUID } from "node:crypto";
import { Queue, type QueueOptions, runMigrations, Worker, type WorkerOptions } from "bullmq";
import type pg from "pg";
import { EVERY_MS } from "../core/every.ts";
import { codeOf, Failure } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";
import { SURE_FOR_MS } from "../ledger/workers/alive.ts";
import {
  type CreateBackend,
  openPlace,
  type QueueBackend,
  type QueueRisk,
  serverWords,
  sparing,
} from "./queue-place.ts";
import { type QueueRefusal, refusalOf } from "./queue-refusal.ts";

/** The queues and what their jobs carry: ids only, never a patient's values. */
export interface JobData {
  /** A wake-up, one of a few: the worker takes what is due. */
  submit: { readonly nth: number };
  track: { readonly facilityId: number };
  deliver: { readonly connector: string };
}
export type QueueName = keyof JobData;
export const QUEUE_NAMES = ["submit", "track", "deliver"] as const satisfies readonly QueueName[];

/** A job to add. The same id again, while the first is still there, adds nothing. */
export interface NewJob<Name extends QueueName> {
  readonly jobId: string;
  readonly data: JobData[Name];
}

/** A job that ran, for metrics. */
export interface FinishedJob {
  readonly queue: QueueName;
  /** A job that failed has an error that nobody expected: what is expected to fail is recorded, and the job is done. */
  readonly outcome: "done" | "failed";
  readonly ms: number;
}

/** A job as an operator sees it. */
export interface JobView {
  readonly queue: QueueName;
  readonly jobId: string;
  readonly state: string;
  readonly data: unknown;
  readonly attempts: number;
  readonly addedAt: Date;
}

/** Our use of BullMQ, and the only place that knows it. */
export interface JobQueues {
  /** @throws Failure QUEUE_UNAVAILABLE when the queue doesn't answer in time; the jobs may or may not be there. */
  add<Name extends QueueName>(queue: Name, jobs: readonly NewJob<Name>[]): Promise<void>;
  /** Which of these jobs of the submit queue wait or run. */
  findExisting(jobIds: readonly string[]): Promise<Set<string>>;
  /** How many jobs are in each state, by queue. */
  counts(): Promise<Record<QueueName, Record<string, number>>>;
  /** Jobs in any state, at most `limit` a queue. */
  list(queue: QueueName, limit: number): Promise<JobView[]>;
  /**
   * Begins to run a queue's jobs; of the queue `deliver` as many at once for each connector. `run` records every failure
   * itself; what it still throws is logged.
   *
   * @throws Failure QUEUE_UNAVAILABLE when the queue's server can't be reached.
   */
  work<Name extends QueueName>(
    queue: Name,
    concurrency: number,
    run: (data: JobData[Name], signal: AbortSignal) => Promise<void>,
  ): Promise<void>;
  /** Has this process take a queue's jobs or leave them to others. Those in hand go on, and one may come that was just given out. */
  take(queue: QueueName, isTaking: boolean): void;
  /** Settings of the server under which jobs may get lost. @throws Failure QUEUE_UNAVAILABLE */
  findRisks(): Promise<QueueRisk[]>;
  /**
   * Has a job of its own go all the way that jobs go, and leaves nothing of it.
   *
   * @throws Failure QUEUE_UNAVAILABLE that says what the server refuses.
   */
  tryJob(): Promise<void>;
  /** Why nothing can be handed out right now. */
  readonly trouble: string | undefined;
  /** Stops taking jobs, waits for those in hand, and gives up on them after the deadline. */
  close(deadlineMs: number): Promise<void>;
}

/** The queue must answer within this; neither of ioredis's own settings bounds a lost reply. */
const ANSWER_WITHIN_MS = 15_000;
/** When the queues are opened nothing is under way, and whoever waits is to hear soon that the server is away. */
const OPEN_WITHIN_MS = 5_000;
/** For how long a failure to add jobs is trouble when no more were added, ms: others may have done what was to be done. */
const FAILURE_LASTS_MS = 30_000;
/** Jobs whose process died are run again however often that happens: the ledger's counts decide when to stop. */
const STALLED_AS_OFTEN_AS_IT_TAKES = 1_000_000;
/** How long a worker waits before it tries an unreachable server again; BullMQ's own 15 s would be added to each outage. */
const RETRY_CONNECTION_MS = 1_000;
/** Many connections have the same trouble; it is logged once in this time, ms. */
const SAY_AGAIN_MS = 10_000;
/** SQLSTATE of a missing table, function or schema: somebody dropped the queues' schema. */
const SCHEMA_GONE = new Set(["42P01", "42883", "3F000"]);
/** After how long the job that tries the way is due, and within what it has to be done, ms. */
const TRIED_AFTER_MS = 100;
const TRIED_WITHIN_MS = 10_000;
/** What a job that has to stop gets to end in. */
const AFTER_ABORT_MS = 2_000;
/** What is being worked on stands first where a list is cut. */
const JOB_STATES = ["active", "waiting", "delayed", "prioritized", "completed", "failed"] as const;

/**
 * Opens the queues, and creates or updates their tables where PostgreSQL keeps them. BullMQ has a queue `deliver-…` for each
 * of the connectors, so that no daemon is given the results of a connector that it doesn't have.
 *
 * @param onFinished is called with each job that ran; must not throw
 * @throws Failure QUEUE_UNAVAILABLE when the server can't be reached.
 */
export async function openQueues(
  backend: QueueBackend,
  connectors: readonly string[],
  logger: Logger,
  onFinished: (job: FinishedJob) => void = () => {},
): Promise<JobQueues> {
  const server = serverWords(backend);
  if (backend.kind === "postgres") await reached(migrate(backend.pool), server);
  /** What the server refused last, and when; none once it took something. */
  let refused: { readonly refusal: QueueRefusal; readonly at: number } | undefined;
  const onReply = (error: unknown) => {
    const refusal = refusalOf(error);
    if (refusal !== undefined) refused = { refusal, at: performance.now() };
  };
  const lastRefusal = () =>
    refused !== undefined && performance.now() - refused.at < FAILURE_LASTS_MS ? refused.refusal : undefined;
  /** With what the server refused, where its silence or its error is for that. */
  const explained = async <T>(work: Promise<T>): Promise<T> => {
    try {
      return await work;
    } catch (error) {
      onReply(error);
      const refusal = refusalOf(error) ?? (error instanceof Failure ? lastRefusal() : undefined);
      if (refusal === undefined)
        throw isSilence(error) ? new Failure("QUEUE_UNAVAILABLE", `${server} does not answer`) : error;
      const { hint } = refusal;
      throw new Failure("QUEUE_UNAVAILABLE", { message: refusedWords(backend, refusal), hint, cause: error });
    }
  };
  const place = openPlace(backend, onReply);
  /** When this daemon last gave a queue jobs, or asked for some there. */
  const awaited = new Map<string, number>();
  const createBackend = sparing(place.backend as CreateBackend, {
    monotonic: () => performance.now(),
    awaitedAt: (name) => awaited.get(name),
  });
  const said = { message: "", at: Number.NEGATIVE_INFINITY };
  const onError = (error: Error) => {
    onReply(error);
    const at = performance.now();
    if (error.message === said.message && at - said.at < SAY_AGAIN_MS) return;
    Object.assign(said, { message: error.message, at });
    const refusal = refusalOf(error);
    logger.warn(
      { err: error, ...(refusal && { refused: refusal.why, hint: refusal.hint }) },
      "the job queue has trouble",
    );
  };
  const create = (name: string, more: Partial<QueueOptions> = {}): Queue => {
    const queue = new Queue(
      name,
      {
        ...place.options,
        skipMetasUpdate: backend.kind === "redis" && backend.isTrial,
        defaultJobOptions: { removeOnComplete: true, removeOnFail: true, attempts: 1 },
        ...more,
      } as QueueOptions,
      createBackend as never,
    );
    queue.on("error", onError);
    return queue as Queue;
  };
  const queuesOf: Readonly<Record<QueueName, ReadonlyMap<string, Queue>>> = {
    submit: new Map([["submit", create("submit")]]),
    track: new Map([["track", create("track")]]),
    deliver: new Map(connectors.map((connector) => [connector, create(`deliver-${connector}`)])),
  };
  const all = QUEUE_NAMES.flatMap((name) => [...queuesOf[name].values()]);
  try {
    await explained(Promise.all(all.map((each) => ready(each, server))));
  } catch (error) {
    const state = place.state();
    place.close();
    if (!isSilence(error)) throw error;
    if (state === "away")
      throw new Failure("QUEUE_UNAVAILABLE", { message: `${server} can't be reached`, hint: AWAY_HINT });
    if (state === "up") throw error;
    throw new Failure("QUEUE_UNAVAILABLE", {
      message: `${server} ${NOT_READY}`,
      hint: "Wait until it has loaded its data, then start again; its log shows the progress. No order is lost.",
    });
  }
  const workers: { readonly name: QueueName; readonly worker: Worker }[] = [];
  const stopping = new AbortController();
  let failedAt = Number.NEGATIVE_INFINITY;
  const repaired = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (backend.kind !== "postgres" || !isSchemaGone(error)) throw error;
      logger.warn("the job queue's tables are gone; they are made again");
      await migrate(backend.pool);
      return await work();
    }
  };

  return {
    add: async (name, jobs) => {
      const jobsByKey = Map.groupBy(jobs, ({ data }) => ("connector" in data ? data.connector : name));
      try {
        for (const [key, ofQueue] of jobsByKey) {
          const queue = queuesOf[name].get(key);
          if (!queue) throw new RangeError(`connector ${key} has no queue`);
          awaited.set(queue.name, performance.now());
          await explained(repaired(() => inTime(addAll(queue, ofQueue, backend.kind === "redis"))));
        }
        if (jobs.length > 0) {
          failedAt = Number.NEGATIVE_INFINITY;
          refused = undefined;
        }
      } catch (error) {
        failedAt = performance.now();
        throw error;
      }
    },
    findExisting: async (jobIds) => {
      const queue = queuesOf.submit.get("submit") as Queue;
      awaited.set(queue.name, performance.now());
      // A job that waits in no list is none, whatever else a server has kept of it.
      const states = await explained(inTime(Promise.all(jobIds.map((jobId) => queue.getJobState(jobId)))));
      return new Set(jobIds.filter((_jobId, at) => states[at] !== "unknown"));
    },
    counts: async () => {
      const countQueue = async (name: QueueName) => {
        const total: Record<string, number> = {};
        const counted = await Promise.all(
          [...queuesOf[name].values()].map((queue) => queue.getJobCounts(...JOB_STATES)),
        );
        for (const counts of counted)
          for (const [state, count] of Object.entries(counts)) total[state] = (total[state] ?? 0) + count;
        return total;
      };
      const [submit, track, deliver] = await explained(
        inTime(Promise.all([countQueue("submit"), countQueue("track"), countQueue("deliver")])),
      );
      return { submit, track, deliver };
    },
    list: async (name, limit) => {
      const asked = [...queuesOf[name].values()].flatMap((queue) =>
        JOB_STATES.map(async (state) =>
          (await queue.getJobs([state], 0, limit - 1)).map((job) => ({
            queue: name,
            jobId: String(job.id),
            state,
            data: job.data as unknown,
            attempts: job.attemptsStarted ?? 0,
            addedAt: new Date(job.timestamp),
          })),
        ),
      );
      return (await explained(inTime(Promise.all(asked)))).flat().slice(0, limit);
    },
    work: async (name, concurrency, run) => {
      const running = new Set<string>();
      for (const queue of queuesOf[name].values()) {
        const worker = new Worker(
          queue.name,
          async (job) => {
            const jobId = String(job.id);
            // A job whose lock ran out, as when this process was stopped for a while, is given out again while it runs; and of
            // a job that a full Redis threw away there may be no more than its id.
            if (running.has(jobId) || !job.name) return;
            running.add(jobId);
            refused = undefined;
            const startedAt = performance.now();
            let outcome: FinishedJob["outcome"] = "done";
            try {
              await run(job.data as never, stopping.signal);
            } catch (error) {
              outcome = "failed";
              if (!stopping.signal.aborted)
                logger.error(
                  { err: error, queue: name, jobId },
                  "a job failed; the ledger will have it done again",
                );
            } finally {
              running.delete(jobId);
              onFinished({ queue: name, outcome, ms: performance.now() - startedAt });
            }
          },
          {
            ...place.options,
            concurrency,
            maxStalledCount: STALLED_AS_OFTEN_AS_IT_TAKES,
            // A job whose worker died, or whose end could not be noted because the server was away just then, is given out again once
            // its lock has run out and two looks for stalled jobs have seen it: after 6.5 s at most. Until then no job of the same id is
            // taken in. Whose work it is, the ledger says.
            lockDuration: SURE_FOR_MS,
            stalledInterval: EVERY_MS.stalledJobs,
            runRetryDelay: RETRY_CONNECTION_MS,
            removeOnComplete: { count: 0 },
            removeOnFail: { count: 0 },
            autorun: false,
          } as WorkerOptions,
          createBackend as never,
        );
        worker.on("error", onError);
        workers.push({ name, worker: worker as Worker });
        // A worker that starts before its connection is ready remembers the failure for good and spins on it.
        await ready(worker, server);
        void worker.run();
      }
    },
    take: (queue, isTaking) => {
      for (const { name, worker } of workers)
        if (name === queue) void (isTaking ? worker.resume() : worker.pause(true));
    },
    findRisks: () => explained(reached(inTime(place.findRisks()), server)),
    tryJob: async () => {
      const queue = create(`check-${randomUUID()}`, { skipMetasUpdate: true });
      const ended = Promise.withResolvers<void>();
      ended.promise.catch(() => undefined);
      const worker = new Worker(
        queue.name,
        async () => undefined,
        { ...place.options, autorun: false } as WorkerOptions,
        place.backend as never,
      );
      worker.on("completed", () => ended.resolve());
      worker.on("error", (error) => {
        if (refusalOf(error) !== undefined) ended.reject(error);
      });
      const goAllTheWay = async () => {
        await Promise.all([ready(queue, server), ready(worker, server)]);
        void worker.run();
        // The worker has to wait for it, which is a command of its own.
        await queue.add("check", {}, { delay: TRIED_AFTER_MS });
        await ended.promise;
      };
      try {
        await explained(inTime(goAllTheWay(), TRIED_WITHIN_MS));
      } finally {
        // Of a server that refused there may be nothing to remove.
        await inTime(worker.close(true), OPEN_WITHIN_MS).catch(() => undefined);
        await inTime(queue.obliterate({ force: true }), OPEN_WITHIN_MS).catch(() => undefined);
        await queue.close();
      }
    },
    get trouble() {
      const wait = "orders are taken in, and wait (QUEUE_UNAVAILABLE)";
      const refusal = lastRefusal();
      if (refusal !== undefined) return `${refusedWords(backend, refusal)}: ${wait}`;
      const state = place.state();
      if (state === "connected") return `${server} ${NOT_READY}: ${wait}`;
      if (state === "away") return `${server} can't be reached: ${wait}`;
      if (performance.now() - failedAt < FAILURE_LASTS_MS)
        return `the job queue takes no jobs, the log says why: ${wait}`;
      return undefined;
    },
    close: async (deadlineMs) => {
      const giveUp = setTimeout(() => stopping.abort(new Error("stopping")), deadlineMs);
      const parts = [...workers.map(({ worker }) => worker), ...all];
      const closed = Promise.allSettled(parts.map((each) => each.close()));
      // BullMQ's close waits without limit for jobs that don't end, and when its server is out of reach.
      const late = new Promise<"late">((resolve) =>
        setTimeout(resolve, deadlineMs + AFTER_ABORT_MS, "late").unref(),
      );
      const isLate = (await Promise.race([closed, late])) === "late";
      clearTimeout(giveUp);
      // Connections that are still in use would keep the caller's pool from ending.
      if (isLate) for (const each of parts) void each.disconnect().catch(() => undefined);
      place.close();
    },
  };
}

const AWAY_HINT =
  "Start that server, or correct `queue.url` (or `queue.sentinels`, `queue.cluster`) and what lies between. No order is lost.";

/** Of a server that takes a connection, and answers nothing else yet. */
const NOT_READY = "takes connections and is not ready for more (LOADING: it may still load its data)";

function refusedWords(backend: QueueBackend, { why }: QueueRefusal): string {
  const orSentinel = backend.kind === "redis" && backend.settings.sentinels ? ", or a sentinel," : "";
  return `${serverWords(backend)}${orSentinel} takes no jobs (${why})`;
}

/**
 * Adds jobs, of which there are few: in PostgreSQL BullMQ makes and drops two tables for each bulk, however small. A Redis that
 * throws keys away may have kept a job and not its place in the queue: such a job would keep every later one of its id from being
 * added.
 */
async function addAll(queue: Queue, jobs: readonly NewJob<QueueName>[], mayForget: boolean): Promise<void> {
  const add = (some: typeof jobs) =>
    Promise.all(some.map(({ jobId, data }) => queue.add(queue.name, data, { jobId })));
  await add(jobs);
  if (!mayForget) return;
  const states = await Promise.all(jobs.map(({ jobId }) => queue.getJobState(jobId)));
  const placeless = jobs.filter((_job, at) => states[at] === "unknown");
  const removed = await Promise.all(placeless.map(({ jobId }) => queue.remove(jobId)));
  await add(placeless.filter((_job, at) => removed[at] === 1));
}

function isSchemaGone(error: unknown): boolean {
  return SCHEMA_GONE.has(codeOf(error) ?? "");
}

async function migrate(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await runMigrations(client as never, "bullmq");
  } finally {
    client.release();
  }
}

async function ready(part: { waitUntilReady(): Promise<unknown> }, server: string): Promise<void> {
  await reached(inTime(part.waitUntilReady(), OPEN_WITHIN_MS), server);
}

/** Whether there was no answer in time, and nothing else is known. */
function isSilence(error: unknown): boolean {
  return error instanceof Failure && error.cause === undefined;
}

async function reached<T>(work: Promise<T>, server: string): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure("QUEUE_UNAVAILABLE", {
      message: `${server} can't be reached`,
      cause: error,
    });
  }
}

async function inTime<T>(work: Promise<T>, withinMs = ANSWER_WITHIN_MS): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Failure("QUEUE_UNAVAILABLE", "the job queue does not answer")),
      withinMs,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
