import { describe, expect, test } from "vitest";
import { machineHas } from "../support/needs.ts";
import { withSentinels } from "../support/redis-server.ts";
import { addUntilRun, describeRedisContract, withRunningQueues } from "./redis-queues.ts";

describeRedisContract("a Redis with sentinels", withSentinels);

describe.runIf(machineHas("redis-server")).concurrent("job queues whose server others watch", () => {
  test.each(["died", "froze"])("go on with the replica when the server %s", (what) =>
    withRunningQueues(withSentinels, async (running) => {
      const { queues, node } = running;
      await addUntilRun(running, 1);
      if (what === "died") await node.crash();
      else node.freeze(true);
      await addUntilRun(running, 2);
      expect(queues.trouble).toBeUndefined();
      node.freeze(false);
    }),
  );

  test("pass over a sentinel that doesn't answer", () =>
    withRunningQueues(withSentinels, async (running) => {
      const { group, node } = running;
      await addUntilRun(running, 1);
      const [first] = group.sentinels;
      first?.freeze(true);
      await node.crash();
      await addUntilRun(running, 2);
      first?.freeze(false);
    }));
});
