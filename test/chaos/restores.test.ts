import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { copyLedger, restoreLedger } from "../support/ledger-copy.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { readSettings } from "./settings.ts";

const { seed: firstSeed, runs } = readSettings(process.env);
const CASES = (["request", "external"] as const).flatMap((surface) =>
  Array.from({ length: runs }, (_, run) => [firstSeed + run, surface] as const),
);
const PATHS = { request: "/api/procedure-requests", external: "/api/v1/external/procedures" } as const;

function seed(site: Site, code: string): void {
  const person = { firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };
  site.simulator.control.addSubject({ facilityId: 12, code, ...person });
  site.simulator.control.addContainer({ facilityId: 12, subjectCode: code, name: `OLD-${code}` });
}

/** A retrieval where the number begins with R, else a storage. */
function order(number: string): string {
  const subject = `S-${number}`;
  return number.startsWith("R")
    ? omlO33({ number, subject, operation: "CRYO-RETRIEVE", labels: [`OLD-${subject}`] })
    : omlO33({ number, subject, labels: [`V-${number}`] });
}

/** Small and the same each time for a seed. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe("three restores in a row, of copies made at moments of a busy day", () => {
  test.each(CASES)("double nothing and give no number again (seed %i, %s)", async (seedNumber, surface) => {
    const random = randomOf(seedNumber);
    const reconcile = { checks: ["50ms", "200ms"], giveUpAfter: "4s" };
    const faults = [
      { method: "POST", path: PATHS[surface], probability: 0.15, status: 503, executed: true },
      { method: "POST", path: PATHS[surface], probability: 0.1, after: "drop" },
      { method: "POST", path: PATHS[surface], probability: 0.1, status: 429, retryAfter: 0 },
    ] as const;
    const options = {
      config: { service: { surface, timeout: "2s", reconcile } },
      // On the external surface staff do nothing, so that what was made is not in storage yet, where it would be noticed.
      simulator: { faults, seed: seedNumber, staff: { auto: surface === "request" } },
    };
    await withSite(options, async (site) => {
      const numbers: string[] = [];
      const drop = async (number: string, suffix = "") => {
        await site.drop("hl7", `${number}${suffix}.hl7`, order(number));
      };
      const sentByControlId = new Map<string, { readonly name: string; readonly text: string }>();
      for (let day = 1; day <= 3; day += 1) {
        const daemon = await site.start();
        const today = Array.from({ length: 8 }, (_, n) => `${n % 3 === 0 ? "R" : "A"}-${day}-${n}`);
        for (const number of today) seed(site, `S-${number}`);
        numbers.push(...today);
        const copyAt = Math.floor(random() * today.length);
        let copy = await copyLedger(site.pool);
        for (const [n, number] of today.entries()) {
          await drop(number);
          await new Promise((resolve) => setTimeout(resolve, random() * 150));
          if (n === copyAt) copy = await copyLedger(site.pool);
        }
        await new Promise((resolve) => setTimeout(resolve, random() * 1_000));
        await daemon.stop();
        await restoreLedger(site.pool, copy);
        // The lab sends again whatever it sent since the morning.
        const again = await site.start();
        for (const number of today) await drop(number, `-again-${day}`);
        await eventually(async () => {
          const orders = await site.orders();
          const byNumber = new Set(orders.map(({ placerOrderNumber }) => placerOrderNumber));
          return (
            numbers.every((each) => byNumber.has(each)) &&
            orders.every(({ state }) => !["received", "submitting"].includes(state))
          );
        });
        await again.stop();
        expect(site.simulator.tally().doubled).toEqual([]);
        for (const [name, text] of await site.results("hl7")) {
          const id = /^MSH(?:\|[^|]*){8}\|([^|]*)/.exec(text)?.[1] ?? "";
          expect({ name, text }).toEqual(sentByControlId.get(id) ?? { name, text });
          sentByControlId.set(id, { name, text });
        }
      }
      // What waits for a person is what the service has, or may have; nothing is lost between the two.
      for (const found of await site.orders()) {
        const { journal } = site.simulator.tally();
        const isThere = journal.some(({ subjectCode }) => subjectCode === `S-${found.placerOrderNumber}`);
        if (found.state === "parked") expect(isThere).toBe(true);
      }
    });
  });
});
