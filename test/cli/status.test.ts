import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ConsoleDeps } from "../../src/console/deps.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { condition } from "../../src/core/condition.ts";
import { labConditions } from "../../src/jobs/deliver/lab-breaker.ts";
import { acquireDaemonLock } from "../../src/ledger/embedded/lock.ts";
import { TOKEN, USERS, withConsole } from "../console/console-fixture.ts";
import { countLockWaiters } from "../support/lock-waiters.ts";
import { serviceView } from "../support/service-view.ts";
import { standIn } from "../support/worker.ts";
import { csvMessage, type Lab, PATIENT, withLab } from "./with-lab.ts";

const PARKED = `
update orders set state = 'parked', failure_code = 'SUBJECT_UNKNOWN', failure_text = 'there is no such subject',
       changed_at = now() - interval '3 hours'`;

/** The configuration's console is on this port. */
async function setPort({ configFile }: Lab, port: number | string): Promise<void> {
  const text = await readFile(configFile, "utf8");
  await writeFile(configFile, text.replace("port: 0", `port: ${port}`));
}

/** A lab beside a console that a daemon on its data folder seems to have. */
function withRunning(deps: Partial<ConsoleDeps>, body: (lab: Lab) => Promise<void>): Promise<void> {
  return withConsole({ deps }, ({ url }) =>
    withLab(async (lab) => {
      await setPort(lab, new URL(url).port);
      const release = await acquireDaemonLock(join(lab.folder, "data"), undefined, "console");
      await body(lab).finally(release);
    }),
  );
}

test("says with status 4 that no daemon works, and what the ledger holds, without patients' data", () =>
  withLab(async ({ cli, pool, take }) => {
    await take("bench", [csvMessage(1)]);
    await pool.query(PARKED);
    const { status, stdout } = await cli(["status"]);
    expect(status).toBe(4);
    expect(stdout).toContain("✗ no daemon works on this ledger: nothing is taken in or sent until one is");
    expect(stdout).toMatch(
      /✗ 1 order waits for a person: the service does not have the subject of a retrieval \(SUBJECT_UNKNOWN\), since .* \(3h ago\)/,
    );
    expect(stdout).toContain("cryobridge orders show o1");
    for (const value of Object.values(PATIENT)) expect(stdout).not.toContain(value);
  }));

test("shows what the running daemon's console says, with status 1 while a person is needed", () =>
  withRunning({ own: () => [condition("daemonTrouble", "", "the sea is rough")] }, async ({ cli }) => {
    const { status, stdout } = await cli(["status"]);
    expect(stdout).toContain("✓ Orders are taken.\n✗ the sea is rough\n");
    expect(status).toBe(1);
    const document = JSON.parse((await cli(["status", "--json"])).stdout);
    expect(document).toMatchObject({ isDaemonRunning: true, version: "1.2.3", isReady: true });
  }));

test("breaks what is wrong, and what to do about it, between words at the terminal's width; a command stays whole", () => {
  const hint = "Look at the log of the machine that carries the sea, and ask whoever rows there.";
  const command = "cryobridge messages list --verdict refused --connector bench --since 1d";
  const text = "the sea is rough, and has been so since the ferry left the harbour";
  return withRunning(
    { own: () => [condition("daemonTrouble", "", text, { hint, command })] },
    async ({ cli }) => {
      const { stdout } = await cli(["status"], { isTTY: true, columns: 44, env: { NO_COLOR: "1" } });
      expect(stdout).toContain(`✗ the sea is rough, and has been so since
  the ferry left the harbour
    Seen to by the lab's IT. Look at the log
    of the machine that carries the sea, and
    ask whoever rows there.
    ${command}
`);
    },
  );
});

test("says what is down before that orders are taken", () =>
  withRunning({ own: () => [condition("serviceUnreachable", "", "status 503")] }, async ({ cli }) => {
    for (const command of [["status"], ["top", "--once"]])
      expect((await cli(command)).stdout).toMatch(
        /^✗ storage service \(status 503\)\n( {4}.*\n)*✓ Orders are taken\.\n/,
      );
  }));

test("says what others wait for before what a person is needed for", () => {
  const away = condition("serviceUnreachable", "", "the service is away", { level: "wait" });
  const task = condition("daemonTrouble", "", "a task is open", { level: "act" });
  return withRunning({ own: () => [{ ...task, kind: "tasksOpen" }, away] }, async ({ cli }) => {
    const { stdout } = await cli(["status"]);
    expect(stdout).toMatch(/^✗ storage service \(the service is away\)\n[\s\S]*✗ a task is open/);
  });
});

test("says of an outage once what it is, what becomes of it, and who sees to it", async () => {
  const since = new Date();
  const away = { since, nextTryAt: new Date(since.getTime() + 60_000), cause: "MLLP_UNREACHABLE" } as const;
  const text = "10.0.0.5:2576: nothing listens there";
  const waiting = { connector: "bench", state: "pending", deliveryId: "d4", count: 3, since, text } as const;
  const paused = { queue: "submit", actor: "kim", since, reason: "they move" };
  await withRunning(
    {
      own: () => [
        condition("serviceUnreachable", "", "the service is out of reach", { hint: "Ask its operator." }),
        ...labConditions("bench", away, since.getTime()),
      ],
      attention: async () => ({
        ...{ orders: [], alertPlaces: [], refusals: [], pausedQueues: [paused] },
        deliveries: [{ ...waiting, code: "MLLP_UNREACHABLE" }],
      }),
    },
    async ({ cli }) => {
      const { stdout } = await cli(["status"]);
      const lines = stdout.split("\n").map((line) => line.replace(/, since [-0-9: ]+ \(.*?\)/, ", since …"));
      expect(lines.slice(0, lines.indexOf("✓ Orders are taken."))).toEqual([
        "✗ storage service (the service is out of reach)",
        "    Seen to by the service's operator. Ask its operator.",
        "    cryobridge check",
        expect.stringMatching(
          /^✗ lab of bench \(takes no results: 3 results wait, 10\.0\.0\.5:2576: nothing listens there \(MLLP_UNREACHABLE\), since …; next try in \S+\)$/,
        ),
        expect.stringMatching(/^ {4}Check that the lab system listens there/),
        "    cryobridge queue",
        "◦ queue submit (paused by kim: they move; orders are taken, and nothing is sent to the service, since …)",
        "    Seen to by the lab's IT.",
        "    cryobridge queue resume submit",
      ]);
      for (const words of ["out of reach", "nothing listens", "by kim"])
        expect(stdout.split(words), words).toHaveLength(2);
      const { attention } = JSON.parse((await cli(["status", "--json"])).stdout);
      expect(attention.map(({ part }: { part: string }) => part)).toEqual([
        ...["storage service", "queue submit", "lab of bench"],
      ]);
      const top = (await cli(["top", "--once"])).stdout;
      for (const words of ["out of reach", "nothing listens"])
        expect(top.split(words), words).toHaveLength(2);
    },
  );
});

test.each([
  [0, "a service that was not called yet", {}],
  [0, "one that answered long ago", { isReachable: true, answeredAt: "2026-01-01T00:00:00Z" }],
])("ends with status %i for %s, since nothing is wrong", (expected, _, service) =>
  withRunning({ service: () => serviceView(service) }, async ({ cli }) => {
    const { status, stdout } = await cli(["status"]);
    expect(stdout).toMatch(/^✓ Orders are taken\.\n· storage service \(.+\)\n {2}Nobody is needed\.\n/);
    expect(status).toBe(expected);
  }),
);

test("a retry of an order says what keeps the running daemon from trying at once", () =>
  withRunning(
    { own: () => [condition("daemonTrouble", "", "out of reach; next try at 10:31:07 UTC")] },
    async ({ cli, pool, take }) => {
      await take("bench", [csvMessage(1)]);
      await pool.query(PARKED);
      const { status, stdout, stderr } = await cli(["orders", "retry", "o1"]);
      expect(status).toBe(0);
      expect(stdout).toContain("o1 (C-1) will be tried again");
      expect(stderr).toBe("out of reach; next try at 10:31:07 UTC\n");
    },
  ));

test("says with status 0 that nobody is needed", () =>
  withRunning({}, async ({ cli }) => {
    expect(await cli(["status"])).toMatchObject({
      status: 0,
      stdout: expect.stringContaining("Orders are taken.\n  Nobody is needed."),
    });
  }));

test("asks the daemon how it is while its file has mistakes, and names these where none answers", () =>
  withLab((lab) =>
    withConsole({ settings: { users: USERS } }, async ({ url }) => {
      await setPort(lab, `${new URL(url).port}, token: ${TOKEN}`);
      const text = await readFile(lab.configFile, "utf8");
      await writeFile(lab.configFile, text.replace("facilities:", "facilitys:"));
      expect(await lab.cli(["status"])).toMatchObject({
        status: 3,
        stderr: expect.stringContaining("facilitys"),
      });
      const release = await acquireDaemonLock(join(lab.folder, "data"), undefined, "console");
      try {
        for (const command of [["status"], ["top", "--once"]])
          expect(await lab.cli(command)).toMatchObject({
            status: 0,
            stdout: expect.stringContaining("✓ Orders are taken."),
          });
      } finally {
        await release();
      }
    }),
  ));

test("shows the configuration's token to the console, and says when that is not the daemon's", () =>
  withConsole({ settings: { users: USERS } }, ({ url }) =>
    withLab(async (lab) => {
      const { port } = new URL(url);
      await setPort(lab, `${port}, token: ${TOKEN}`);
      const release = await acquireDaemonLock(join(lab.folder, "data"), undefined, "console");
      try {
        expect((await lab.cli(["status"])).status).toBe(0);
        await writeFile(
          lab.configFile,
          (await readFile(lab.configFile, "utf8")).replace(TOKEN, "another-token-than-at-the-start"),
        );
        const submitter = await standIn(lab.pool);
        const { stdout, status } = await lab.cli(["status"]);
        await submitter.leave();
        expect(stdout).toContain("refuses the token of this configuration");
        expect(stdout).toContain("It is not known whether orders are taken.");
        expect(status).toBe(1);
      } finally {
        await release();
      }
    }),
  ));

test("asks nobody on the console's port while no daemon is on this data folder", async () => {
  let asked = 0;
  const other = createServer((_request, response) => {
    asked += 1;
    response.end("{}");
  });
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  try {
    await withLab(async (lab) => {
      await setPort(lab, (other.address() as AddressInfo).port);
      expect((await lab.cli(["status"])).status).toBe(4);
    });
    expect(asked).toBe(0);
  } finally {
    other.close();
  }
});

test("says within seconds that the ledger gives no answer, and doesn't wait for it at its end", () =>
  withLab(async ({ cli, pool }) => {
    const other = await pool.connect();
    await other.query("begin; lock table deliveries in access exclusive mode");
    try {
      // Ten times as fast as it is.
      const sleep: Clock["sleep"] = (ms, signal) => systemClock.sleep(ms / 10, signal);
      const { status, stderr } = await cli(["status"], { clock: { ...systemClock, sleep } });
      expect(stderr).toContain("the ledger's database gives no answer in time (LEDGER_UNAVAILABLE)");
      expect(status).toBe(4);
      // What it gave up on still waits for the lock, which the ledger ends only after 60 s.
      expect(await countLockWaiters(pool)).toBeGreaterThan(0);
    } finally {
      other.release(true);
    }
  }));
