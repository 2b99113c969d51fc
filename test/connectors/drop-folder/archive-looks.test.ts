import { execFileSync } from "node:child_process";
import { appendFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import type { DroppedFiles } from "../../../src/core/dropped-files.ts";
import { eventually } from "../../support/eventually.ts";
import { machineHas } from "../../support/needs.ts";
import { dropDirectories, makeWorld, withDropWorld } from "../drop-world.ts";
import { ledgerAway } from "../journal-intake.ts";
import type { Step } from "../steps.ts";

const MESSAGE = "MSH|^~\\&|LIMS|NORTH|||20260101||ORM^O01|A-1|P|2.5\rPID|1\r";

test("an archived file is remembered under the name that it got, also when the ledger was away after the move", () =>
  withDropWorld(async (world) => {
    let faults = 2;
    const steps = (step: Step) => {
      if (step !== "moves-durable" || faults-- <= 0) return;
      world.intake.failure = ledgerAway();
      setTimeout(() => {
        world.intake.failure = undefined;
      }, 50);
    };
    const connector = await world.start(world.hl7({}, { steps, dropped: without(world.intake, "listDue") }));
    await world.drop("one.hl7", MESSAGE);
    await world.settled();
    await world.drop("one.hl7", MESSAGE.replace("A-1", "A-2"));
    await world.settled();
    await connector.stop();
    const archived = (await world.list("archive")).map((name) => join(world.directories.archive, name));
    const remembered = [...world.intake.rows.values()].flatMap((row) => row.archived ?? []);
    expect(remembered.map(({ path }) => path).sort()).toEqual(archived.sort());
    expect(remembered.map(({ sizeBytes }) => sizeBytes)).toEqual([MESSAGE.length, MESSAGE.length]);
  }));

test("what is compared is the file as it was read: a write between reading and archiving is seen", () =>
  withDropWorld(async (world) => {
    const steps = async (step: Step) => {
      if (step !== "settled") return;
      const [claimed] = (await world.list("work")).filter((name) => name.endsWith("one.hl7"));
      await appendFile(join(world.directories.work, claimed ?? ""), MESSAGE);
    };
    // Checks are due now and then: a clock that runs a hundred times as fast.
    const clock = { ...systemClock, monotonic: () => systemClock.monotonic() * 100 };
    const connector = await world.start(world.hl7({}, { steps, clock }));
    await world.drop("one.hl7", MESSAGE);
    await eventually(() => world.intake.looks.length === 1, { what: "the look" });
    await connector.stop();
    expect(world.intake.looks).toEqual([{ sizeBytes: 2 * MESSAGE.length }]);
  }));

test.runIf(machineHas("root", "linux"))(
  "a share that is away when the archive is looked at forgets no file",
  () =>
    withDropWorld(async (world) => {
      const shared = join(world.folder, "shared");
      await mkdir(shared);
      execFileSync("mount", ["-t", "tmpfs", "tmpfs", shared]);
      const clock = { ...systemClock, monotonic: () => systemClock.monotonic() * 100 };
      let isAway = false;
      const listDue = async (connector: string) => {
        const due = await world.intake.listDue(connector);
        if (due.length === 0 || isAway) return due;
        isAway = true;
        execFileSync("umount", ["--lazy", shared]);
        return due;
      };
      const dropped = without(world.intake, "listDue", listDue);
      const connector = world.hl7({ directories: dropDirectories(shared) }, { dropped, clock });
      await connector.start();
      await makeWorld(shared, []).drop("one.hl7", MESSAGE);
      await eventually(() => connector.trouble?.includes("can't be reached"));
      await connector.stop();
      expect(isAway).toBe(true);
      expect(world.intake.looks).toEqual([]);
    }),
);

test.each(["hangs", "fails"])(
  "a look at the archive that %s keeps no file from being taken, nor the connector from stopping",
  (how) =>
    withDropWorld(async (world) => {
      const listDue = async () => {
        if (how === "fails") throw ledgerAway();
        return new Promise<never>(() => {});
      };
      const dropped = without(world.intake, "listDue", listDue);
      const connector = await world.start(world.hl7({}, { dropped }));
      for (const name of ["one.hl7", "two.hl7"]) {
        await world.drop(name, MESSAGE);
        await world.settled();
        expect(connector.trouble).toBeUndefined();
      }
      await connector.stop();
    }),
);

/** The rows with one function that does otherwise; by itself nothing. */
function without(
  rows: DroppedFiles,
  name: "listDue",
  instead: DroppedFiles["listDue"] = async () => [],
): DroppedFiles {
  return new Proxy(rows, {
    get: (target, key: keyof DroppedFiles) => {
      if (key === name) return instead;
      const value = target[key];
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}
