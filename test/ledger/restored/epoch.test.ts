import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { listOrders } from "../../../src/ledger/operator/views.ts";
import { changeOrders } from "../../../src/ledger/orders/change.ts";
import {
  decideWentBack,
  findLedgerEpoch,
  requireNoOlderCopy,
  startEpoch,
} from "../../../src/ledger/restored/epoch.ts";
import { readEpochFile, writeEpochFile } from "../../../src/ledger/restored/epoch-file.ts";
import { enterRestored } from "../../../src/ledger/restored/restore.ts";
import { takeResultNumber } from "../../../src/ledger/results/outcomes.ts";
import { isAwaited } from "../../support/cut-way.ts";
import { eventually } from "../../support/eventually.ts";
import { A_REQUEST, claimNext, recordCall, takeDue } from "../../support/hand-over.ts";
import { hangFolder, impatientClock } from "../../support/hanging-folder.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { withFolder } from "../../support/with-folder.ts";
import { withLedger } from "../../support/with-ledger.ts";

const record = { ledger: "ABCDEF", epoch: 7, restores: 1, since: new Date("2026-01-02T03:04:05Z") };

describe("the epoch file", () => {
  test("is read as it was written, and leaves nothing else beside it", () =>
    withFolder(async (folder) => {
      const file = join(folder, "data.epoch");
      expect(await readEpochFile(file)).toBeUndefined();
      await writeEpochFile(file, { ...record, epoch: 123_456 }, { isFirst: true });
      await writeEpochFile(file, { ...record, epoch: 8 }, { isFirst: false });
      expect(await readEpochFile(file)).toEqual({ ...record, epoch: 8 });
      expect(await readdir(folder)).toEqual(["data.epoch"]);
    }));

  test("is for every account to read, whatever the umask", () =>
    withFolder(async (folder) => {
      const file = join(folder, "data.epoch");
      const before = process.umask(0o077);
      try {
        await writeEpochFile(file, record, { isFirst: true });
      } finally {
        process.umask(before);
      }
      expect((await stat(file)).mode & 0o777).toBe(0o644);
    }));

  test("gets no record that its reader would refuse", () =>
    withFolder(async (folder) => {
      const file = join(folder, "data.epoch");
      await writeEpochFile(file, record, { isFirst: true });
      const unreadable = { ...record, since: new Date(Number.NaN) };
      await expect(writeEpochFile(file, unreadable, { isFirst: false })).rejects.toMatchObject({
        code: "LEDGER_EPOCH_UNUSABLE",
      });
      expect(await readEpochFile(file)).toEqual(record);
    }));

  test.each([
    ["cut", '{"ledger":"ABC'],
    ["empty", ""],
    ["another document", "[]"],
    ["endless", "x".repeat(100_000)],
  ])("that is %s is said to be unusable, and not taken for none", (_words, text) =>
    withFolder(async (folder) => {
      const file = join(folder, "data.epoch");
      await writeFile(file, text);
      await expect(readEpochFile(file)).rejects.toMatchObject({ code: "LEDGER_EPOCH_UNUSABLE" });
    }),
  );

  test("that is a pipe or a folder doesn't hold up the start", () =>
    withFolder(async (folder) => {
      execFileSync("mkfifo", [join(folder, "pipe")]);
      await mkdir(join(folder, "folder"));
      for (const name of ["pipe", "folder"]) {
        await expect(readEpochFile(join(folder, name))).rejects.toMatchObject({
          code: "LEDGER_EPOCH_UNUSABLE",
        });
      }
    }));

  test("that can't be written keeps calls from leaving", () =>
    withLedger(async ({ pool }) => {
      const now = await findLedgerEpoch(pool);
      const epoch = startEpoch({ pool, file: "/proc/none/data.epoch", now, onWentBack: () => undefined });
      await expect(epoch.advance()).rejects.toMatchObject({
        code: "LEDGER_EPOCH_UNUSABLE",
        class: "transient",
      });
    }));

  test("that hangs holds up neither a start nor a command, which say so", ({ skip }) =>
    withFolder((folder) =>
      withLedger(async ({ pool }) => {
        const hanging = await hangFolder(join(folder, "share"));
        if (!hanging) return skip("this user may mount nothing");
        try {
          const file = join(folder, "share/data.epoch");
          const refused = {
            ...{ code: "LEDGER_EPOCH_UNUSABLE", hint: expect.stringContaining("mount that again") },
            message: `the ledger's epoch file ${file} does not answer`,
          };
          await expect(readEpochFile(file, impatientClock)).rejects.toMatchObject(refused);
          await expect(requireNoOlderCopy(pool, file, impatientClock)).rejects.toMatchObject(refused);
        } finally {
          await hanging.end();
        }
      }),
    ));

  test("that hangs puts calls off, as one that can't be written does", ({ skip }) =>
    withFolder((folder) =>
      withLedger(async ({ pool }) => {
        const hanging = await hangFolder(join(folder, "share"));
        if (!hanging) return skip("this user may mount nothing");
        try {
          const now = await findLedgerEpoch(pool);
          const file = join(folder, "share/data.epoch");
          const epoch = startEpoch({ pool, file, now, clock: impatientClock, onWentBack: () => undefined });
          const refused = {
            code: "LEDGER_EPOCH_UNUSABLE",
            message: expect.stringContaining("does not answer"),
          };
          const calls = await Promise.allSettled([epoch.advance(), epoch.advance()]);
          expect(calls).toMatchObject([{ reason: refused }, { reason: refused }]);
        } finally {
          await hanging.end();
        }
      }),
    ));
});

describe("the epoch", () => {
  test("is raised after each call was written down, in the ledger before the file", () =>
    withFolder((folder) =>
      withLedger(async ({ pool }) => {
        const file = join(folder, "data.epoch");
        const now = await findLedgerEpoch(pool);
        const epoch = startEpoch({ pool, file, now, onWentBack: () => undefined });
        await Promise.all(Array.from({ length: 20 }, () => epoch.advance()));
        const shared = (await findLedgerEpoch(pool)).epoch;
        expect((await readEpochFile(file))?.epoch).toBe(shared);
        await epoch.advance();
        expect((await readEpochFile(file))?.epoch).toBe(shared + 1);
        expect((await findLedgerEpoch(pool)).epoch).toBe(shared + 1);
      }),
    ));

  test("that another hand changed stops the daemon", () =>
    withFolder((folder) =>
      withLedger(async ({ pool }) => {
        const codes: string[] = [];
        const now = await findLedgerEpoch(pool);
        const epoch = startEpoch({
          pool,
          file: join(folder, "data.epoch"),
          now,
          onWentBack: ({ code }) => codes.push(code),
        });
        await epoch.advance();
        await epoch.advance();
        await pool.query("update ledger set epoch = 0");
        await expect(epoch.advance()).rejects.toMatchObject({ code: "LEDGER_WENT_BACK" });
        expect(codes).toEqual(["LEDGER_WENT_BACK"]);
        const kept: unknown = JSON.parse(await readFile(join(folder, "data.epoch"), "utf8"));
        expect(kept).toMatchObject({ epoch: now.epoch + 2 });
      }),
    ));

  test("that other workers raised is in the file after a look at it, with the restores that they noticed", () =>
    withFolder((folder) =>
      withLedger(async ({ pool }) => {
        const file = join(folder, "data.epoch");
        const now = await findLedgerEpoch(pool);
        const epoch = startEpoch({ pool, file, now, onWentBack: () => undefined });
        await epoch.advance();
        epoch.look()({ epoch: now.epoch + 9, restores: 2 });
        await eventually(async () => (await readEpochFile(file))?.restores === 2);
        expect((await readEpochFile(file))?.epoch).toBe(now.epoch + 9);
        await expect(epoch.advance()).rejects.toMatchObject({ code: "LEDGER_WENT_BACK" });
      }),
    ));

  test.each([
    ["a lower number", { epoch: 8, restores: 1 }],
    ["fewer restores, whoever raised the number since", { epoch: 20, restores: 0 }],
  ])("stops the daemon when a look at the ledger shows %s", (_words, seen) =>
    withFolder((folder) =>
      withLedger(async ({ pool }) => {
        const codes: string[] = [];
        const onWentBack = ({ code }: { code: string }) => codes.push(code);
        const now = { ...(await findLedgerEpoch(pool)), epoch: 9, restores: 1 };
        const epoch = startEpoch({ pool, file: join(folder, "data.epoch"), now, onWentBack });
        epoch.look()({ epoch: 9, restores: 1 });
        expect(() => epoch.look()(seen)).toThrow(expect.objectContaining({ code: "LEDGER_WENT_BACK" }));
        expect(codes).toEqual(["LEDGER_WENT_BACK"]);
      }),
    ),
  );

  test("that went up while the answer to a look was on its way is no older one", () =>
    withFolder((folder) =>
      withLedger(async ({ pool }) => {
        const now = await findLedgerEpoch(pool);
        const onWentBack = () => undefined;
        const epoch = startEpoch({ pool, file: join(folder, "data.epoch"), now, onWentBack });
        const compare = epoch.look();
        await epoch.advance();
        expect(() => compare(now)).not.toThrow();
      }),
    ));
});

describe("a ledger went back", () => {
  const ledger = { ledger: "ABCDEF", epoch: 7, restores: 1 };
  test.each([
    ["when its number is lower than the file's", { ...record, epoch: 8 }, ledger, true],
    ["not when both have the same number", record, ledger, false],
    ["not when a crash came between the ledger and the file", { ...record, epoch: 6 }, ledger, false],
    ["when it knows of fewer restores than the file", { ...record, epoch: 6, restores: 2 }, ledger, true],
    ["not when another worker has noticed it since", { ...record, epoch: 9, restores: 0 }, ledger, false],
    ["when the file is another ledger's", { ...record, ledger: "OTHERS" }, ledger, true],
    ["when the file is missing and calls have left", undefined, ledger, true],
    ["not when it is new", undefined, { ...ledger, epoch: 0 }, false],
  ])("%s", (_words, file, of, is) => {
    expect(decideWentBack(of, file, false) !== undefined).toBe(is);
  });

  test("not when the file is missing on a machine that comes to a ledger which another worker has compared", () => {
    expect(decideWentBack(ledger, undefined, true)).toBeUndefined();
  });

  test("nor when the file there is that of another ledger", () => {
    expect(decideWentBack(ledger, { ...record, ledger: "OTHERS" }, true)).toBeUndefined();
    expect(decideWentBack(ledger, { ...record, ledger: "OTHERS" }, false)).toBeDefined();
  });

  test("also then when there is a file, and its number is higher", () => {
    expect(decideWentBack(ledger, { ...record, epoch: 8 }, true)).toBeDefined();
  });
});

test("a restore waits for calls that are being written down, and neither stops the other", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    const writing = await pool.connect();
    await writing.query("begin; update orders set attempts = attempts");
    const entering = enterRestored(pool, { text: "noticed by the test", epoch: 0, restores: 0, after: 0 });
    await isAwaited(pool);
    await writing.query("update ledger set epoch = epoch + 1; commit");
    writing.release();
    expect(await entering).toMatchObject({ restores: 1, open: 1 });
  }));

test("a ledger that went back gives no number again, however often it goes back to the same copy", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    await takeResultNumber(pool, "csv", "known.csv");
    const [before] = await listOrders(pool, { limit: 1 });
    const text = "told by the test";
    const first = await enterRestored(pool, { text, epoch: 40, restores: 0, after: 0 });
    expect(first).toMatchObject({ epoch: 40, restores: 1, open: 1 });
    expect(await takeResultNumber(pool, "csv", "known.csv")).toBe(1_002);
    expect(await takeResultNumber(pool, "csv", "forgotten.csv")).toBe(1_001);
    await commit(pool, [aRecord(2, [anOrder({ placerOrderNumber: "A-2" })])]);
    const [second] = await listOrders(pool, { limit: 1 });
    expect(second?.id).toBeGreaterThan((before?.id ?? 0) + 1_000_000);
    // The copy knows of no restore; the file does.
    await pool.query("update ledger set restores = 0");
    expect(await enterRestored(pool, { text, epoch: 50, restores: 1, after: 0 })).toMatchObject({
      restores: 2,
    });
    await commit(pool, [aRecord(3, [anOrder({ placerOrderNumber: "A-3" })])]);
    const [third] = await listOrders(pool, { limit: 1 });
    expect(third?.id).toBeGreaterThan((second?.id ?? 0) + 2_000_000);
    const { rows } = await pool.query("select count(*)::integer as count from messages where id < 1000000");
    expect(rows).toEqual([{ count: 1 }]);
  }));

test("of several workers that notice a restore at once, each by its own file, one has the ledger jump ahead", () =>
  withLedger(async ({ pool }) => {
    const noticed = [41, 42, 43].map((epoch) => ({ text: "for a test", epoch, restores: 0, after: 0 }));
    const entered = await Promise.all(noticed.map((each) => enterRestored(pool, each)));
    expect(entered.filter((each) => each !== undefined)).toMatchObject([{ restores: 1 }]);
    const { rows } = await pool.query("select restores from ledger");
    expect(rows).toEqual([{ restores: 1 }]);
    const audit = await pool.query("select from audit where action = 'restore-noticed'");
    expect(audit.rowCount).toBe(1);
  }));

test("a ledger that was restored takes what is in hand back, and hands nothing over that wasn't compared", () =>
  withLedger(async ({ pool }) => {
    const numbers = ["A-1", "A-2", "A-3"];
    await commit(
      pool,
      numbers.map((number, n) => aRecord(n + 1, [anOrder({ placerOrderNumber: number, code: number })])),
    );
    const inHand = await claimNext(pool);
    expect(await enterRestored(pool, { text: "for a test", epoch: 1, restores: 0, after: 0 })).toMatchObject({
      open: 3,
    });
    const { id: orderId, fence } = inHand;
    expect(await recordCall(pool, { ...A_REQUEST, orderId, fence })).toBeUndefined();
    expect(await takeDue(pool)).toEqual([]);
    const end = (id: number) =>
      changeOrders(pool, [{ orderId: id, to: "received", nextInMs: 0, call: { end: "nothing" } }]);
    await end(orderId);
    expect(await takeDue(pool)).toEqual([]);
    for (const { id } of await listOrders(pool, { limit: 10 })) await end(id);
    expect(await takeDue(pool)).toHaveLength(3);
  }));
