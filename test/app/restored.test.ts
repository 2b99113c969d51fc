import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openEpoch } from "../../src/app/restored.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import type { Role } from "../../src/core/role.ts";
import { findLedgerEpoch } from "../../src/ledger/restored/epoch.ts";
import { readEpochFile, writeEpochFile } from "../../src/ledger/restored/epoch-file.ts";
import { findRestored } from "../../src/ledger/restored/restore.ts";
import { joinWorkers, type Membership } from "../../src/ledger/workers/membership.ts";
import { eventually } from "../support/eventually.ts";
import { hangFolder, impatientClock } from "../support/hanging-folder.ts";
import { withFolder } from "../support/with-folder.ts";
import { silent, type TestLedger, withLedger } from "../support/with-ledger.ts";

const enter = ({ connection, pool }: TestLedger, name: string): Promise<Membership> =>
  joinWorkers({
    connection: { ...connection, application_name: name },
    ...{ pool, clock: systemClock, logger: silent },
    self: { name, host: "here", pid: 1, version: "1.0.0", roles: ["worker"], connectors: [] },
    onDrain: () => undefined,
  });

const open = (
  worker: Membership,
  { pool }: TestLedger,
  epochFile: string,
  role: Role = "worker",
  clock: Clock = systemClock,
) =>
  openEpoch(
    { epochFile },
    {
      ...{ pool, logger: silent, clock, worker, roles: new Set([role]) },
      onWentBack: (failure) => {
        throw failure;
      },
    },
  );

test("a worker that starts while the first one of a new ledger has still to write its epoch file takes it for no older copy", () =>
  withFolder((folder) =>
    withLedger(async (ledger) => {
      const first = await enter(ledger, "first");
      const second = await enter(ledger, "second");
      try {
        // The number is up, and the file can't be written: the moment between the two lasts.
        await expect(open(first, ledger, join(folder, "missing", "first.epoch"))).rejects.toMatchObject({
          code: "LEDGER_EPOCH_UNUSABLE",
        });
        await open(second, ledger, join(folder, "second.epoch"));
        expect(await findRestored(ledger.pool)).toBeUndefined();
      } finally {
        await Promise.all([first.leave(), second.leave()]);
      }
    }),
  ));

test("a daemon that only takes orders in knows an older copy as well, by a file of its own", () =>
  withFolder((folder) =>
    withLedger(async (ledger) => {
      const file = join(folder, "data.epoch");
      const numberNow = () => findLedgerEpoch(ledger.pool);
      const [worker, intake] = [await enter(ledger, "worker"), await enter(ledger, "intake")];
      try {
        await open(worker, ledger, file);
        const before = await numberNow();
        const epoch = await open(intake, ledger, file, "intake");
        epoch.look()(before);
        expect(await eventually(async () => await readEpochFile(`${file}.intake`))).toEqual(before);
        // It submits nothing, so its start is no news.
        expect(await numberNow()).toEqual(before);
        await worker.leave();
        await ledger.pool.query("update ledger set epoch = epoch - 1");
        await open(intake, ledger, file, "intake");
        expect((await findRestored(ledger.pool))?.by).toMatch(/its epoch file at 1/);
      } finally {
        await Promise.all([worker.leave(), intake.leave()]);
      }
    }),
  ));

test("a daemon that only takes orders in, and has no file yet or a damaged one, says nothing of the ledger, and nobody takes its word", () =>
  withFolder((folder) =>
    withLedger(async (ledger) => {
      const [intake, worker] = [await enter(ledger, "intake"), await enter(ledger, "worker")];
      try {
        await ledger.pool.query("update ledger set epoch = 7");
        // A disk that was full leaves an empty one.
        await writeFile(join(folder, "a.epoch.intake"), "");
        await open(intake, ledger, join(folder, "a.epoch"), "intake");
        expect(await findRestored(ledger.pool)).toBeUndefined();
        await open(worker, ledger, join(folder, "b.epoch"));
        expect((await findRestored(ledger.pool))?.by).toMatch(/its epoch file is missing/);
      } finally {
        await Promise.all([intake.leave(), worker.leave()]);
      }
    }),
  ));

test("an epoch file that hangs ends the start of a worker, and holds up no intake", ({ skip }) =>
  withFolder((folder) =>
    withLedger(async (ledger) => {
      const daemon = await enter(ledger, "daemon");
      const hanging = await hangFolder(join(folder, "share"));
      try {
        if (!hanging) return skip("this user may mount nothing");
        const file = join(folder, "share/data.epoch");
        await expect(open(daemon, ledger, file, "worker", impatientClock)).rejects.toMatchObject({
          ...{ code: "LEDGER_EPOCH_UNUSABLE", message: expect.stringContaining("does not answer") },
        });
        const epoch = await open(daemon, ledger, file, "intake", impatientClock);
        epoch.look()(await findLedgerEpoch(ledger.pool));
        expect(await eventually(() => epoch.trouble?.message)).toContain("data.epoch.intake does not answer");
      } finally {
        await hanging?.end();
        await daemon.leave();
      }
    }),
  ));

test.each([
  ["worker", { restores: 3 }],
  ["intake", { epoch: 9 }],
] as const)(
  "a daemon that was away knows an older copy by what the other daemons of its machine knew: role %s",
  (role, ahead) =>
    withFolder((folder) =>
      withLedger(async (ledger) => {
        const file = join(folder, "data.epoch");
        await ledger.pool.query("update ledger set epoch = 7, restores = 1");
        const now = await findLedgerEpoch(ledger.pool);
        const [own, others] = role === "worker" ? [file, `${file}.console`] : [`${file}.${role}`, file];
        await writeEpochFile(own, { ...now, epoch: 5 }, { isFirst: true });
        await writeEpochFile(others, { ...now, ...ahead }, { isFirst: true });
        const daemon = await enter(ledger, "daemon");
        try {
          await open(daemon, ledger, file, role);
          expect(await findRestored(ledger.pool)).toBeDefined();
          const { epoch, restores } = { ...now, ...ahead };
          const entered = await findLedgerEpoch(ledger.pool);
          expect(entered.restores).toBe(restores + 1);
          expect(entered.epoch).toBeGreaterThanOrEqual(epoch);
        } finally {
          await daemon.leave();
        }
      }),
    ),
);
