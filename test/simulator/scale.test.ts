import { expect, test } from "vitest";
import { Schedule } from "../../src/simulator/world/schedule.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { createFakeClock } from "./fake-clock.ts";
import { STORE, withSimulator } from "./with-simulator.ts";

const ORDERS = 10_000;

test("with 10,000 orders known, looking up and creating one more takes no longer than a blink", () =>
  withSimulator({}, async ({ ask, post, simulator }) => {
    const { control } = simulator;
    for (let number = 1; number <= ORDERS; number += 1) {
      control.addSubject({ facilityId: 12, code: `S-${number}`, firstName: "Ada", lastName: "Muster" });
      control.addContainer({ facilityId: 12, subjectCode: `S-${number}`, name: `V-${number}` });
    }
    const ms = await cpuMs(async () => {
      for (let number = 1; number <= 200; number += 1) {
        const subjectCode = `S-${number * 50}`;
        expect((await ask(`/api/subjects?code=${subjectCode}&facilityId=12`)).json).toHaveLength(1);
        expect((await ask(`/api/sample-containers?subjectCode=${subjectCode}`)).json).toHaveLength(1);
        expect((await post("/api/procedure-requests", { ...STORE, subjectCode })).status).toBe(201);
      }
    });
    // 600 calls; scanning 10,000 rows for each would show.
    expect(ms).toBeLessThan(6_000);
    expect(simulator.tally().doubled).toEqual([]);
  }));

test("10,000 things that wait are run in the order of their time by one timer", async () => {
  const clock = createFakeClock();
  let sleeping = 0;
  let mostSleeping = 0;
  const schedule = new Schedule(
    {
      ...clock,
      sleep: async (ms, signal) => {
        sleeping += 1;
        mostSleeping = Math.max(mostSleeping, sleeping);
        await clock.sleep(ms, signal).finally(() => {
          sleeping -= 1;
        });
      },
    },
    1,
  );
  schedule.start();
  const ran: number[] = [];
  for (let number = 0; number < ORDERS; number += 1) {
    const after = (number * 7_919) % 100_003;
    schedule.add(after, () => ran.push(after));
  }
  await clock.pass(1);
  schedule.advance(200_000);
  await schedule.stop();
  expect(ran).toHaveLength(ORDERS);
  expect(ran).toEqual(ran.toSorted((a, b) => a - b));
  expect(mostSleeping).toBe(1);
  expect(schedule.waiting).toBe(0);
});
