import type pg from "pg";
import { expect, test } from "vitest";
import { NotInHand } from "../../src/core/dropped-files.ts";
import { inTransaction } from "../../src/ledger/database.ts";
import { numberOfId } from "../../src/ledger/ids.ts";
import { decideDropped, droppedFilesOf, type Owner } from "../../src/ledger/messages/dropped-files.ts";
import { findOpenFile, goOnWithFile, openFile, settleFile } from "../../src/ledger/messages/files.ts";
import { listOpenTasks } from "../../src/ledger/operator/tasks.ts";
import { endWorker } from "../../src/ledger/workers/roster.ts";
import { eventually } from "../support/eventually.ts";
import { anOrder, aRecord } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";
import { standIn } from "../support/worker.ts";

const FATE = { folder: "archive", day: "2026-03-27" } as const;
const NONE = { files: [], mayMove: expect.any(Function), otherConnector: undefined };

type Worker = Awaited<ReturnType<typeof workerOf>>;

/** A worker that lives, with its view of the rows. */
async function workerOf(pool: pg.Pool) {
  const worker = await standIn(pool);
  const dropped = droppedFilesOf(pool, "CODE", worker);
  const settle = (id: string, name: string, bytes?: string) => settleAs(pool, worker, id, name, bytes);
  let isThere = true;
  const die = async () => {
    if (isThere) await worker.leave();
    isThere = false;
  };
  return { id: worker.id, dropped, settle, die };
}

/** Has a worker's file decided as one to archive. */
async function settleAs(pool: pg.Pool, worker: Owner, id: string, name: string, bytes = "00") {
  const sha256 = bytes.repeat(32);
  const file = { connector: "lims", fileName: name, sha256, sizeBytes: 1 };
  const { fileId } = await openFile(pool, file, { id, worker: worker.id }, []);
  const kept = { fate: FATE, names: [name, `${name}.${id}`] } as const;
  const settled = await settleFile(pool, worker, { claimId: id, fileId, kept }, undefined);
  if (!settled) throw new TypeError("it was decided");
  return settled;
}

/** A ledger with workers that end with the test. */
function withWorkers(
  test: (world: { pool: pg.Pool; hire: () => Promise<Worker> }) => Promise<void>,
): Promise<void> {
  return withLedger(async ({ pool }) => {
    const hired: Worker[] = [];
    const hire = async () => {
      const worker = await workerOf(pool);
      hired.push(worker);
      return worker;
    };
    try {
      await test({ pool, hire });
    } finally {
      for (const { die } of hired) await die();
    }
  });
}

test("a file that was decided is not decided again, and its worker is given what was decided", () =>
  withWorkers(async ({ hire }) => {
    const { dropped, settle } = await hire();
    await dropped.claim("lims", [{ id: "A", name: "a.csv" }]);
    expect((await settle("A", "a.csv")).fate).toEqual({ ...FATE, keptAs: "a.csv" });
    await expect(settle("A", "other.csv", "01")).rejects.toThrow(NotInHand);
    const known = { lying: [], inHand: [] };
    expect(await dropped.takeOver("lims", known)).toMatchObject({
      files: [{ id: "A", fate: { ...FATE, keptAs: "a.csv" } }],
    });
  }));

test("a worker that lost a file doesn't close it under the one that reads it now", () =>
  withWorkers(async ({ pool, hire }) => {
    const [late, next] = [await hire(), await hire()];
    await late.dropped.claim("lims", [{ id: "A", name: "a.csv" }]);
    const file = { connector: "lims", fileName: "a.csv", sha256: "00".repeat(32), sizeBytes: 1 };
    const { fileId } = await openFile(pool, file, { id: "A", worker: late.id }, []);
    await late.die();
    await endWorker(pool, late.id);
    expect((await next.dropped.takeOver("lims", { lying: [], inHand: [] })).files).toMatchObject([
      { id: "A" },
    ]);
    const end = { status: "taken", problems: [] } as const;
    const close = (id: number) => settleFile(pool, { id, isSure: true }, { claimId: "A", fileId }, { end });
    await expect(close(late.id)).rejects.toThrow(NotInHand);
    const lost = { id: "A", worker: late.id };
    const goOn = goOnWithFile(pool, { connector: "lims", fileId }, lost, [aRecord(1, [anOrder()])]);
    await expect(goOn).rejects.toThrow(NotInHand);
    await expect(openFile(pool, file, lost, [])).rejects.toThrow(NotInHand);
    expect(await findOpenFile(pool, numberOfId("f", fileId))).toMatchObject({ fileName: "a.csv" });
    await close(next.id);
    expect(await findOpenFile(pool, numberOfId("f", fileId))).toBeUndefined();
  }));

test("a file is moved while nobody can have taken it over since the ledger was asked", () =>
  withLedger(async ({ pool }) => {
    const { id, leave } = await standIn(pool);
    const worker = { id, isSure: true };
    const dropped = droppedFilesOf(pool, "CODE", worker);
    const claimed = await dropped.claim("lims", [{ id: "A", name: "a.csv" }]);
    const { mayMove: found } = await dropped.takeOver("lims", { lying: [], inHand: [] });
    const { mayMove: decided } = await settleAs(pool, worker, "A", "a.csv");
    const mayMove = () => [claimed(), found(), decided()];
    expect(mayMove()).toEqual([true, true, true]);
    worker.isSure = false;
    expect(mayMove()).toEqual([false, false, false]);
    worker.isSure = true;
    expect(mayMove()).toEqual([true, true, true]);
    // Others took its work over, and it entered anew.
    worker.id += 1;
    expect(mayMove()).toEqual([false, false, false]);
    await leave();
  }));

test("what was decided about a file stands, also for its own worker", () =>
  withWorkers(async ({ pool, hire }) => {
    const { id: worker, dropped, settle } = await hire();
    await dropped.claim("lims", [{ id: "A", name: "a.csv" }]);
    await settle("A", "a.csv");
    const fate = { ...FATE, folder: "error", keptAs: "b.csv" } as const;
    const { rows } = await pool.query<{ id: number }>("select id from files");
    const again = inTransaction(pool, (client) =>
      decideDropped(client, { id: "A", worker }, rows[0]?.id ?? 0, fate),
    );
    await expect(again).rejects.toThrow(NotInHand);
    const known = { lying: [], inHand: [] };
    expect(await dropped.takeOver("lims", known)).toMatchObject({
      files: [{ fate: { ...FATE, keptAs: "a.csv" } }],
    });
  }));

test("of two files in hand that would get one name, one gets its other name", () =>
  withWorkers(async ({ hire }) => {
    const { dropped, settle } = await hire();
    await dropped.claim("lims", [
      { id: "A", name: "a.csv" },
      { id: "B", name: "A.csv" },
    ]);
    await settle("A", "a.csv");
    expect(await settle("B", "A.csv", "01")).toMatchObject({ fate: { keptAs: "A.csv.B" } });
  }));

test("what a worker that is gone had is taken over with what was decided, once, and awaited while it only died", () =>
  withWorkers(async ({ pool, hire }) => {
    const dead = await hire();
    await dead.dropped.claim("lims", [
      { id: "A", name: "a.csv" },
      { id: "B", name: "b.csv" },
    ]);
    await dead.settle("A", "a.csv");
    const [one, other] = await Promise.all([hire(), hire()]);
    const lying = [{ id: "B", name: "b.csv" }];
    const look = () => one.dropped.takeOver("lims", { lying, inHand: [] });
    expect(await look()).toEqual({ ...NONE, isAwaiting: false });
    await dead.die();
    expect(await look()).toEqual({ ...NONE, isAwaiting: true });
    await endWorker(pool, dead.id);
    expect(await look()).toEqual({
      files: [
        { id: "A", name: "a.csv", fate: { ...FATE, keptAs: "a.csv" } },
        { id: "B", name: "b.csv", fate: undefined },
      ],
      ...{ mayMove: expect.any(Function), isAwaiting: false, otherConnector: undefined },
    });
    expect(await other.dropped.takeOver("lims", { lying, inHand: [] })).toEqual({
      ...NONE,
      isAwaiting: false,
    });
    expect(await one.dropped.takeOver("lims", { lying: [], inHand: ["A", "B"] })).toMatchObject({
      files: [],
    });
    expect(await one.dropped.takeOver("lims", { lying: [], inHand: ["A"] })).toMatchObject({
      files: [{ id: "B" }],
    });
  }));

test("a file of a connector that has another name now is left to that name, which is told", () =>
  withWorkers(async ({ pool, hire }) => {
    const former = await hire();
    await former.dropped.claim("old-name", [{ id: "A", name: "a.csv" }]);
    await former.die();
    await endWorker(pool, former.id);
    const { dropped } = await hire();
    const lying = [{ id: "A", name: "a.csv" }];
    expect(await dropped.takeOver("lims", { lying, inHand: [] })).toMatchObject({
      ...{ files: [], isAwaiting: false },
      otherConnector: "old-name",
    });
  }));

test("of two that take over at the same moment one gets a file", () =>
  withWorkers(async ({ pool, hire }) => {
    const former = await hire();
    await former.dropped.claim("lims", [{ id: "A", name: "a.csv" }]);
    await former.die();
    await endWorker(pool, former.id);
    const [one, other] = await Promise.all([hire(), hire()]);
    const client = await pool.connect();
    try {
      await client.query("begin");
      await client.query("update dropped_files set worker = $1 where id = 'A'", [one.id]);
      const waiting = other.dropped.takeOver("lims", { lying: [], inHand: [] });
      await eventually(async () => {
        const { rowCount } = await pool.query("select 1 from pg_locks where not granted");
        return rowCount === 1;
      });
      await client.query("commit");
      expect(await waiting).toMatchObject({ files: [] });
    } finally {
      client.release();
    }
    expect((await one.dropped.takeOver("lims", { lying: [], inHand: [] })).files).toMatchObject([
      { id: "A" },
    ]);
  }));

test("a worker that is dead is not waited for when the clock says that it was heard of long ago, or will be", () =>
  withWorkers(async ({ pool, hire }) => {
    const [dead, one] = await Promise.all([hire(), hire()]);
    await dead.dropped.claim("lims", [{ id: "A", name: "a.csv" }]);
    await dead.die();
    for (const away of ["1 hour", "-1 hour"]) {
      await pool.query("update workers set heartbeat_at = now() + $2::interval where id = $1", [
        dead.id,
        away,
      ]);
      const known = { lying: [{ id: "A", name: "a.csv" }], inHand: [] };
      expect(await one.dropped.takeOver("lims", known)).toMatchObject({ files: [], isAwaiting: false });
    }
  }));

test("a worker that counts as gone claims nothing, and takes nothing over", () =>
  withWorkers(async ({ pool, hire }) => {
    const { dropped, id } = await hire();
    await endWorker(pool, id);
    const files = [{ id: "A", name: "a.csv" }];
    await expect(dropped.claim("lims", files)).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
    expect(await dropped.takeOver("lims", { lying: files, inHand: [] })).toMatchObject({ files: [] });
  }));

test("archived files are looked at twice, and one that changed becomes one task that says where it lies", () =>
  withWorkers(async ({ pool, hire }) => {
    const { dropped, settle } = await hire();
    const ids = ["A", "B", "C"];
    await dropped.claim(
      "lims",
      ids.map((id) => ({ id, name: `${id}.csv` })),
    );
    for (const [i, id] of ids.entries()) await settle(id, `${id}.csv`, `0${i}`);
    const archived = (id: string) => ({ id, path: `/archive/${id}.csv`, sizeBytes: 1, modifiedNs: "2" });
    await dropped.finish(ids.map((id) => ({ id, archived: archived(id) })));
    expect(await dropped.listDue("lims")).toEqual([]);
    const pass = (time: string) =>
      pool.query(
        "update dropped_files set due_at = due_at - $1::interval, archived_at = archived_at - $1::interval",
        [time],
      );
    await pass("2 minutes");
    const due = await dropped.listDue("lims");
    expect(due.map(({ id }) => id).sort()).toEqual(ids);
    const [same, gone, changed] = ids.map(archived);
    if (!same || !gone || !changed) throw new Error("three files");
    await dropped.record([
      { file: same, look: "same" },
      { file: gone, look: "gone" },
      { file: changed, look: { sizeBytes: 3 } },
    ]);
    expect(await dropped.listDue("lims")).toEqual([]);
    await pass("1 hour");
    expect(await dropped.listDue("lims")).toEqual([same]);
    await dropped.record([{ file: same, look: "same" }]);
    await pass("1 day");
    expect(await dropped.listDue("lims")).toEqual([]);
    const tasks = await listOpenTasks(pool, 10);
    expect(tasks).toMatchObject([{ kind: "late_write", file: { path: "/archive/C.csv" } }]);
  }));
