import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { machineHas } from "../../support/needs.ts";
import { startProcess } from "../../support/process.ts";
import { withFolder } from "../../support/with-folder.ts";
import { dropOneOfEach, endState } from "../crash-scenario.ts";
import { type DropWorld, makeWorld, withDropWorld } from "../drop-world.ts";
import { JournalIntake } from "../journal-intake.ts";
import { STEPS, type Step } from "../steps.ts";

/** Keeps what was stopped in its tracks from being collected with its files open. */
const frozen: Promise<never>[] = [];

/** Runs until the step is met for the nth time, and then stops for ever; false when it never is. */
async function runUntil(world: DropWorld, step: Step, hit: number): Promise<boolean> {
  let hits = 0;
  let isStopped = false;
  const steps = (met: Step) => {
    if (met === step) hits += 1;
    // Files that are carried out together stop together: after a crash nothing runs on.
    if (hits < hit) return;
    const never = new Promise<never>(() => {});
    frozen.push(never);
    isStopped = true;
    return never;
  };
  const connector = world.hl7({}, { steps });
  await connector.start();
  await world.settled(() => isStopped);
  if (!isStopped) await connector.stop();
  return isStopped;
}

async function undisturbedEnd() {
  let end: Awaited<ReturnType<typeof endState>> | undefined;
  await withDropWorld(async (world) => {
    await dropOneOfEach(world);
    await world.start(world.hl7());
    await world.settled();
    end = await endState(world, world.intake);
  });
  return end;
}

describe("a crash", () => {
  test.each(STEPS)("at step %s, whichever time it is met, changes nothing of the end", async (step) => {
    const expected = await undisturbedEnd();
    expect(expected?.archive).toEqual(["again.hl7", "good.hl7", "partly.hl7"]);
    let hit = 1;
    for (let isMet = true; isMet; hit++) {
      await withDropWorld(async (world) => {
        await dropOneOfEach(world);
        isMet = await runUntil(world, step, hit);
        if (!isMet) return;
        const intake = new JournalIntake(world.journalPath);
        await world.start(world.hl7({}, { intake }));
        await world.settled();
        expect(await endState(world, intake), `${step}, time ${hit}`).toEqual(expected);
      });
    }
    expect(hit, "the step was never met").toBeGreaterThan(2);
  });
});

describe.runIf(machineHas("linux"))("a killed process", () => {
  test("leaves nothing that the next one does not finish, wherever it was", async () => {
    const expected = await undisturbedEnd();
    for (let run = 0; run < 2; run++) {
      await withFolder(async (folder) => {
        const world = makeWorld(folder, []);
        await dropOneOfEach(world);
        // Two kills and then a run to the end.
        for (const killAt of [1 + Math.floor(Math.random() * 45), 1 + Math.floor(Math.random() * 20), 0]) {
          const child = startProcess(process.execPath, [
            join(import.meta.dirname, "..", "drop-child.ts"),
            folder,
            String(killAt),
          ]);
          await child.nextLine();
          await child.end("SIGKILL");
        }
        expect(await endState(world, new JournalIntake(world.journalPath))).toEqual(expected);
      });
    }
  });
});
