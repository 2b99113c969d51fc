import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Intake } from "../../../src/core/intake.ts";
import { eventually } from "../../support/eventually.ts";
import { hl7Message, withDropWorld } from "../drop-world.ts";

/** Keeps nothing but the count. */
class CountingIntake implements Intake {
  files = 0;

  constructor(rows: Pick<Intake, "settleFile">) {
    this.settleFile = (...words) => rows.settleFile(...words);
  }

  openFile: Intake["openFile"] = async (_file, _claimId, messages) => {
    this.files += 1;
    return { status: "new", fileId: String(this.files), verdicts: this.inspect("", messages) };
  };
  accept: Intake["accept"] = async (_source, messages) => this.inspect("", messages);
  inspect: Intake["inspect"] = (_connector, messages) =>
    messages.map(({ ordinal, place }) => ({ ordinal, place, verdict: "accepted", problems: [], orders: [] }));
  settleFile: Intake["settleFile"];
  answerBatch = () => undefined;
}

test("six hundred small files at once are all taken", () =>
  withDropWorld(async (world) => {
    await mkdir(world.directories.in, { recursive: true });
    for (let i = 0; i < 600; i++) {
      await writeFile(join(world.directories.in, `${i}.hl7`), hl7Message(String(i)));
    }
    const intake = new CountingIntake(world.intake);
    await world.start(world.hl7({}, { intake }));
    await eventually(async () => (await world.list("archive")).length === 600);
    expect(intake.files).toBe(600);
  }));
