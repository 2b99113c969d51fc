import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FakeClock } from "../service/fake-clock.ts";
import { openArrivals } from "../support/arrivals.ts";
import { eventually } from "../support/eventually.ts";
import { withFullDisk } from "../support/full-disk.ts";
import { HEADER_BYTES, type Journals, losingPool, withJournals } from "../support/journals.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { machineHas } from "../support/needs.ts";
import { withReceptions } from "../support/with-receptions.ts";

const PATIENT = "Quillfeather";

/** Arrivals with a journal in front of them, by a clock of the test; `isAway` says whether commits fail. */
async function startArrivals({ pool, open }: Journals, clock: FakeClock, isAway: () => boolean) {
  const arrivals = openArrivals(pool, clock);
  await arrivals.start(await open({ pool: losingPool(pool, () => (isAway() ? "refused" : undefined)) }));
  return arrivals;
}

describe("the state of a journal", () => {
  test("tells what the ledger has not taken, and for how long, until it has", () =>
    withJournals(async (journals) => {
      const clock = new FakeClock();
      let isAway = true;
      const arrivals = await startArrivals(journals, clock, () => isAway);
      expect(arrivals.journalState).toEqual({
        connector: "lims",
        messages: 0,
        oldestSeconds: 0,
        isUsable: true,
      });
      await arrivals.putDown(await journals.take(2));
      await clock.advance(6_000);
      expect(arrivals.journalState).toMatchObject({ messages: 2, oldestSeconds: 6 });
      isAway = false;
      await arrivals.emptyJournal();
      expect(arrivals.journalState).toMatchObject({ messages: 0, oldestSeconds: 0 });
      await arrivals.stop(0);
    }));

  test("is that of each connector with a journal, and there is none without", () =>
    withReceptions(async ({ open }) => {
      const reception = await open({}, undefined, { hasJournal: true });
      expect(reception.journals()).toEqual([]);
      await reception.start();
      expect(reception.journals()).toEqual([
        { connector: "hl7", messages: 0, oldestSeconds: 0, isUsable: true },
      ]);
      await reception.take(omlO33({ number: "A-1" }));
      const other = await open({});
      await other.start();
      expect(other.journals()).toEqual([]);
    }));
});

describe.runIf(machineHas("prlimit"))("a journal that isn't used any more", () => {
  test("is wiped within a minute, once the ledger has all of it", () =>
    withJournals(async (journals) => {
      const clock = new FakeClock();
      const arrivals = await startArrivals(journals, clock, () => false);
      const refused = await journals.take(1, { raw: `PID|1||S-1||${PATIENT}\r`.repeat(200) });
      expect(await withFullDisk(HEADER_BYTES + 1_000, () => arrivals.putDown(refused))).toBe(false);
      expect(arrivals.journalState).toMatchObject({ messages: 0, isUsable: false });
      const bytes = () => readFile(join(journals.folder, "lims.a"));
      expect((await bytes()).includes(PATIENT)).toBe(true);
      await clock.advance(60_000);
      await eventually(async () => !(await bytes()).includes(PATIENT));
      await arrivals.stop(0);
    }));
});
