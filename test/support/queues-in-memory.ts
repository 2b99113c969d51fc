import { systemClock } from "../../src/core/clock.ts";
import type { FinishedJob, JobData, JobQueues, JobView, NewJob, QueueName } from "../../src/jobs/queues.ts";
import { SURE_FOR_MS } from "../../src/ledger/workers/alive.ts";

/** What opens a daemon's queues; see `openQueues` of {@link import("../../src/app/context.ts").DaemonOptions}. */
export type OpenQueues = (
  connectors: readonly string[],
  onFinished?: (job: FinishedJob) => void,
) => Promise<JobQueues>;

interface Job {
  readonly queue: QueueName;
  readonly jobId: string;
  readonly data: JobData[QueueName];
  readonly addedAt: Date;
  isRunning: boolean;
  /** How often it was given out. */
  runs: number;
}

interface Taker {
  readonly queue: QueueName;
  /** Of the queue `deliver`: whose results. */
  readonly connector: string | undefined;
  readonly most: number;
  isTaking: boolean;
  running: number;
  readonly run: (job: Job) => Promise<void>;
}

const keyOf = (queue: QueueName, jobId: string) => `${queue} ${jobId}`;

/**
 * The queues of one ledger, for the daemons of one process: what they promise, without a server. What BullMQ makes of a daemon's start
 * costs more than all else that most tests do; those whose subject are queues open the real ones.
 */
export function queuesInMemory(): OpenQueues {
  const jobs = new Map<string, Job>();
  let takers: Taker[] = [];

  const giveOut = () => {
    for (const job of jobs.values()) {
      if (job.isRunning) continue;
      const taker = takers.find(
        ({ queue, connector, most, isTaking, running }) =>
          queue === job.queue &&
          (connector === undefined || ("connector" in job.data && job.data.connector === connector)) &&
          isTaking &&
          running < most,
      );
      if (!taker) continue;
      job.isRunning = true;
      job.runs += 1;
      taker.running += 1;
      const nth = job.runs;
      void taker.run(job).finally(() => {
        taker.running -= 1;
        if (job.runs === nth) jobs.delete(keyOf(job.queue, job.jobId));
        giveOut();
      });
    }
  };

  return async (connectors, onFinished = () => undefined) => {
    const stopping = new AbortController();
    const own = new Set<Taker>();
    const inHand = new Map<Job, Promise<void>>();
    const count = (queue: QueueName, isRunning: boolean) =>
      [...jobs.values()].filter((job) => job.queue === queue && job.isRunning === isRunning).length;
    const countsOf = (queue: QueueName) => ({ active: count(queue, true), waiting: count(queue, false) });
    return {
      add: async (queue, more) => {
        for (const { jobId, data } of more as readonly NewJob<QueueName>[]) {
          const key = keyOf(queue, jobId);
          if (!jobs.has(key))
            jobs.set(key, { queue, jobId, data, addedAt: new Date(), isRunning: false, runs: 0 });
        }
        // Whoever adds jobs goes on before they run.
        setImmediate(giveOut);
      },
      findExisting: async (jobIds) => new Set(jobIds.filter((jobId) => jobs.has(keyOf("submit", jobId)))),
      counts: async () => ({
        submit: countsOf("submit"),
        track: countsOf("track"),
        deliver: countsOf("deliver"),
      }),
      list: async (queue, limit) =>
        [...jobs.values()]
          .filter((job) => job.queue === queue)
          .sort((one, other) => Number(other.isRunning) - Number(one.isRunning))
          .slice(0, limit)
          .map(
            ({ jobId, data, addedAt, isRunning, runs }): JobView => ({
              ...{ queue, jobId, data, addedAt },
              state: isRunning ? "active" : "waiting",
              attempts: runs,
            }),
          ),
      work: async (queue, most, run) => {
        for (const connector of queue === "deliver" ? connectors : [undefined]) {
          const runJob = async (job: Job) => {
            const startedAt = performance.now();
            const ended = run(job.data as never, stopping.signal)
              .then(
                () => "done" as const,
                // The ledger has it done again.
                () => "failed" as const,
              )
              .then((outcome) => onFinished({ queue, outcome, ms: performance.now() - startedAt }));
            inHand.set(job, ended);
            await ended.finally(() => inHand.delete(job));
          };
          const taker: Taker = { queue, connector, most, isTaking: true, running: 0, run: runJob };
          own.add(taker);
          takers.push(taker);
        }
        setImmediate(giveOut);
      },
      take: (queue, isTaking) => {
        for (const taker of own) if (taker.queue === queue) taker.isTaking = isTaking;
        if (isTaking) setImmediate(giveOut);
      },
      findRisks: async () => [],
      tryJob: async () => undefined,
      trouble: undefined,
      close: async (deadlineMs) => {
        takers = takers.filter((taker) => !own.has(taker));
        for (const taker of own) taker.isTaking = false;
        const isLate = Symbol("late");
        const giveUp = new AbortController();
        const late = systemClock.sleep(deadlineMs, giveUp.signal).then(
          () => isLate,
          () => undefined,
        );
        const ended = await Promise.race([Promise.all(inHand.values()), late]);
        giveUp.abort();
        if (ended !== isLate) return;
        stopping.abort(new Error("stopping"));
        // What a dead worker held is given out again once its lock would have run out.
        setTimeout(() => {
          for (const job of inHand.keys()) job.isRunning = false;
          giveOut();
        }, SURE_FOR_MS).unref();
      },
    };
  };
}
