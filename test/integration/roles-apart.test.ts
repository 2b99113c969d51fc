import { mkdir, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { openConsole } from "../../src/app/console.ts";
import { startDaemon } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import { systemClock } from "../../src/core/clock.ts";
import { readEpochFile } from "../../src/ledger/restored/epoch-file.ts";
import { listWorkers } from "../../src/ledger/workers/roster.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { eventually } from "../support/eventually.ts";
import { withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";
import { standIn } from "../support/worker.ts";

test("a daemon that only takes orders in says so while no other one works them off", () =>
  withSite({}, async ({ configFile, pool }) => {
    const config = loadConfig(configFile, { env: {}, profileSchema });
    const onFatal = () => {};
    const daemon = await startDaemon(config, {
      roles: new Set(["intake", "console"] as const),
      logger: silent,
      onFatal,
    });
    const running = await openConsole(daemon, { version: "1.2.3", logger: silent, clock: systemClock });
    try {
      const ready = async () => (await fetch(`${running.url}/readyz`)).json();
      const noWorker = expect.stringContaining("no daemon with the role worker works on this ledger");
      expect(await ready()).toEqual({ ready: true, reasons: expect.arrayContaining([noWorker]) });
      const worker = await standIn(pool);
      // What a busy machine makes it say besides is not about roles.
      expect(await ready()).toEqual({ ready: true, reasons: expect.not.arrayContaining([noWorker]) });
      await worker.leave();
    } finally {
      await running.close();
      await daemon.stop();
    }
  }));

test("a daemon that only takes orders in ends where the ledger was put back under it", () =>
  withSite({}, async ({ configFile, pool }) => {
    const failures: string[] = [];
    await pool.query("update ledger set epoch = 7");
    const daemon = await startDaemon(loadConfig(configFile, { env: {}, profileSchema }), {
      roles: new Set(["intake"] as const),
      logger: silent,
      onFatal: ({ code }) => failures.push(code),
    });
    try {
      await eventually(
        async () => (await readEpochFile(`${join(dirname(configFile), "data.epoch")}.intake`))?.epoch === 7,
      );
      await pool.query("update ledger set epoch = 6");
      await eventually(async () => failures.includes("LEDGER_WENT_BACK"));
    } finally {
      await daemon.stop();
    }
  }));

test.each([["worker", ""] as const, ["intake", ".intake"] as const, ["console", ".console"] as const])(
  "a daemon of the role %s says as long as its epoch file can't be written",
  (role, suffix) =>
    withSite({}, async ({ configFile, pool }) => {
      const epochFile = join(dirname(configFile), `data.epoch${suffix}`);
      const daemon = await startDaemon(loadConfig(configFile, { env: {}, profileSchema }), {
        ...{ roles: new Set([role]), host: "lab-1", logger: silent, onFatal: () => {} },
      });
      const found = () => daemon.conditions().find(({ about }) => about === "epoch file on lab-1");
      try {
        await eventually(async () => (await readEpochFile(epochFile)) !== undefined);
        expect(found()).toBeUndefined();
        // Not even root can write to a folder.
        await rm(epochFile);
        await mkdir(epochFile);
        await pool.query("update ledger set epoch = epoch + 1");
        expect(await eventually(found)).toMatchObject({
          ...{ kind: "daemonTrouble", level: "act", hint: expect.stringContaining("Correct the rights") },
          text: expect.stringContaining(`${epochFile} can't be written (EISDIR)`),
        });
        // Whichever daemon is asked knows of it.
        await eventually(async () =>
          (await listWorkers(pool)).some(({ conditions }) =>
            conditions.some(({ text }) => text.includes(epochFile)),
          ),
        );
        await rmdir(epochFile);
        await eventually(() => found() === undefined);
      } finally {
        await daemon.stop();
      }
    }),
);
