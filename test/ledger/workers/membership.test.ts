import { join } from "node:path";
import pg from "pg";
import { expect, test } from "vitest";
import { openPool } from "../../../src/ledger/database.ts";
import { WORKER_LOCK } from "../../../src/ledger/locks.ts";
import { migrateLedger } from "../../../src/ledger/migrate.ts";
import { findLedgerEpoch, startEpoch } from "../../../src/ledger/restored/epoch.ts";
import { readEpochFile } from "../../../src/ledger/restored/epoch-file.ts";
import { joinWorkers, type Membership } from "../../../src/ledger/workers/membership.ts";
import { drainWorkers, lettingNobodyIn, listWorkers, takeOver } from "../../../src/ledger/workers/roster.ts";
import { isAwaited, withCutWay } from "../../support/cut-way.ts";
import { eventually } from "../../support/eventually.ts";
import { claimNext } from "../../support/hand-over.ts";
import { hastyClock } from "../../support/hasty-clock.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { startTestServer } from "../../support/test-server.ts";
import { withFolder } from "../../support/with-folder.ts";
import { silent, type TestLedger, withLedger } from "../../support/with-ledger.ts";

const BY = { actor: "anna" };

const sessionsOf = (name: string) => `sessions-of-${name}`;

/** Enters a worker as a daemon does; it leaves at the end. */
async function withMember(
  { connection, pool }: Pick<TestLedger, "connection" | "pool">,
  name: string,
  work: (member: Membership, heard: readonly string[]) => Promise<void>,
  { canLead = true } = {},
): Promise<void> {
  const heard: string[] = [];
  const member = await joinWorkers({
    connection: { ...connection, application_name: sessionsOf(name) },
    ...{ pool, clock: hastyClock, logger: silent },
    self: { name, host: "here", pid: 1, version: "1.0.0", roles: ["worker"], connectors: ["lims"] },
    onDrain: () => heard.push("drain"),
  });
  member.onWake(() => heard.push("wake"));
  try {
    if (canLead) member.mayLead(() => true);
    await work(member, heard);
  } finally {
    await member.leave();
  }
}

/** Waits for some heartbeats more. */
async function beats(member: Membership, count: number): Promise<void> {
  let heard = -1;
  const end = member.onNews(() => {
    heard += 1;
  });
  await eventually(() => heard >= count);
  end();
}

/** Ends the session of a worker as the death of its process does, and keeps it from heartbeats. */
const endSession = (pool: pg.Pool, id: number) =>
  pool.query(
    "select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and classid = $1 and objid = $2 and granted",
    [WORKER_LOCK, id],
  );

/** Has a worker be silent since a while. */
const silence = (pool: pg.Pool, id: number, seconds: number) =>
  pool.query("update workers set heartbeat_at = now() - $2 * interval '1 s' where id = $1", [id, seconds]);

/** A row of a worker that nobody keeps alive. */
async function aDeadWorker(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(
    "insert into workers (name, host, pid, version, roles, connectors, heartbeat_at) values ('dead', 'there', 1, '1', '{worker}', '{}', now() - interval '1 minute') returning id",
  );
  return rows[0]?.id as number;
}

test("of several workers one leads, and another one does when it leaves", () =>
  withLedger((ledger) =>
    withMember(ledger, "b", async (b) => {
      await eventually(() => b.isLeader);
      expect([b.isSure, b.workers]).toEqual([true, 1]);
      await withMember(ledger, "a", async (a) => {
        await eventually(() => b.workers === 2);
        expect([a.isSure, a.isLeader]).toEqual([true, false]);
        await b.leave();
        await eventually(() => a.isLeader);
        expect(b.isSure).toBe(false);
      });
    }),
  ));

test("orders of a worker whose lock is gone are taken over, with a fence that shuts it out", () =>
  withLedger(async (ledger) => {
    const { pool } = ledger;
    await commit(pool, [aRecord(1, [anOrder()])]);
    const dead = await aDeadWorker(pool);
    const { fence } = await claimNext(pool, dead);
    await withMember(ledger, "a", async () => {
      const order = async () => (await pool.query("select state, owner, fence from orders")).rows[0];
      await eventually(async () => (await order()).owner === null);
      expect(await order()).toMatchObject({
        state: "received",
        fence: expect.toSatisfy((now) => now !== fence),
      });
      expect(await listWorkers(pool, 60_000)).toMatchObject([
        { name: "a" },
        { id: dead, endedAs: "lost", inHand: 0 },
      ]);
    });
  }));

test("while a frozen process keeps a lost worker's orders locked, the others go on, and take over once they are free", () =>
  withLedger(async (ledger) => {
    const { pool } = ledger;
    await commit(pool, [aRecord(1, [anOrder()])]);
    const dead = await aDeadWorker(pool);
    await claimNext(pool, dead);
    const frozen = await pool.connect();
    await frozen.query("begin; set local idle_in_transaction_session_timeout = 0");
    await frozen.query("select 1 from ledger, orders for update");
    await withMember(ledger, "a", async (a) => {
      await isAwaited(pool);
      await beats(a, 3);
      expect(a.isSure).toBe(true);
      const owner = async () =>
        (await pool.query<{ owner: number | null }>("select owner from orders")).rows[0]?.owner;
      expect(await owner()).toBe(dead);
      await frozen.query("commit");
      await eventually(async () => (await owner()) === null);
    }).finally(() => frozen.release(true));
  }));

test("a worker that is not ready yet does not lead", () =>
  withLedger((ledger) =>
    withMember(ledger, "ready", async (ready) => {
      const starting = await joinWorkers({
        ...{ connection: ledger.connection, pool: ledger.pool, clock: hastyClock, logger: silent },
        self: { name: "starting", host: "here", pid: 1, version: "1.0.0", roles: ["worker"], connectors: [] },
        onDrain: () => undefined,
      });
      await ready.leave();
      await beats(starting, 2);
      expect([starting.isSure, starting.isLeader]).toEqual([true, false]);
      starting.mayLead(() => true);
      await eventually(() => starting.isLeader);
      await starting.leave();
    }),
  ));

test("a worker whose session broke goes on under its number, and acts only once it has its lock again", () =>
  withLedger((ledger) =>
    withMember(ledger, "a", async (a) => {
      const { id } = a;
      await endSession(ledger.pool, id);
      await eventually(() => !a.isSure);
      await eventually(() => a.isSure && a.isLeader);
      expect(a.id).toBe(id);
    }),
  ));

test("what waits until a worker is sure goes on with it, or when it is asked to stop", () =>
  withLedger((ledger) =>
    withMember(ledger, "a", async (a) => {
      const other = new pg.Client(ledger.connection);
      await other.connect();
      try {
        // Another session takes the lock as soon as it is free, so that the worker can't have it back.
        const taken = other.query("select pg_advisory_lock($1, $2)", [WORKER_LOCK, a.id]);
        await isAwaited(ledger.pool);
        await endSession(ledger.pool, a.id);
        await taken;
        await eventually(() => !a.isSure);
        const asked = new AbortController();
        const [goesOn, stops] = [a.untilSure(new AbortController().signal), a.untilSure(asked.signal)];
        asked.abort();
        expect(await stops).toBe(false);
        await other.query("select pg_advisory_unlock($1, $2)", [WORKER_LOCK, a.id]);
        expect(await goesOn).toBe(true);
      } finally {
        await other.end();
      }
    }),
  ));

test("so does one whose connection broke without the server's knowing", () =>
  withLedger((ledger) =>
    withCutWay(ledger, (way) =>
      withMember({ ...ledger, connection: way.connection }, "a", async (a) => {
        const { id } = a;
        await way.cutIdle();
        await eventually(() => !a.isSure);
        await eventually(() => a.isSure);
        expect(a.id).toBe(id);
      }),
    ),
  ));

test("a worker whose database was restarted enters anew, and gives up what it had in hand", () =>
  withFolder(async (folder) => {
    const server = await startTestServer(join(folder, "server"));
    const { connection } = server;
    const pool = openPool({ connection, schema: "cryobridge", max: 4, applicationName: "test" }, silent);
    try {
      await migrateLedger(pool);
      await withMember({ connection, pool }, "a", async (a) => {
        await commit(pool, [aRecord(1, [anOrder()])]);
        const { id } = a;
        const { fence } = await claimNext(pool, id);
        await server.crash();
        await eventually(() => !a.isSure);
        await server.start();
        await eventually(() => a.isSure);
        expect(a.id).not.toBe(id);
        const { rows } = await pool.query("select state, owner, fence from orders");
        expect(rows).toEqual([
          { state: "received", owner: null, fence: expect.toSatisfy((now) => now !== fence) },
        ]);
        expect((await listWorkers(pool, 60_000)).map((each) => [each.id, each.endedAs])).toEqual([
          [a.id, undefined],
          [id, "stopped"],
        ]);
      });
    } finally {
      await pool.end();
      await server.remove();
    }
  }));

test("each heartbeat looks how far the ledger has come, so that a worker which sends nothing notices that it was put back", () =>
  withLedger((ledger) =>
    withFolder(async (folder) => {
      const { pool } = ledger;
      const now = await findLedgerEpoch(pool);
      const codes: string[] = [];
      const epochOf = (name: string) =>
        startEpoch({
          pool,
          file: join(folder, name),
          now,
          onWentBack: ({ code }) => codes.push(`${name} ${code}`),
        });
      await withMember(ledger, "idle", (idle) =>
        withMember(ledger, "busy", async (busy) => {
          const [seen, raised] = [epochOf("idle"), epochOf("busy")];
          idle.watch(seen);
          for (let n = 0; n < 5; n += 1) await raised.advance();
          const keptBy = async () => (await readEpochFile(join(folder, "idle")))?.epoch;
          await eventually(async () => (await keptBy()) === now.epoch + 5);
          expect([idle.isSure, busy.isSure, codes]).toEqual([true, true, []]);
          // Three calls are lost; the other worker makes one, and would raise the number past the one that is known.
          await pool.query("update ledger set epoch = epoch - 3");
          await eventually(() => codes.includes("idle LEDGER_WENT_BACK"));
          expect([idle.isSure, await keptBy()]).toEqual([false, now.epoch + 5]);
        }),
      );
    }),
  ));

test("a worker that was frozen for longer than its lease is taken for dead though its lock is held, and goes on as a new one", () =>
  withLedger((ledger) =>
    withMember(ledger, "frozen", async (frozen) => {
      await eventually(() => frozen.isLeader);
      const { id } = frozen;
      await silence(ledger.pool, id, 16);
      expect((await takeOver(ledger.pool, [id])).workers).toEqual([{ id, name: "frozen" }]);
      await eventually(() => frozen.id !== id && frozen.isSure);
      await eventually(() => frozen.isLeader);
    }),
  ));

test("what a frozen worker has locked in other sessions is free once it was taken over", () =>
  withLedger((ledger) =>
    withMember(ledger, "frozen", async ({ id }) => {
      const { pool } = ledger;
      const session = new pg.Client({ ...ledger.connection, application_name: sessionsOf("frozen") });
      const ended = new Promise<void>((resolve) => session.once("end", resolve));
      session.on("error", () => undefined);
      await session.connect();
      await session.query("begin");
      await session.query("update cryobridge.ledger set epoch = epoch + 1");
      // It lives, and may have sent a heartbeat in between.
      await eventually(async () => {
        await silence(pool, id, 16);
        return (await takeOver(pool, [id])).workers.length > 0;
      });
      await ended;
      await pool.query("update ledger set epoch = epoch + 1");
    }),
  ));

test("a transaction in which nothing comes any more is over before its worker is taken for dead", () =>
  withLedger(async ({ pool }) => {
    const { rows } = await pool.query<{ idle_in_transaction_session_timeout: string }>(
      "show idle_in_transaction_session_timeout",
    );
    expect(rows[0]?.idle_in_transaction_session_timeout).toBe("5s");
  }));

test("a worker that was silent for a moment only keeps what it has", () =>
  withLedger((ledger) =>
    withMember(ledger, "slow", async (slow) => {
      await eventually(() => slow.isLeader);
      await silence(ledger.pool, slow.id, 6);
      expect((await takeOver(ledger.pool, [slow.id])).workers).toEqual([]);
    }),
  ));

test("one whose lock is gone is waited for, since a restart of the database ends all sessions", () =>
  withLedger(async ({ pool }) => {
    const gone = await aDeadWorker(pool);
    await silence(pool, gone, 3);
    expect((await takeOver(pool, [gone])).workers).toEqual([]);
    await silence(pool, gone, 5);
    expect((await takeOver(pool, [gone])).workers).toEqual([{ id: gone, name: "dead" }]);
  }));

test("a worker leads only while the service answers it", () =>
  withLedger((ledger) =>
    withMember(ledger, "a", async (a) => {
      await eventually(() => a.isLeader);
      const answered = { a: false, b: true };
      a.mayLead(() => answered.a);
      await withMember(ledger, "b", async (b) => {
        b.mayLead(() => answered.b);
        await eventually(() => b.isLeader && !a.isLeader);
        answered.b = false;
        await eventually(() => !b.isLeader);
        expect((await listWorkers(ledger.pool, 0)).some(({ isLeader }) => isLeader)).toBe(false);
        answered.a = true;
        await eventually(() => a.isLeader && !b.isLeader);
      });
    }),
  ));

test("another one leads as soon as the leader's session is gone", () =>
  withLedger((ledger) =>
    withMember(ledger, "a", async (a) => {
      await eventually(() => a.isLeader);
      await withMember(ledger, "b", async (b) => {
        const other = new pg.Client(ledger.connection);
        await other.connect();
        try {
          // It can't come back, as one that was killed.
          const taken = other.query("select pg_advisory_lock($1, $2)", [WORKER_LOCK, a.id]);
          await isAwaited(ledger.pool);
          await endSession(ledger.pool, a.id);
          await taken;
          await eventually(() => b.isLeader && !a.isLeader);
          const leaders = (await listWorkers(ledger.pool, 0)).filter(({ isLeader }) => isLeader);
          expect(leaders.map(({ name }) => name)).toEqual(["b"]);
        } finally {
          await other.end();
        }
      });
    }),
  ));

test("a worker that starts while nobody is let in waits for the end of that", () =>
  withLedger(async (ledger) => {
    const { pool } = ledger;
    const [closed, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const closing = lettingNobodyIn(pool, async () => {
      closed.resolve();
      await gate.promise;
    });
    await closed.promise;
    const entering = withMember(ledger, "a", async (a) => expect(a.isSure).toBe(true));
    await isAwaited(pool);
    expect(await listWorkers(pool, 0)).toEqual([]);
    gate.resolve();
    await closing;
    await entering;
  }));

test("what one worker at a time may do ends with its session", () =>
  withLedger((ledger) =>
    withMember(ledger, "a", (a) =>
      withMember(ledger, "b", async (b) => {
        const gate = Promise.withResolvers<void>();
        let isHeld = () => false;
        const first = a.exclusively("deliver lims", async (held) => {
          isHeld = held;
          await gate.promise;
        });
        await eventually(() => isHeld());
        const none = async () => undefined;
        expect([
          await a.exclusively("deliver lims", none),
          await b.exclusively("deliver lims", none),
        ]).toEqual([false, false]);
        expect(await b.exclusively("deliver other", none)).toBe(true);
        await endSession(ledger.pool, a.id);
        await eventually(() => !isHeld());
        await eventually(() => b.exclusively("deliver lims", none));
        await eventually(() => a.isSure);
        expect(isHeld()).toBe(false);
        gate.resolve();
        expect(await first).toBe(true);
      }),
    ),
  ));

test("the leader is woken by what another worker took in", () =>
  withLedger((ledger) =>
    withMember(ledger, "a", async (a, heard) => {
      // On a busy machine the first one may lose the lead for a moment, and must get it back.
      const wakes = async (b: Membership) => {
        await eventually(() => a.isLeader);
        const before = heard.length;
        const isHeard = () => {
          b.wake();
          return heard.length > before;
        };
        await eventually(isHeard);
      };
      await withMember(ledger, "b", wakes, { canLead: false });
    }),
  ));

test("a worker that a person asks to stop hears of it once, and leads no more", () =>
  withLedger((ledger) =>
    withMember(ledger, "a", async (a, heard) => {
      await eventually(() => a.isLeader);
      expect(await drainWorkers(ledger.pool, { name: "nobody" }, BY)).toEqual([]);
      expect(await drainWorkers(ledger.pool, { name: "a" }, BY)).toEqual([a.id]);
      await eventually(() => heard.includes("drain") && !a.isLeader);
      expect(heard.filter((word) => word === "drain")).toHaveLength(1);
    }),
  ));

test("each daemon that comes or goes is counted once, and a daemon that comes back is another one", () =>
  withLedger((ledger) =>
    withMember(ledger, "first", async (first) => {
      const changes: number[] = [];
      const note = async () => {
        await beats(first, 2);
        changes.push(first.rosterChanges);
      };
      await note();
      await note();
      await withMember(ledger, "second", note);
      await note();
      await withMember(ledger, "second", note);
      await note();
      expect(changes).toEqual([1, 1, 2, 3, 4, 5]);
    }),
  ));
