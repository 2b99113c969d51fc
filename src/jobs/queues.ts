import {
  createPostgresBackend,
  Queue,
  type QueueOptions,
  runMigrations,
  Worker,
  type WorkerOptions,
} from "bullmq";
import { Cluster, Redis } from "ioredis";
import type pg from "pg";
import { Failure } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";

/** The queues and what their jobs carry: ids only, never a patient's values. */
export interface JobData {
  submit: { readonly batch: number };
  track: { readonly facilityId: number };
  deliver: { readonly connector: string };
}
export type QueueName = keyof JobData;
export const QUEUE_NAMES = ["submit", "track", "deliver"] as const satisfies readonly QueueName[];

/** A job to add. The same id again, while the first is still there, adds nothing. */
export interface NewJob<Name extends QueueName> {
  readonly jobId: string;
  readonly data: JobData[Name];
  /** Runs before the jobs that wait already. */
  readonly isUrgent?: boolean | undefined;
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

/** Where BullMQ keeps its jobs. */
export type QueueBackend =
  /** A pool whose search path begins with `bullmq`; the caller ends it. */
  | { readonly kind: "postgres"; readonly pool: pg.Pool }
  | {
      readonly kind: "redis";
      /** Begins every key. Several ledgers may share a server, so it must be this ledger's own. */
      readonly prefix: string;
      readonly url?: string | undefined;
      readonly sentinels?:
        | {
            readonly name: string;
            readonly nodes: readonly { readonly host: string; readonly port: number }[];
          }
        | undefined;
      readonly cluster?: readonly { readonly host: string; readonly port: number }[] | undefined;
      readonly username?: string | undefined;
      readonly password?: string | undefined;
      /** TLS to sentinels and cluster nodes; a url says so itself. */
      readonly tls?: boolean | undefined;
    };

/** Our use of BullMQ, and the only place that knows it. */
export interface JobQueues {
  /** @throws Failure QUEUE_UNAVAILABLE when the queue doesn't answer in time; the jobs may or may not be there. */
  add<Name extends QueueName>(queue: Name, jobs: readonly NewJob<Name>[]): Promise<void>;
  /**
   * Forgets every job. For the one process that works the queues off, before it begins: a job that an earlier process
   * died with would hold back new ones of the same id until BullMQ takes it for stalled.
   *
   * @throws Failure QUEUE_UNAVAILABLE
   */
  clear(): Promise<void>;
  /** Which of these jobs exist, in any state. */
  findExisting(queue: QueueName, jobIds: readonly string[]): Promise<Set<string>>;
  /** How many jobs are in each state, by queue. */
  counts(): Promise<Record<QueueName, Record<string, number>>>;
  /** Jobs in any state, at most `limit` a queue. */
  list(queue: QueueName, limit: number): Promise<JobView[]>;
  /**
   * Begins to run a queue's jobs. `run` records every failure itself; what it still throws is logged.
   *
   * @throws Failure QUEUE_UNAVAILABLE when the queue's server can't be reached.
   */
  work<Name extends QueueName>(
    queue: Name,
    concurrency: number,
    run: (data: JobData[Name], signal: AbortSignal) => Promise<void>,
  ): Promise<void>;
  /** Stops taking jobs, waits for those in hand, and gives up on them after the deadline. */
  close(deadlineMs: number): Promise<void>;
}

/** The queue must answer within this; neither of ioredis's own settings bounds a lost reply. */
const ANSWER_WITHIN_MS = 15_000;
/** Jobs whose process died are run again however often that happens: the ledger's counts decide when to stop. */
const STALLED_AS_OFTEN_AS_IT_TAKES = 1_000_000;
/**
 * A job whose end could not be noted, because the server was away just then, is given out again once its lock has run out
 * and two looks for stalled jobs have seen it: 10 to 20 s. Until then no job of the same id is taken in.
 */
const LOCK_MS = 10_000;
const LOOK_FOR_STALLED_MS = 5_000;
/** How long a worker waits before it tries an unreachable server again; BullMQ's own 15 s would be added to each outage. */
const RETRY_CONNECTION_MS = 1_000;
/** SQLSTATE of a missing table, function or schema: somebody dropped the queues' schema. */
const SCHEMA_GONE = new Set(["42P01", "42883", "3F000"]);
/** What a job that has to stop gets to end in. */
const AFTER_ABORT_MS = 2_000;
const JOB_STATES = ["waiting", "active", "delayed", "prioritized", "completed", "failed"] as const;

type Connect = () => { readonly options: Record<string, unknown>; readonly backend: unknown };

/**
 * Opens the queues, and creates or updates their tables where PostgreSQL keeps them.
 *
 * @throws Failure QUEUE_UNAVAILABLE when the server can't be reached.
 */
export async function openQueues(backend: QueueBackend, logger: Logger): Promise<JobQueues> {
  if (backend.kind === "postgres") await reached(migrate(backend.pool));
  const { connect, disconnect } = connector(backend);
  const onError = (error: Error) => logger.warn({ err: error }, "the job queue's connection has trouble");
  const create = (name: QueueName): Queue => {
    const { options, backend: factory } = connect();
    const queue = new Queue(
      name,
      {
        ...options,
        defaultJobOptions: { removeOnComplete: true, removeOnFail: true, attempts: 1 },
      } as QueueOptions,
      factory as never,
    );
    queue.on("error", onError);
    return queue as Queue;
  };
  const queues = Object.fromEntries(QUEUE_NAMES.map((name) => [name, create(name)])) as Record<
    QueueName,
    Queue
  >;
  await Promise.all(Object.values(queues).map(ready));
  const workers: Worker[] = [];
  const stopping = new AbortController();
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
    add: async (queue, jobs) => {
      if (jobs.length === 0) return;
      const bulk = jobs.map(({ jobId, data, isUrgent = false }) => ({
        name: queue,
        data,
        opts: { jobId, lifo: isUrgent },
      }));
      await repaired(() => inTime(queues[queue].addBulk(bulk)));
    },
    clear: async () => {
      await inTime(Promise.all(QUEUE_NAMES.map((name) => queues[name].obliterate({ force: true }))));
    },
    findExisting: async (queue, jobIds) => {
      const found = await inTime(Promise.all(jobIds.map((jobId) => queues[queue].getJob(jobId))));
      return new Set(found.flatMap((job) => job?.id ?? []));
    },
    counts: async () => {
      const counted = await inTime(Promise.all(QUEUE_NAMES.map((name) => queues[name].getJobCounts())));
      return Object.fromEntries(QUEUE_NAMES.map((name, index) => [name, counted[index] ?? {}])) as Record<
        QueueName,
        Record<string, number>
      >;
    },
    list: async (queue, limit) => {
      const byState = await inTime(
        Promise.all(JOB_STATES.map((state) => queues[queue].getJobs([state], 0, limit - 1))),
      );
      return byState.flatMap((jobs, index) =>
        jobs.map((job) => ({
          queue,
          jobId: String(job.id),
          state: JOB_STATES[index] as string,
          data: job.data as unknown,
          attempts: job.attemptsStarted ?? 0,
          addedAt: new Date(job.timestamp),
        })),
      );
    },
    work: async (queue, concurrency, run) => {
      const { options, backend: factory } = connect();
      const running = new Set<string>();
      const worker = new Worker(
        queue,
        async (job) => {
          const jobId = String(job.id);
          // A job whose lock ran out, as when this process was stopped for a while, is given out again while it runs.
          if (running.has(jobId)) return;
          running.add(jobId);
          try {
            await run(job.data as never, stopping.signal);
          } catch (error) {
            if (!stopping.signal.aborted)
              logger.error({ err: error, queue, jobId }, "a job failed; the ledger will have it done again");
          } finally {
            running.delete(jobId);
          }
        },
        {
          ...options,
          concurrency,
          maxStalledCount: STALLED_AS_OFTEN_AS_IT_TAKES,
          lockDuration: LOCK_MS,
          stalledInterval: LOOK_FOR_STALLED_MS,
          runRetryDelay: RETRY_CONNECTION_MS,
          removeOnComplete: { count: 0 },
          removeOnFail: { count: 0 },
          drainDelay: 5,
          autorun: false,
        } as WorkerOptions,
        factory as never,
      );
      worker.on("error", onError);
      workers.push(worker as Worker);
      // A worker that starts before its connection is ready remembers the failure for good and spins on it.
      await ready(worker);
      void worker.run();
    },
    close: async (deadlineMs) => {
      const giveUp = setTimeout(() => stopping.abort(new Error("stopping")), deadlineMs);
      const all = [...workers, ...Object.values(queues)];
      const closed = Promise.allSettled(all.map((each) => each.close()));
      // BullMQ's close waits without limit for jobs that don't end, and when its server is out of reach.
      const late = new Promise<"late">((resolve) =>
        setTimeout(resolve, deadlineMs + AFTER_ABORT_MS, "late").unref(),
      );
      const isLate = (await Promise.race([closed, late])) === "late";
      clearTimeout(giveUp);
      // Connections that are still in use would keep the caller's pool from ending.
      if (isLate) for (const each of all) void each.disconnect().catch(() => undefined);
      disconnect();
    },
  };
}

function isSchemaGone(error: unknown): boolean {
  return error instanceof Error && "code" in error && SCHEMA_GONE.has(String(error.code));
}

async function migrate(pool: pg.Pool): Promise<void> {
  const client = await pool.connect();
  try {
    await runMigrations(client as never, "bullmq");
  } finally {
    client.release();
  }
}

function connector(backend: QueueBackend): { connect: Connect; disconnect: () => void } {
  if (backend.kind === "postgres") {
    return {
      connect: () => ({ options: { connection: backend.pool }, backend: createPostgresBackend }),
      disconnect: () => {},
    };
  }
  const redis = openRedis(backend);
  return {
    connect: () => ({ options: { connection: redis, prefix: backend.prefix }, backend: undefined }),
    disconnect: () => redis.disconnect(),
  };
}

function openRedis(backend: Extract<QueueBackend, { kind: "redis" }>): Redis | Cluster {
  const options = {
    maxRetriesPerRequest: null,
    ...(backend.username === undefined ? {} : { username: backend.username }),
    ...(backend.password === undefined ? {} : { password: backend.password }),
    ...(backend.tls ? { tls: {} } : {}),
  };
  if (backend.cluster) return new Cluster([...backend.cluster], { redisOptions: options });
  if (backend.sentinels) {
    const { name, nodes } = backend.sentinels;
    return new Redis({ ...options, name, sentinels: [...nodes] });
  }
  return new Redis(backend.url ?? "redis://127.0.0.1:6379", options);
}

async function ready(part: { waitUntilReady(): Promise<unknown> }): Promise<void> {
  await reached(inTime(part.waitUntilReady()));
}

async function reached<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure("QUEUE_UNAVAILABLE", {
      message: "the job queue's server can't be reached",
      cause: error,
    });
  }
}

async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Failure("QUEUE_UNAVAILABLE", "the job queue does not answer")),
      ANSWER_WITHIN_MS,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
