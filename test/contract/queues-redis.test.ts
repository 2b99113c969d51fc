import { rm } from "node:fs/promises";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { Failure } from "../../src/core/failures.ts";
import { refusalOf } from "../../src/jobs/queue-refusal.ts";
import { openQueues } from "../../src/jobs/queues.ts";
import { eventually } from "../support/eventually.ts";
import { machineHas } from "../support/needs.ts";
import { redisBackend, type TestRedis, withOneRedis, withRedis } from "../support/redis-server.ts";
import { withFolder } from "../support/with-folder.ts";
import { job, withQueues } from "./queues.ts";
import { addEach, addUntilRun, describeRedisContract, onRedis, withRunningQueues } from "./redis-queues.ts";

describeRedisContract("one Redis", withOneRedis);

describe.runIf(machineHas("redis-server")).concurrent("job queues on Redis", () => {
  test("go on when everything is flushed, with workers that wait for a job", () =>
    withRunningQueues(withOneRedis, async (running) => {
      const { node } = running;
      await addUntilRun(running, 1);
      await node.run("flushall");
      await addUntilRun(running, 2);
      await node.run("flushall");
      await node.run("script", "flush");
      await addUntilRun(running, 3);
    }));

  test("go on when any single key of theirs was thrown away", () =>
    withOneRedis((group) =>
      onRedis(group, async ({ open }) => {
        const [node] = group.nodes as [TestRedis];
        const queues = await open(["lims"]);
        await addEach(queues, 1);
        const keys = (await node.run("keys", "*")) as string[];
        expect(keys.length).toBeGreaterThan(6);
        for (const key of keys) {
          await node.run("del", key);
          // What has no place in a queue is no job, so its orders are handed over anew.
          const isThere = (await queues.findExisting(["submit-b1"])).size === 1;
          expect([key, isThere]).toEqual([key, !key.endsWith("submit:wait")]);
          await addEach(queues, 1);
        }
        const ran: string[] = [];
        await queues.work("submit", 2, async ({ nth }) => void ran.push(`b${nth}`));
        await queues.work("track", 1, async ({ facilityId }) => void ran.push(`f${facilityId}`));
        await queues.work("deliver", 1, async ({ connector }) => void ran.push(connector));
        await eventually(() => ["b1", "f12", "lims"].every((name) => ran.includes(name)));
        expect(ran.filter((name) => name.includes("undefined"))).toEqual([]);
        await addUntilRun({ queues, ran }, 2);
      }),
    ));

  test("say that they take no jobs while their server is full, rest meanwhile, and go on afterwards", () =>
    withRunningQueues(withOneRedis, async (running) => {
      const { queues, node } = running;
      await addUntilRun(running, 1);
      expect(await queues.findRisks()).toEqual([]);
      await node.run("config", "set", "maxmemory", "1mb");
      await expect(queues.add("submit", [job(2)])).rejects.toThrow(/OOM/);
      expect(queues.trouble).toContain("takes no jobs (OOM");
      await node.run("config", "set", "maxmemory", "0");
      await addUntilRun(running, 2);
      expect(queues.trouble).toBeUndefined();
    }));

  test("say which setting of their server would let it throw jobs away, and the command that changes it", () =>
    withRunningQueues(withOneRedis, async ({ queues, node }) => {
      await node.run("config", "set", "maxmemory-policy", "allkeys-lru");
      const [risk] = await queues.findRisks();
      expect(risk?.message).toContain("maxmemory-policy allkeys-lru");
      expect(risk?.hint).toContain(
        `redis-cli -h 127.0.0.1 -p ${node.port} config set maxmemory-policy noeviction`,
      );
    }));

  test("say that their server is away", () =>
    withRunningQueues(withOneRedis, async (running) => {
      const { queues, node } = running;
      await addUntilRun(running, 1);
      await node.crash();
      await eventually(() => queues.trouble?.includes("can't be reached"));
      await node.start();
      await eventually(() => queues.trouble === undefined);
    }));
  test("go on after their server was frozen for a while", () =>
    withRunningQueues(withOneRedis, async (running) => {
      const { queues, node } = running;
      await addUntilRun(running, 1);
      node.freeze(true);
      const counted = queues.counts();
      await eventually(() => queues.trouble?.includes("can't be reached"));
      node.freeze(false);
      expect((await counted).submit.waiting).toBe(0);
      await addUntilRun(running, 2);
      expect(queues.trouble).toBeUndefined();
    }));
});

/** How a server comes to refuse, by commands, and the words with which that is told. */
const REFUSING: readonly (readonly [words: string, ...commands: string[]])[] = [
  ["OOM: its memory is full", "config set maxmemory 1mb"],
  ["READONLY: it is a replica", "replicaof 127.0.0.1 1"],
  ["MASTERDOWN: its primary", "config set replica-serve-stale-data no", "replicaof 127.0.0.1 1"],
  ["NOREPLICAS: too few replicas", "config set min-replicas-to-write 1"],
  ["NOAUTH: it asks for a password", "config set requirepass sesame"],
  ["NOPERM: its access list", "acl setuser default -eval -evalsha"],
  ["NOPERM: its access list", "acl setuser default -@blocking"],
  ["NOPERM: its access list", "acl setuser default resetkeys ~other*"],
  ["ERR: its access list", "acl setuser default -@write"],
  ["MISCONF: it can't save", "config set save 3600\\ 1", "set x 1", "bgsave"],
];

describe.runIf(machineHas("redis-server")).concurrent("a Redis that answers and refuses", () => {
  test.each(REFUSING)("is found out by a job that is tried, and is trouble: %s (%s)", (words, ...commands) =>
    withFolder((folder) =>
      withRedis(
        async (node) => {
          await withQueues(redisBackend("cryobridge-refused", { url: node.url }), async (open) => {
            const queues = await open(["lims"]);
            await queues.tryJob();
            expect(queues.trouble).toBeUndefined();
            // In a folder that is gone nothing can be saved.
            await rm(folder, { recursive: true });
            for (const command of commands) {
              const [name, ...more] = command.split(/(?<!\\) /).map((word) => word.replace("\\", ""));
              await node.run(name as string, ...more);
            }
            await eventually(async () => {
              const error = await queues.tryJob().catch((thrown: unknown) => thrown);
              return (
                error instanceof Failure &&
                error.message.includes(words) &&
                !error.hint.includes("PostgreSQL")
              );
            });
            expect(queues.trouble).toContain(words);
          });
        },
        ["--dir", folder],
      ),
    ),
  );

  test.each([
    ["READONLY", "replicaof 127.0.0.1 1", "replicaof no one"],
    ["NOREPLICAS", "config set min-replicas-to-write 1", "config set min-replicas-to-write 0"],
    ["NOPERM", "acl setuser default -@blocking", "acl setuser default +@all"],
  ])("gets the jobs again once it takes them: %s", (word, harm, repair) =>
    withRunningQueues(withOneRedis, async (running) => {
      const run = (command: string) => node.run(...(command.split(" ") as [string, ...string[]]));
      const { queues, node } = running;
      await addUntilRun(running, 1);
      await run(harm);
      await eventually(() => queues.trouble?.includes(word));
      await run(repair);
      await addUntilRun(running, 2);
      await eventually(() => queues.trouble === undefined);
    }),
  );

  test("is in the log with the word of its reply", () =>
    withRedis(async (node) => {
      const logged: string[] = [];
      const logger = pino({ level: "warn" }, { write: (line: string) => void logged.push(line) });
      const queues = await openQueues(redisBackend("cryobridge-log", { url: node.url }), [], logger);
      try {
        await queues.work("submit", 1, async () => undefined);
        await node.run("acl", "setuser", "default", "-@blocking");
        await eventually(() => logged.join("").includes('"refused":"NOPERM: its access list'));
      } finally {
        await queues.close(500);
      }
    }));

  test("is told apart from one that is away while it loads its data", () =>
    withFolder((folder) =>
      withRedis(
        async (node) => {
          await Promise.all(
            Array.from({ length: 400 }, (_, at) => node.run("set", `key-${at}`, "x".repeat(1_000))),
          );
          await node.run("save");
          await withQueues(redisBackend("cryobridge-loading", { url: node.url }), async (open) => {
            const queues = await open(["lims"]);
            await node.crash();
            const started = node.start();
            await eventually(() => queues.trouble?.includes("LOADING"));
            await started;
            await eventually(() => queues.trouble === undefined);
            await queues.tryJob();
          });
        },
        [
          ...["--dir", folder, "--key-load-delay", "10000"],
          ...["--loading-process-events-interval-bytes", "1024"],
        ],
      ),
    ));

  test("gets no more than the queues need, as the hint of NOPERM says", () =>
    withRedis((node) =>
      withQueues(redisBackend("cryobridge-least", { url: node.url }), async (open) => {
        const { hint = "" } = refusalOf(Object.assign(new Error("NOPERM x"), { name: "ReplyError" })) ?? {};
        const [, rules = ""] = /ACL SETUSER name ([^`]+)`/.exec(hint) ?? [];
        await node.run("acl", "setuser", "default", "reset", "on", "nopass", ...rules.split(" "));
        const queues = await open(["lims"]);
        expect(await queues.findRisks()).toEqual([]);
        await queues.tryJob();
        expect(queues.trouble).toBeUndefined();
      }),
    ));
});
