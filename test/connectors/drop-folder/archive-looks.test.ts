import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { ArchivedFile, ArchiveLook, ArchiveWatch } from "../../../src/core/archive-watch.ts";
import { eventually } from "../../support/eventually.ts";
import { withDropWorld } from "../drop-world.ts";
import { ledgerAway } from "../journal-intake.ts";

const MESSAGE = "MSH|^~\\&|LIMS|NORTH|||20260101||ORM^O01|A-1|P|2.5\rPID|1\r";

/** What the ledger would remember, and a fault to have it away for once. */
class Remembered implements ArchiveWatch {
  readonly files = new Map<string, ArchivedFile>();
  readonly looks: ArchiveLook[] = [];
  faults: number;

  constructor(faults = 0) {
    this.faults = faults;
  }

  async note(file: ArchivedFile): Promise<void> {
    if (this.faults-- > 0) throw ledgerAway();
    this.files.set(file.fileId, file);
  }

  async listDue(): Promise<ArchivedFile[]> {
    return [...this.files.values()];
  }

  async record(file: ArchivedFile, look: ArchiveLook): Promise<void> {
    this.files.delete(file.fileId);
    this.looks.push(look);
  }
}

test("an archived file is remembered under the name that it got, also when the ledger was away after the move", () =>
  withDropWorld(async (world) => {
    const archiveWatch = new Remembered(2);
    const connector = await world.start(
      world.hl7({}, { archiveWatch: { ...bound(archiveWatch), listDue: async () => [] } }),
    );
    await world.drop("one.hl7", MESSAGE);
    await eventually(() => archiveWatch.files.size === 1, { what: "the first file" });
    await world.drop("one.hl7", MESSAGE.replace("A-1", "A-2"));
    await eventually(() => archiveWatch.files.size === 2, { what: "the second file" });
    await connector.stop();
    const archived = (await world.list("archive"))
      .map((name) => join(world.directories.archive, name))
      .sort();
    expect([...archiveWatch.files.values()].map(({ path }) => path).sort()).toEqual(archived);
    for (const { sizeBytes } of archiveWatch.files.values()) expect(sizeBytes).toBe(MESSAGE.length);
  }));

test("what is compared is the file as it was read: a write between reading and archiving is seen", () =>
  withDropWorld(async (world) => {
    const archiveWatch = new Remembered();
    const steps = async (step: string) => {
      if (step !== "closed") return;
      const [claimed] = (await world.list("work")).filter((name) => name.endsWith("one.hl7"));
      await appendFile(join(world.directories.work, claimed ?? ""), MESSAGE);
    };
    const connector = await world.start(world.hl7({}, { archiveWatch, steps }));
    await world.drop("one.hl7", MESSAGE);
    await eventually(() => archiveWatch.looks.length === 1, { what: "the look" });
    await connector.stop();
    expect(archiveWatch.looks).toEqual([{ sizeBytes: 2 * MESSAGE.length }]);
  }));

test.each(["hangs", "fails"])(
  "a look at the archive that %s keeps no file from being taken, nor the connector from stopping",
  (how) =>
    withDropWorld(async (world) => {
      const archiveWatch = new Remembered();
      const listDue = async () => {
        if (how === "fails") throw ledgerAway();
        return new Promise<never>(() => {});
      };
      const connector = await world.start(
        world.hl7({}, { archiveWatch: { ...bound(archiveWatch), listDue } }),
      );
      for (const name of ["one.hl7", "two.hl7"]) {
        await world.drop(name, MESSAGE);
        await eventually(async () => (await world.list("in")).length === 0, { what: name });
        expect(connector.trouble).toBeUndefined();
      }
      await eventually(() => archiveWatch.files.size > 0);
      await connector.stop();
    }),
);

function bound(watch: Remembered): ArchiveWatch {
  return {
    note: (file) => watch.note(file),
    listDue: () => watch.listDue(),
    record: (file, look) => watch.record(file, look),
  };
}
