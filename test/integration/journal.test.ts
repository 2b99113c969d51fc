import { execFileSync } from "node:child_process";
import { cp, open, readdir } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import type pg from "pg";
import { describe, expect, test } from "vitest";
import type { MllpConnector } from "../../src/connectors/mllp/mllp.ts";
import { systemClock } from "../../src/core/clock.ts";
import { FAILURES } from "../../src/core/failures.ts";
import type { ChildDaemon } from "../support/child-daemon.ts";
import { eventually } from "../support/eventually.ts";
import {
  findTaken,
  type JournalSite,
  mllpConnector,
  type Taken,
  withJournalSite,
} from "../support/journal-site.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { machineHas } from "../support/needs.ts";
import { countUp, sendOrders } from "../support/send-orders.ts";
import { type EndOutage, freezeServer, killServer } from "../support/server-outage.ts";
import { withServerSite } from "../support/with-server-site.ts";

const NAME = "Quillfeather";
const LEFT = /acknowledged messages of an earlier run are in the journal/g;

/** Sends orders without end to a daemon that is killed as soon as so many are answered. */
async function sendAndKill(
  site: JournalSite,
  daemon: ChildDaemon,
  enough: number,
  { inFlight = 20, prefix = "K" } = {},
) {
  const sent: string[] = [];
  const onAnswer = (count: number) => {
    if (count === enough) process.kill(daemon.pid, "SIGKILL");
  };
  const answers = await sendOrders(countUp(prefix, sent), { port: site.port, inFlight, onAnswer });
  await daemon.end("SIGKILL");
  return { sent, answers };
}

/** The first of those that were sent: one connection's messages are taken in their order, and each once. */
function expectTaken(
  { messages, orders }: Taken,
  sent: readonly string[],
  acknowledged: readonly string[],
): void {
  expect(messages).toEqual(sent.slice(0, messages.length));
  expect(orders).toEqual(messages);
  expect(acknowledged.filter((number) => !orders.includes(number))).toEqual([]);
}

/** Has what goes from journals into the ledger stand still right before its commit, but for one commit at a time. */
async function standCommits(pool: pg.Pool) {
  const holder = await pool.connect();
  await holder.query(
    `create sequence commits;
     create function stand() returns trigger language plpgsql as $$
       begin
         if nextval('commits') > 1 then perform pg_advisory_xact_lock_shared(1); end if;
         return null;
       end $$;
     create trigger stand after insert or update on journals for each row execute function stand();
     select nextval('commits'), pg_advisory_lock(1)`,
  );
  /** What stands still is rolled back. */
  const endStanding = () =>
    pool.query(
      "select pg_terminate_backend(pid, 60000) from pg_locks where locktype = 'advisory' and objid = 1 and not granted",
    );
  return {
    /** Lets the next one through, and keeps those behind it. */
    letOneThrough: async () => {
      await endStanding();
      await pool.query("select setval('commits', 1, false)");
    },
    end: async () => {
      await endStanding();
      await pool.query("drop trigger stand on journals");
      holder.release(true);
    },
  };
}

describe.concurrent("a daemon that is killed with messages in its journal", () => {
  test("right behind 1, 3 or 50 acknowledgements has each order once, in order", () =>
    withJournalSite(async (site) => {
      let daemon = await site.run();
      const acknowledged: string[] = [];
      let taken: Taken = { messages: [], orders: [] };
      for (const enough of [1, 3, 50]) {
        const before = taken.orders;
        const { sent, answers } = await sendAndKill(site, daemon, enough, { prefix: `K${enough}` });
        acknowledged.push(...answers.keys());
        daemon = await site.run();
        taken = await site.look((pool) => findTaken(pool, acknowledged.length));
        expectTaken(taken, [...before, ...sent], acknowledged);
      }
      expect(await site.log()).toMatch(LEFT);
    }));

  test("answers a repeat, after the restart, with the bytes of the first answer", () =>
    withJournalSite(async (site) => {
      const { answers } = await sendAndKill(site, await site.run(), 50);
      await site.run();
      expect(await sendOrders(answers.keys(), site)).toEqual(answers);
    }));

  test("and killed again while it takes them into the ledger has each order once", () =>
    withJournalSite(async (site) => {
      const first = await site.run();
      const { sent, answers } = await site.look(async (pool) => {
        const commits = await standCommits(pool);
        // More than one commit takes.
        const done = await sendAndKill(site, first, 300, { inFlight: 100 });
        const through = async () =>
          (await pool.query<{ through: number }>("select through from journals")).rows[0]?.through ?? 0;
        for (let round = 0; round < 2; round += 1) {
          await commits.letOneThrough();
          const before = await through();
          const daemon = site.start(["--role", "intake"]);
          await eventually(async () => (await through()) !== before, { what: "a first commit" });
          await daemon.end("SIGKILL");
        }
        await commits.end();
        return done;
      });
      await site.run();
      expectTaken(await site.look((pool) => findTaken(pool, answers.size)), sent, [...answers.keys()]);
      expect((await site.log()).match(LEFT)?.length).toBeGreaterThan(1);
    }));

  test("and killed again at any moment of its start has each order once", () =>
    withJournalSite(async (site) => {
      const { sent, answers } = await sendAndKill(site, await site.run(), 300, { inFlight: 100 });
      for (let round = 0; round < 3; round += 1) {
        const daemon = site.start(["--role", "intake"]);
        await new Promise((resolve) => setTimeout(resolve, 300 + Math.random() * 700));
        await daemon.end("SIGKILL");
      }
      await site.run();
      expectTaken(await site.look((pool) => findTaken(pool, answers.size)), sent, [...answers.keys()]);
    }));

  test("and is back before the database is done with its last commit has each order once", () =>
    withJournalSite(async (site) => {
      const { sent, answers } = await sendAndKill(site, await site.run(), 50);
      await site.look(async (pool) => {
        const holder = await pool.connect();
        try {
          await holder.query("begin");
          // The commit that takes the journal has to write this row, too.
          await holder.query(
            "insert into journals values ('hl7', 0) on conflict (connector) do update set through = journals.through",
          );
          const commits = async () =>
            (await pool.query("select from pg_stat_activity where wait_event_type = 'Lock'")).rowCount ?? 0;
          const killed = site.start(["--role", "intake"]);
          await eventually(async () => (await commits()) === 1);
          await killed.end("SIGKILL");
          const next = site.start(["--role", "intake"]);
          await eventually(async () => (await commits()) === 2);
          await holder.query("rollback");
          await next.running;
        } finally {
          holder.release(true);
        }
        expectTaken(await findTaken(pool, answers.size), sent, [...answers.keys()]);
      });
    }));

  test("whose connector is taken out of the configuration has them in the ledger, and says that they wait", () =>
    withJournalSite(async (site) => {
      const { sent, answers } = await sendAndKill(site, await site.run(), 30);
      await site.configure([mllpConnector("other", site.port)]);
      await site.run();
      const messages = await site.look(async (pool) => {
        await pool.query("update arrivals set arrived_at = now() - interval '2 minutes'");
        const { rows } = await pool.query<{ number: string }>(
          "select message_control_id as number from messages where connector = 'hl7' order by id",
        );
        return rows.map(({ number }) => number);
      });
      expect(messages).toEqual(sent.slice(0, messages.length).map((number) => `MSG-${number}`));
      expect(messages.length).toBeGreaterThanOrEqual(answers.size);
      expect((await site.journal()).includes("MSG-")).toBe(false);
      const status = await (await fetch(`${site.consoleUrl}/api/status`)).text();
      expect(status).toContain(
        `${messages.length} acknowledged messages of connector hl7 have no orders yet`,
      );
    }));
});

/** Twice as long as may be acknowledged, since an answer takes its time on a busy machine. */
const LATEST_MS = 4_000;
const LASTS_MS = 5_500;
/** What each of the senders brings at once, and how long it waits before it brings more, ms. */
const [BURST, PACE_MS] = [10, 50];

/**
 * Has new orders sent before and during an outage of the database, and behind it what wasn't acknowledged. Counts the
 * acknowledgements that came after the first seconds of the outage, and looks whether a silent peer kept its connection.
 */
async function sendThrough({ port, dataDir }: JournalSite, begin: (dataDir: string) => Promise<EndOutage>) {
  const idle = connect({ port, host: "127.0.0.1" });
  const sent: string[] = [];
  const next = countUp("O", sent);
  const acknowledged = new Set<string>();
  const answeredAt: number[] = [];
  const send = async (numbers: readonly string[]) => {
    const onAnswer = () => answeredAt.push(performance.now());
    for (const number of (await sendOrders(numbers, { port, onAnswer })).keys()) acknowledged.add(number);
  };
  let isOver = false;
  const sendOn = async () => {
    while (!isOver) {
      await send(Array.from({ length: BURST }, () => next.next().value));
      await systemClock.sleep(PACE_MS);
    }
  };
  const sending = Promise.all([sendOn(), sendOn(), sendOn()]);
  await eventually(() => acknowledged.size >= 200);
  const endOutage = await begin(dataDir);
  let late = 0;
  try {
    await systemClock.sleep(LATEST_MS);
    const early = answeredAt.length;
    await systemClock.sleep(LASTS_MS - LATEST_MS);
    late = answeredAt.length - early;
  } finally {
    isOver = true;
    await endOutage();
  }
  await sending;
  const sendMissing = async () => {
    await send(sent.filter((number) => !acknowledged.has(number)));
    return acknowledged.size === sent.length;
  };
  await eventually(sendMissing, { what: "an answer to each" });
  const isIdleOpen = idle.readyState === "open";
  idle.destroy();
  return { sent, late, isIdleOpen };
}

describe.runIf(machineHas("linux")).concurrent("a database server that is away", () => {
  const outages = [
    ["killed", killServer],
    ["frozen", freezeServer],
  ] as const;
  test.for(outages)("%s, has every message taken once, and none acknowledged for long", ([, begin]) =>
    withJournalSite(async (site) => {
      await site.run();
      const { sent, late, isIdleOpen } = await sendThrough(site, begin);
      expect({ late, isIdleOpen }).toEqual({ late: 0, isIdleOpen: true });
      const { messages, orders } = await site.look((pool) => findTaken(pool, sent.length));
      expect(messages.toSorted()).toEqual(sent.toSorted());
      expect(orders.toSorted()).toEqual(sent.toSorted());
    }),
  );
});

/** No file of the daemon may be larger from some moment on, and one message is. */
const LIMIT_BYTES = 256 * 1024;
const NOT_USED = /the journal isn't used any more until the next start/g;
const compose = (number: string) => {
  const comment = number.endsWith("-2") ? `NTE|1||${"x".repeat(2 * LIMIT_BYTES)}\r` : "";
  return `${omlO33({ number })}${comment}`;
};

describe.runIf(machineHas("prlimit")).concurrent("a disk that takes no more of the journal", () => {
  /** Sends four orders, the second of which is too large for the journal, behind one that isn't. */
  const sendToFullDisk = async ({ port }: JournalSite, { pid }: ChildDaemon, prefix: string) => {
    const first = await sendOrders([`${prefix}-0`], { port });
    execFileSync("prlimit", ["--pid", `${pid}`, `--fsize=${LIMIT_BYTES}:`]);
    const rest = [1, 2, 3, 4].map((n) => `${prefix}-${n}`);
    return new Map([...first, ...(await sendOrders(rest, { port, inFlight: 2, compose }))]);
  };

  test("has each message acknowledged and taken once, and the log says so once", () =>
    withJournalSite(async (site) => {
      const numbers = [...(await sendToFullDisk(site, await site.run(), "A")).keys()];
      expect(numbers).toEqual(["A-0", "A-1", "A-2", "A-3", "A-4"]);
      const taken = await site.look((pool) => findTaken(pool, numbers.length));
      expect(taken).toEqual({ messages: numbers, orders: numbers });
      expect((await site.log()).match(NOT_USED)).toHaveLength(1);
    }));

  test("has each once also when the daemon is killed or stopped behind that, and answers it as before", () =>
    withJournalSite(async (site) => {
      const answers = new Map<string, string>();
      for (const signal of ["SIGKILL", "SIGTERM"] as const) {
        const daemon = await site.run();
        for (const [number, answer] of await sendToFullDisk(site, daemon, signal))
          answers.set(number, answer);
        await daemon.end(signal);
      }
      await site.run();
      const numbers = [...answers.keys()];
      const taken = await site.look((pool) => findTaken(pool, numbers.length));
      expect(taken).toEqual({ messages: numbers, orders: numbers });
      expect(await sendOrders(numbers, { port: site.port, compose })).toEqual(answers);
    }));
});

describe.concurrent("what stands in the journal", () => {
  const ofPatient = (number: string) => omlO33({ number, lastName: NAME });

  test("is in the ledger, with its orders, and nowhere else when the daemon has stopped", () =>
    withJournalSite(async (site) => {
      const daemon = await site.run();
      const sent: string[] = [];
      let ending: Promise<number | null> | undefined;
      const answers = await sendOrders(countUp("T", sent), {
        port: site.port,
        compose: ofPatient,
        onAnswer: (count) => {
          if (count === 100) ending = daemon.end("SIGTERM");
        },
      });
      expect(await ending).toBe(0);
      expect((await site.journal()).includes(NAME)).toBe(false);
      const taken = await site.look((pool) => findTaken(pool, answers.size));
      expect(taken.messages.length).toBeGreaterThanOrEqual(100);
      expectTaken(taken, sent, [...answers.keys()]);
    }));

  test("is nowhere else a moment after the last message", () =>
    withJournalSite(async (site) => {
      await site.run();
      const numbers = Array.from({ length: 200 }, (_, n) => `Q-${n}`);
      await sendOrders(numbers, { port: site.port, compose: ofPatient });
      await eventually(async () => !(await site.journal()).includes(NAME));
    }));
});

describe.concurrent("a start is refused, with what to do,", () => {
  const startRefused = async (site: JournalSite) => {
    const daemon = site.start(["--role", "intake"]);
    await daemon.running.catch(() => undefined);
    return { status: await daemon.end("SIGTERM"), log: await site.log() };
  };

  test("with messages in the journal of another ledger", () =>
    withJournalSite((site) =>
      withJournalSite(async (other) => {
        await sendAndKill(site, await site.run(), 30);
        await (await other.run()).end("SIGTERM");
        await cp(site.journalFolder, other.journalFolder, { recursive: true });
        const { status, log } = await startRefused(other);
        expect(status).toBe(1);
        expect(log).toContain("JOURNAL_FOREIGN");
        expect(log).toContain(FAILURES.JOURNAL_FOREIGN.mend);
      }),
    ));

  test("with a journal whose header can't be read", () =>
    withJournalSite(async (site) => {
      await (await site.run()).end("SIGTERM");
      const file = await open(join(site.journalFolder, "hl7.b"), "r+");
      await file.write("#", 0);
      await file.close();
      const { status, log } = await startRefused(site);
      expect(status).toBe(1);
      expect(log).toContain("hl7.b: its first line can't be read");
      expect(log).toContain(FAILURES.JOURNAL_DAMAGED.mend);
    }));
});

test.concurrent("a ledger on a server of its own has no journal", () =>
  withServerSite({ config: { connectors: [mllpConnector("hl7", 0)] } }, async (site) => {
    const daemon = await site.start();
    const { port = 0 } = daemon.connectors[0] as MllpConnector;
    expect([...(await sendOrders(["A-1"], { port })).keys()]).toEqual(["A-1"]);
    const made = await readdir(daemon.config.dataDir, { recursive: true });
    expect(made.filter((name) => name.includes("journal"))).toEqual([]);
  }));
