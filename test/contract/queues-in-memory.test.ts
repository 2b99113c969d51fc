import type { JobQueues } from "../../src/jobs/queues.ts";
import { queuesInMemory } from "../support/queues-in-memory.ts";
import { describeQueueContract, type WithServer } from "./queues.ts";

const never = async () => {
  throw new Error("there is no server");
};

const withServer: WithServer = async (run) => {
  const openQueues = queuesInMemory();
  const opened: JobQueues[] = [];
  const open = async (connectors: readonly string[] = []) => {
    const queues = await openQueues(connectors);
    opened.push(queues);
    return queues;
  };
  try {
    await run({ open, crash: never, start: never });
  } finally {
    for (const queues of opened) await queues.close(0);
  }
};

// What daemons of tests are given in their place has to do what the real ones do.
describeQueueContract("no server, for tests", { withServer });
