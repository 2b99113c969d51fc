import { describe, expect, test } from "vitest";
import { nextMs, type RefillWatch, watchRefills } from "../../src/jobs/refill-watch.ts";
import { listRefills } from "../../src/ledger/refill-views.ts";
import { eventually } from "../support/eventually.ts";
import { type RefillLab, withRefillLab } from "../support/refill-lab.ts";

async function watching(
  lab: RefillLab,
  mayRead: () => boolean,
  run: (watch: RefillWatch) => Promise<void>,
): Promise<void> {
  const watch = watchRefills([12], { ...lab.deps, everyMs: 20, random: () => 0.5, mayRead });
  try {
    await run(watch);
  } finally {
    await watch.stop();
  }
}
const count = async ({ pool }: RefillLab) => (await listRefills(pool, { limit: 100 })).length;

describe("following refills", () => {
  test("reads at once and again and again, until it is stopped", () =>
    withRefillLab({}, async (lab) => {
      lab.refill();
      await watching(
        lab,
        () => true,
        async () => {
          await eventually(async () => (await count(lab)) === 1);
          lab.refill();
          await eventually(async () => (await count(lab)) === 2);
        },
      );
      const received = lab.simulator.tally().received;
      lab.refill();
      expect([lab.simulator.tally().received, await count(lab)]).toEqual([received, 2]);
    }));

  test("asks nothing while it may not, and goes on when it may", () =>
    withRefillLab({}, async (lab) => {
      let isAllowed = false;
      let wasAsked = 0;
      const mayRead = () => {
        wasAsked += 1;
        return isAllowed;
      };
      lab.refill();
      await watching(lab, mayRead, async () => {
        await eventually(() => wasAsked > 0);
        expect(lab.simulator.tally().received).toBe(0);
        isAllowed = true;
        await eventually(async () => (await count(lab)) === 1);
      });
    }));

  test("says why a facility can't be read, only when that lasts, and no more once it can", () =>
    withRefillLab({}, async (lab) => {
      lab.simulator.control.setFaults([{ method: "GET", status: 403, times: 100_000 }]);
      await watching(
        lab,
        () => true,
        async (watch) => {
          const [trouble] = await eventually(() => watch.troubles().length > 0 && watch.troubles());
          expect(trouble).toMatch(/^the refills of NORTH can't be read: .*\(SERVICE_\w+\)$/);
          lab.simulator.control.setFaults([]);
          lab.refill();
          await eventually(async () => (await count(lab)) === 1);
          await eventually(() => watch.troubles().length === 0);
        },
      );
    }));
});

test("a list of many pages is read less often", () => {
  expect([nextMs(3, 600_000), nextMs(10, 100), nextMs(500, 600_000)]).toEqual([600_000, 100, 1_000_000]);
});
