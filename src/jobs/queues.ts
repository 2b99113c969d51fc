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
  submit: { readonly orderId: number; readonly version: number };
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
const JOB_STATES = ["waiting", "active", "delayed", "prioritized", "completed", "failed"] as const;

type Connect = () => { readonly options: Record<string, unknown>; readonly backend: unknown };

/** Opens the queues, and creates or updates their tables where PostgreSQL keeps them. */
export async function openQueues(backend: QueueBackend, logger: Logger): Promise<JobQueues> {
  if (backend.kind === "postgres") await migrate(backend.pool);
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

  return {
    add: async (queue, jobs) => {
      if (jobs.length === 0) return;
      await inTime(
        queues[queue].addBulk(jobs.map(({ jobId, data }) => ({ name: queue, data, opts: { jobId } }))),
      );
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
      const worker = new Worker(
        queue,
        async (job) => {
          try {
            await run(job.data as never, stopping.signal);
          } catch (error) {
            if (!stopping.signal.aborted)
              logger.error(
                { err: error, queue, jobId: job.id },
                "a job failed; the ledger will have it done again",
              );
          }
        },
        {
          ...options,
          concurrency,
          maxStalledCount: STALLED_AS_OFTEN_AS_IT_TAKES,
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
      const closed = Promise.allSettled([...workers, ...Object.values(queues)].map((each) => each.close()));
      // BullMQ's close waits without limit when its server is out of reach.
      await Promise.race([closed, new Promise((resolve) => setTimeout(resolve, deadlineMs + 2_000).unref())]);
      clearTimeout(giveUp);
      disconnect();
    },
  };
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
    connect: () => ({ options: { connection: redis, prefix: "cryobridge" }, backend: undefined }),
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
  try {
    await inTime(part.waitUntilReady());
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
