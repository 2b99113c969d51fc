import { mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import type { DropWorld } from "./drop-world.ts";
import { hl7Message } from "./drop-world.ts";
import type { JournalIntake } from "./journal-intake.ts";

/** One file of each fate: taken, taken in part, refused, a duplicate, and no file at all. */
export async function dropOneOfEach(world: DropWorld): Promise<void> {
  await mkdir(world.directories.in, { recursive: true });
  await world.drop("good.hl7", hl7Message("A") + hl7Message("B"), 50);
  await world.drop("partly.hl7", hl7Message("C") + hl7Message("D", "REFUSE") + hl7Message("F", "REUSED"), 40);
  await world.drop("refused.hl7", hl7Message("E", "REFUSE"), 30);
  await world.drop("again.hl7", hl7Message("A") + hl7Message("B"), 20);
  await symlink("/etc/hostname", join(world.directories.in, "link.hl7"));
}

/** All that a crash must not change: what lies where, what the reports say, what the ledger has. */
export async function endState(world: DropWorld, intake: JournalIntake) {
  const reports = (await world.list("error")).filter((name) => /\.(txt|json)$/.test(name));
  const texts = await Promise.all(reports.map((name) => world.read("error", name)));
  return {
    archive: (await world.list("archive")).map((name) => name.slice(11)).sort(),
    error: await world.list("error"),
    reports: texts.map(withoutTimes),
    ledger: intake.summary().sort((a, b) => (a.name < b.name ? -1 : 1)),
  };
}

/** The reference and the times say when the file was claimed, which a crash may well change. */
function withoutTimes(text: string): string {
  return text
    .replace(/[0-9A-HJKMNP-TV-Z]{26}/g, "REFERENCE")
    .replace(/\d{4}-\d\d-\d\d[T ][\d:.]+(?: UTC|Z)/g, "TIME");
}
