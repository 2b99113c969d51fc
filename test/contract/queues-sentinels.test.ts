import { describe, expect, test } from "vitest";
import { machineHas } from "../support/needs.ts";
import { type TestRedisGroup, withGuardedSentinels, withSentinels } from "../support/redis-server.ts";
import { addUntilRun, describeRedisContract, onRedis, withRunningQueues } from "./redis-queues.ts";

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

  test("ask sentinels with a password of their own, and say when it is refused", () =>
    withGuardedSentinels("sesame", async (group) => {
      await onRedis(group, async ({ open }) => {
        expect((await (await open()).counts()).submit.waiting).toBe(0);
      });
      for (const [password, words] of [
        [undefined, "NOAUTH: it asks for a password"],
        ["wrong", "WRONGPASS: it refuses the user or the password"],
      ] as const) {
        const sentinels = { ...(group.way.sentinels as object), password };
        const other = { ...group, way: { sentinels } } as TestRedisGroup;
        await onRedis(other, ({ open }) =>
          expect(open()).rejects.toThrow(`a sentinel, takes no jobs (${words})`),
        );
      }
    }));

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
