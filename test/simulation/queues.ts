import type { JobData, JobQueues, NewJob, QueueName } from "../../src/jobs/queues.ts";
import type { Actor, World } from "./world.ts";

interface Job {
  readonly queue: QueueName;
  readonly jobId: string;
  readonly data: JobData[QueueName];
  /** Which of its runs counts: one that was given out again ends with the later one. */
  run: number;
  isRunning: boolean;
}

interface Taker {
  readonly actor: Actor;
  /** What it leaves to others right now. */
  readonly left: Set<QueueName>;
  readonly works: Map<
    QueueName,
    {
      readonly most: number;
      running: number;
      readonly run: (data: never, signal: AbortSignal) => Promise<void>;
    }
  >;
}

/** A daemon ends by dying. */
const NEVER_STOPS = new AbortController().signal;
/** After so long a job whose worker says nothing any more is given out again, ms. */
const STALLED_MS = 6_500;

/** The queues as they are seen from outside: wake-ups that may get lost, come late, or come twice. */
export class SimulatedQueues {
  readonly #world: World;
  readonly #place: Actor = { name: "queue", state: "up" };
  #jobs = new Map<string, Job>();
  #takers: Taker[] = [];

  constructor(world: World) {
    this.#world = world;
  }

  /** Loses all jobs, those that run included. */
  empty(): void {
    this.#jobs = new Map();
  }

  /** Gives a job out that runs already, as after a lock that ran out. */
  double(): void {
    for (const job of this.#jobs.values()) job.isRunning = false;
    this.#giveOut();
  }

  of(actor: Actor): JobQueues {
    const taker: Taker = { actor, left: new Set(), works: new Map() };
    this.#takers.push(taker);
    return {
      add: async (queue, jobs) => {
        await this.#world.sleep(actor, this.#world.between(0, 2));
        for (const { jobId, data } of jobs as readonly NewJob<QueueName>[]) {
          const key = `${queue} ${jobId}`;
          if (!this.#jobs.has(key)) this.#jobs.set(key, { queue, jobId, data, run: 0, isRunning: false });
        }
        this.#giveOut();
      },
      findExisting: async (jobIds) => {
        await this.#world.sleep(actor, this.#world.between(0, 2));
        return new Set(jobIds.filter((jobId) => this.#jobs.has(`submit ${jobId}`)));
      },
      work: async (queue, most, run) => {
        taker.works.set(queue, { most, running: 0, run });
        this.#giveOut();
      },
      counts: async () => ({ submit: {}, track: {}, deliver: {} }),
      list: async () => [],
      take: (queue, isTaking) => {
        if (isTaking) taker.left.delete(queue);
        else taker.left.add(queue);
        this.#giveOut();
      },
      findRisks: async () => [],
      tryJob: async () => undefined,
      trouble: undefined,
      close: async () => undefined,
    };
  }

  #giveOut(): void {
    const world = this.#world;
    this.#takers = this.#takers.filter(({ actor }) => actor.state !== "dead");
    for (const [key, job] of this.#jobs) {
      if (job.isRunning) continue;
      const free = this.#takers.filter(({ actor, left, works }) => {
        const work = works.get(job.queue);
        return actor.state === "up" && !left.has(job.queue) && work !== undefined && work.running < work.most;
      });
      if (free.length === 0) continue;
      const taker = world.pick(free);
      const work = taker.works.get(job.queue);
      if (!work) continue;
      job.isRunning = true;
      job.run += 1;
      work.running += 1;
      const nth = job.run;
      world.later(taker.actor, world.between(1, 5), () => {
        const ended = () => {
          work.running -= 1;
          if (this.#jobs.get(key) === job && job.run === nth) this.#jobs.delete(key);
          this.#giveOut();
        };
        void work.run(job.data as never, NEVER_STOPS).then(ended, ended);
      });
      this.#watch(key, job, nth, taker.actor);
    }
  }

  /** Gives a job out again whose worker died or is frozen. */
  #watch(key: string, job: Job, nth: number, actor: Actor): void {
    this.#world.later(
      this.#place,
      STALLED_MS,
      () => {
        if (this.#jobs.get(key) !== job || job.run !== nth || !job.isRunning) return;
        if (actor.state === "up") return this.#watch(key, job, nth, actor);
        job.isRunning = false;
        this.#giveOut();
      },
      { isIdle: true },
    );
  }
}
