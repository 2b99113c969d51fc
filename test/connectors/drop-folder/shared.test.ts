import { mkdir, readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { ClaimIds } from "../../../src/connectors/drop-folder/claim.ts";
import { systemFileOps, writeDurably } from "../../../src/connectors/drop-folder/file-ops.ts";
import { eventually } from "../../support/eventually.ts";
import { type DropWorld, hl7Message, withDropWorld } from "../drop-world.ts";
import type { Step } from "../steps.ts";

/** A daemon beside the world's own. */
function daemonBeside(world: DropWorld, steps?: (step: Step) => void | Promise<void>) {
  const intake = world.intake.sibling();
  return { intake, connector: world.hl7({}, { intake, steps }) };
}

interface HangingDaemon {
  readonly intake: DropWorld["intake"];
  /** The steps that it has come by, that at which it hangs included. */
  readonly met: readonly Step[];
  /** Lets it go on; resolves once it has done all that it still does. */
  wake(): Promise<void>;
}

/** A daemon that has claimed a file, and hangs at that step. */
async function withHanging(
  step: Step,
  run: (world: DropWorld, other: HangingDaemon) => Promise<void>,
): Promise<void> {
  await withDropWorld(async (world) => {
    let wake = () => {};
    let isHanging = false;
    const met: Step[] = [];
    const { intake, connector } = daemonBeside(world, (each) => {
      met.push(each);
      if (each !== step || isHanging) return;
      isHanging = true;
      return new Promise((resolve) => {
        wake = resolve;
      });
    });
    await world.start(connector);
    await world.drop("a.hl7", hl7Message("A") + hl7Message("B", "REFUSE"));
    await eventually(() => isHanging);
    try {
      const wakeUp = async () => {
        wake();
        await connector.stop();
      };
      await run(world, { intake, met, wake: wakeUp });
    } finally {
      wake();
    }
  });
}

describe("two daemons on one folder", () => {
  test("take each file once between them", () =>
    withDropWorld(async (world) => {
      await world.start(world.hl7());
      await world.start(daemonBeside(world).connector);
      const names = Array.from({ length: 80 }, (_, i) => `f${i}.hl7`);
      for (const name of names) await world.drop(name, hl7Message(name));
      await world.settled();
      const taken = world.intake.summary().map((file) => file.name);
      expect(taken.sort()).toEqual([...names].sort());
      expect(await world.list("archive")).toHaveLength(80);
      expect(await world.list("error")).toEqual([]);
    }));
});

describe("a file that another daemon has claimed", () => {
  test("is left alone while that one is a worker of the ledger", () =>
    withHanging("read", async (world) => {
      await world.start(world.hl7());
      await world.drop("b.hl7", hl7Message("C"));
      await eventually(async () => (await world.list("archive")).length === 1);
      expect((await world.list("archive")).map((name) => name.slice(11))).toEqual(["b.hl7"]);
      expect(await world.list("work")).toHaveLength(1);
    }));

  test.each<Step>(["noted", "claimed", "read", "accepted", "settled", "data-moved", "moves-durable"])(
    "and hangs with at the step %s is taken over once it counts as gone, and done by one of them when it wakes up",
    (step) =>
      withHanging(step, async (world, other) => {
        other.intake.end();
        await world.start(world.hl7());
        // What was not moved yet the hanging one moves when it wakes up.
        if (step !== "noted") await world.settled();
        await other.wake();
        await world.settled();
        const [file] = world.intake.summary();
        expect(world.intake.summary()).toHaveLength(1);
        expect(file).toMatchObject({ status: "taken", messages: [{ raw: hl7Message("A") }, {}] });
        expect((await world.list("archive")).map((name) => name.slice(11))).toEqual(["a.hl7"]);
        expect(await world.list("error")).toEqual(["a.hl7.error.json", "a.hl7.error.txt"]);
        expect(world.intake.duplicates).toEqual([]);
        expect([...world.intake.rows.values()].every(({ archived }) => archived)).toBe(true);
      }),
  );
});

test("a daemon that wakes up does nothing more with a file that was taken over since it was decided", () =>
  withHanging("settled", async (world, other) => {
    other.intake.end();
    await world.start(world.hl7());
    await world.settled();
    await other.wake();
    expect(other.met.at(-1)).toBe("settled");
  }));

test("where one file of a claim may not be moved, none of those dropped later is moved before it", () =>
  withDropWorld(async (world) => {
    const { intake } = world;
    const claim = intake.claim.bind(intake);
    let asked = 0;
    intake.claim = async (...words) => {
      const mayMove = await claim(...words);
      // A heartbeat was late, and comes then.
      return () => ++asked > 1 && mayMove();
    };
    await mkdir(world.directories.in, { recursive: true });
    for (const [i, name] of ["a", "b", "c"].entries())
      await world.drop(`${name}.hl7`, hl7Message(name), 9 - i);
    await world.start(world.hl7());
    await world.settled();
    expect(world.intake.summary().map(({ name }) => name)).toEqual(["a.hl7", "b.hl7", "c.hl7"]);
  }));

test("a worker that entered anew moves what it has in hand by what the ledger says of it then", () =>
  withDropWorld(async (world) => {
    const { intake, directories } = world;
    const lines: string[] = [];
    const logger = pino({ level: "warn" }, { write: (line) => void lines.push(line) });
    let isFirst = true;
    const rename = async (from: string | Buffer, to: string) => {
      if (!isFirst || !to.startsWith(directories.archive)) return systemFileOps.rename(from, to);
      isFirst = false;
      intake.enterAnew();
      // Shows that there is something to take over.
      await writeDurably(join(directories.work, intake.ledger, `${new ClaimIds().next(1)}__b.hl7`), "");
      throw Object.assign(new Error("not now"), { code: "EXDEV" });
    };
    await world.start(world.hl7({}, { logger, fileOps: { rename } }));
    await world.drop("a.hl7", hl7Message("A"));
    await world.settled();
    expect((await world.list("archive")).map((name) => name.slice(11))).toEqual(["a.hl7"]);
    expect(lines.filter((line) => line.includes("is not this worker's for certain"))).toEqual([]);
  }));

test("what was dropped later does not overtake a file of a daemon that was killed a moment ago", () =>
  withHanging("claimed", async (world, other) => {
    other.intake.die();
    // Each look at the folder asks who has the files that lie in it.
    let looks = 0;
    const { takeOver } = world.intake;
    world.intake.takeOver = (...asked) => {
      looks += 1;
      return takeOver.apply(world.intake, asked);
    };
    await world.start(world.hl7());
    await world.drop("b.hl7", hl7Message("C"));
    const before = looks;
    // Two are enough for a file to count as whole.
    await eventually(() => looks > before + 5);
    expect(world.intake.summary()).toEqual([]);
    other.intake.end();
    await world.settled();
    expect(world.intake.summary().map(({ name }) => name)).toEqual(["a.hl7", "b.hl7"]);
  }));

test.each<Step>(["noted", "read"])(
  "a file that was taken over from a daemon that hangs at the step %s is no duplicate to that one when it wakes up",
  (step) =>
    withHanging(step, async (world, other) => {
      other.intake.end();
      await world.start(world.hl7());
      if (step === "read") await world.settled();
      await other.wake();
      await world.settled();
      expect(world.intake.summary()).toHaveLength(1);
      expect(world.intake.duplicates).toEqual([]);
    }),
);

test("a file in the work folder that the ledger knows nothing of, as after it was put back, is taken", () =>
  withDropWorld(async (world) => {
    const folder = join(world.directories.work, world.intake.ledger);
    await mkdir(folder, { recursive: true });
    await writeDurably(join(folder, `${new ClaimIds().next(0)}__a.hl7`), hl7Message("A"));
    await world.start(world.hl7());
    await world.settled();
    expect(world.intake.summary()).toMatchObject([{ name: "a.hl7", status: "taken" }]);
  }));

test("what another ledger's daemon claimed is left to it, and told", () =>
  withDropWorld(async (world) => {
    const folder = join(world.directories.work, "OTHERS");
    const name = `${new ClaimIds().next(0)}__a.hl7`;
    await mkdir(folder, { recursive: true });
    await writeDurably(join(folder, name), hl7Message("A"));
    const connector = await world.start(world.hl7());
    await eventually(() => connector.warning?.includes("if that one is gone for good, move them to"));
    expect(await readdir(folder)).toEqual([name]);
    expect(connector.warning).toContain("each under its own name, which stands behind the __");
    await rename(join(folder, name), join(world.directories.in, "a.hl7"));
    await world.settled();
    expect(world.intake.summary()).toMatchObject([{ name: "a.hl7", status: "taken" }]);
  }));
