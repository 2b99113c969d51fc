import { afterAll } from "vitest";
import type { JobQueues } from "../../src/jobs/queues.ts";
import { eventually } from "../support/eventually.ts";
import { machineHas } from "../support/needs.ts";
import {
  redisBackend,
  type TestRedis,
  type TestRedisGroup,
  type WithRedisGroup,
} from "../support/redis-server.ts";
import { describeQueueContract, job, type WithServer, withQueues } from "./queues.ts";

let ledgers = 0;

/** Gives a test queues of a ledger of its own on these servers. */
export function onRedis(
  { way, crash, start }: TestRedisGroup,
  test: Parameters<WithServer>[0],
): Promise<void> {
  const prefix = `cryobridge-${ledgers++}`;
  return withQueues(redisBackend(prefix, way), (open) => test({ open, crash, start }));
}

/** Servers that several tests of a file share while none takes them down; they end with the file. */
function shared(withGroup: WithRedisGroup): WithServer {
  let group: Promise<TestRedisGroup> | undefined;
  let end = async () => {};
  const begin = async () => {
    const begun = Promise.withResolvers<TestRedisGroup>();
    const over = Promise.withResolvers<void>();
    const whole = withGroup(async (opened) => {
      begun.resolve(opened);
      await over.promise;
    });
    whole.catch(begun.reject);
    end = async () => {
      over.resolve();
      await whole;
    };
    return await begun.promise;
  };
  afterAll(() => end());
  return async (test) => {
    group ??= begin();
    await onRedis(await group, test);
  };
}

/** The contract on servers of one kind, where the machine has them. */
export function describeRedisContract(
  name: string,
  withGroup: WithRedisGroup,
  isThere = machineHas("redis-server"),
): void {
  describeQueueContract(name, {
    isThere,
    withServer: shared(withGroup),
    withOwnServer: (test) => withGroup((group) => onRedis(group, test)),
  });
}

/** Queues whose workers wait for jobs, and what ran of them. */
export interface RunningQueues {
  readonly queues: JobQueues;
  readonly ran: string[];
  readonly group: TestRedisGroup;
  /** The first of the servers that hold data. */
  readonly node: TestRedis;
}

/** Gives a test running queues on servers of its own. */
export function withRunningQueues(
  withGroup: WithRedisGroup,
  test: (running: RunningQueues) => Promise<void>,
): Promise<void> {
  return withGroup((group) =>
    onRedis(group, async ({ open }) => {
      const queues = await open(["lims"]);
      const ran: string[] = [];
      await queues.work("submit", 2, async ({ nth }) => void ran.push(`b${nth}`));
      await queues.work("track", 1, async ({ facilityId }) => void ran.push(`f${facilityId}`));
      await queues.work("deliver", 1, async ({ connector }) => void ran.push(connector));
      await test({ queues, ran, group, node: group.nodes[0] as TestRedis });
    }),
  );
}

/** As the feeder does: the same jobs again until they ran. */
export async function addUntilRun(
  { queues, ran }: Pick<RunningQueues, "queues" | "ran">,
  batch: number,
): Promise<void> {
  ran.length = 0;
  await eventually(
    async () => {
      await addEach(queues, batch);
      return [`b${batch}`, "f12", "lims"].every((job) => ran.includes(job));
    },
    { what: "a job of each queue" },
  );
}

/** Adds a job to each of the queues. */
export async function addEach(queues: JobQueues, batch: number): Promise<void> {
  await queues.add("submit", [job(batch)]);
  await queues.add("track", [{ jobId: "track-f12-w1", data: { facilityId: 12 } }]);
  await queues.add("deliver", [{ jobId: "deliver-lims-w1", data: { connector: "lims" } }]);
}
