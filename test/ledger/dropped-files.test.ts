import type pg from "pg";
import { expect, test } from "vitest";
import { droppedFilesOf } from "../../src/ledger/messages/dropped-files.ts";
import { openFile, settleFile } from "../../src/ledger/messages/files.ts";
import { listOpenTasks } from "../../src/ledger/operator/tasks.ts";
import { endWorker } from "../../src/ledger/workers/roster.ts";
import { withLedger } from "../support/with-ledger.ts";
import { standIn } from "../support/worker.ts";

const FATE = { folder: "archive", day: "2026-03-27" } as const;
const NOTHING = { lying: [], inHand: [] };

type Worker = Awaited<ReturnType<typeof workerOf>>;

/** A worker that lives, with its view of the rows. */
async function workerOf(pool: pg.Pool) {
  const worker = await standIn(pool);
  const dropped = droppedFilesOf(pool, "CODE", worker);
  const settle = async (id: string, name: string, bytes = "00") => {
    const sha256 = bytes.repeat(32);
    const { fileId } = await openFile(pool, { connector: "lims", fileName: name, sha256, sizeBytes: 1 });
    const names = [name, `${name}.${id}`] as const;
    return settleFile(pool, worker.id, { id, fileId, fate: FATE, names }, undefined);
  };
  let isThere = true;
  const die = async () => {
    if (isThere) await worker.leave();
    isThere = false;
  };
  return { id: worker.id, dropped, settle, die };
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
    expect(await settle("A", "a.csv")).toEqual({ ...FATE, keptAs: "a.csv" });
    expect(await settle("A", "other.csv", "01")).toBeUndefined();
    expect(await dropped.stillOurs(["A", "B"])).toEqual(new Map([["A", { ...FATE, keptAs: "a.csv" }]]));
  }));

test("of two files in hand that would get one name, one gets its other name", () =>
  withWorkers(async ({ hire }) => {
    const { dropped, settle } = await hire();
    await dropped.claim("lims", [
      { id: "A", name: "a.csv" },
      { id: "B", name: "A.csv" },
    ]);
    await settle("A", "a.csv");
    expect(await settle("B", "A.csv", "01")).toMatchObject({ keptAs: "A.csv.B" });
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
    expect(await look()).toEqual({ files: [], isAwaiting: false });
    await dead.die();
    expect(await look()).toEqual({ files: [], isAwaiting: true });
    await endWorker(pool, dead.id);
    expect(await look()).toEqual({
      files: [
        { id: "A", name: "a.csv", fate: { ...FATE, keptAs: "a.csv" } },
        { id: "B", name: "b.csv", fate: undefined },
      ],
      isAwaiting: false,
    });
    expect(await other.dropped.takeOver("lims", { lying, inHand: [] })).toEqual({
      files: [],
      isAwaiting: false,
    });
    expect(await one.dropped.takeOver("lims", { lying: [], inHand: ["A", "B"] })).toMatchObject({
      files: [],
    });
    expect(await one.dropped.takeOver("lims", { lying: [], inHand: ["A"] })).toMatchObject({
      files: [{ id: "B" }],
    });
  }));

test("a file that lies in the folder of a connector that has another name now is taken over by that one", () =>
  withWorkers(async ({ pool, hire }) => {
    const former = await hire();
    await former.dropped.claim("old-name", [{ id: "A", name: "a.csv" }]);
    await former.die();
    await endWorker(pool, former.id);
    const { dropped } = await hire();
    expect(await dropped.takeOver("lims", NOTHING)).toMatchObject({ files: [] });
    const lying = [{ id: "A", name: "a.csv" }];
    expect(await dropped.takeOver("lims", { lying, inHand: [] })).toMatchObject({ files: [{ id: "A" }] });
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
