import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ClaimIds } from "../../../src/connectors/drop-folder/claim.ts";
import { systemFileOps, writeDurably } from "../../../src/connectors/drop-folder/file-ops.ts";
import { currentIdentity, WorkInstance } from "../../../src/connectors/drop-folder/instance.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { withFolder } from "../../support/with-folder.ts";
import { deadIdentity, hl7Message, listDeep, withDropWorld } from "../drop-world.ts";

describe("two daemons on one folder", () => {
  test("take each file once between them", () =>
    withDropWorld(async (world) => {
      await world.start(world.hl7());
      await world.start(world.hl7());
      const names = Array.from({ length: 80 }, (_, i) => `f${i}.hl7`);
      for (const name of names) await world.drop(name, hl7Message(name));
      await world.settled();
      expect(
        world.intake
          .summary()
          .map((file) => file.name)
          .sort(),
      ).toEqual([...names].sort());
      expect(await world.list("archive")).toHaveLength(80);
      expect(await world.list("error")).toEqual([]);
    }));
});

describe("the work folder of another daemon", () => {
  /** An instance with one claimed file in its folder. */
  async function withOther(
    test: (world: {
      other: WorkInstance;
      us: WorkInstance;
      clock: { ms: number };
      file: string;
    }) => Promise<void>,
    isDead: boolean,
  ): Promise<void> {
    await withFolder(async (folder) => {
      const clock = { ms: 0 };
      const deps = { clock: { ...systemClock, monotonic: () => clock.ms }, ops: systemFileOps };
      const here = currentIdentity();
      const elsewhere = { ...here, place: "another machine" };
      const other = new WorkInstance(folder, { ...deps, identity: isDead ? deadIdentity(here) : elsewhere });
      const us = new WorkInstance(folder, { ...deps, identity: here });
      await other.ensure();
      await us.ensure();
      const file = `${new ClaimIds().next(0)}__a.hl7`;
      await writeDurably(join(other.folder, file), "MSH");
      try {
        await test({ other, us, clock, file });
      } finally {
        await other.close();
        await us.close();
      }
    });
  }

  test("is left alone while the other gives signs of life", () =>
    withOther(async ({ other, us, clock, file }) => {
      expect(await us.adopt()).toBe(false);
      clock.ms = 9_000;
      expect(await us.adopt()).toBe(false);
      expect(await listDeep(other.folder)).toContain(file);
    }, false));

  test("is taken over when no sign of life came for ten seconds by our own clock", () =>
    withOther(async ({ us, clock, file }) => {
      await us.adopt();
      clock.ms = 10_000;
      expect(await us.adopt()).toBe(true);
      expect(await listDeep(us.folder)).toEqual([".owner", file]);
    }, false));

  test("is taken over at once when its process is gone from this machine", () =>
    withOther(async ({ us, file }) => {
      expect(await us.adopt()).toBe(true);
      expect(await listDeep(us.folder)).toEqual([".owner", file]);
    }, true));

  test("is taken over at once when the other let it go", () =>
    withOther(async ({ other, us, file }) => {
      await other.close();
      expect(await us.adopt()).toBe(true);
      expect(await listDeep(us.folder)).toEqual([".owner", file]);
    }, false));

  test("within ours, left there by a take-over that was cut off, is emptied", () =>
    withOther(async ({ us, file }) => {
      const nested = join(us.folder, new ClaimIds().next(1), new ClaimIds().next(2));
      await mkdir(nested, { recursive: true });
      const deep = `${new ClaimIds().next(2)}__deep.hl7`;
      await writeDurably(join(nested, deep), "MSH");
      expect(await us.adopt()).toBe(true);
      expect(await listDeep(us.folder)).toEqual([".owner", file, deep].sort());
    }, true));

  test("makes its owner begin a new one once it was taken for dead", () =>
    withOther(async ({ other, us, clock }) => {
      await us.adopt();
      clock.ms = 10_000;
      await us.adopt();
      const before = other.folder;
      await other.ensure();
      expect(other.folder).not.toBe(before);
      expect(await listDeep(other.folder)).toEqual([".owner"]);
    }, false));
});
