import { expect, test } from "vitest";
import { Table } from "../../src/simulator/world/rows.ts";
import { Schedule } from "../../src/simulator/world/schedule.ts";
import { createFakeClock } from "./fake-clock.ts";
import { STORE, withSimulator } from "./with-simulator.ts";

const ORDERS = 10_000;

/** Counts the rows of any kind that are given out, to be looked through, while something runs. */
async function countRows(work: () => Promise<void>): Promise<number> {
  const { all, withKey, between } = Table.prototype;
  let rows = 0;
  const counted = <Given extends unknown[], Row>(give: (...given: Given) => readonly Row[]) =>
    function (this: unknown, ...given: Given) {
      const found = give.apply(this, given);
      rows += found.length;
      return found;
    };
  Object.assign(Table.prototype, {
    all: counted(all),
    withKey: counted(withKey),
    between: counted(between),
  });
  try {
    await work();
    return rows;
  } finally {
    Object.assign(Table.prototype, { all, withKey, between });
  }
}

test("a row of many is found by its id and by its key without looking at the others", () => {
  let looks = 0;
  const table = new Table<{ readonly id: number; readonly key: string }>(({ key }) => key);
  for (let id = 1; id <= ORDERS; id += 1) {
    table.add({
      get id() {
        looks += 1;
        return id;
      },
      key: `K-${id}`,
    });
  }
  looks = 0;
  expect(table.find(5_000)?.key).toBe("K-5000");
  expect(table.withKey("K-5000")).toHaveLength(1);
  expect(looks).toBe(0);
  expect(table.between(5_000, 5_001).map(({ key }) => key)).toEqual(["K-5000", "K-5001"]);
  expect(looks).toBeLessThan(100);
});

test("with 10,000 orders known, looking up and creating one more looks at none of the others", () =>
  withSimulator({}, async ({ ask, post, simulator }) => {
    const { control } = simulator;
    for (let number = 1; number <= ORDERS; number += 1) {
      control.addSubject({ facilityId: 12, code: `S-${number}`, firstName: "Ada", lastName: "Muster" });
      control.addContainer({ facilityId: 12, subjectCode: `S-${number}`, name: `V-${number}` });
    }
    const rows = await countRows(async () => {
      for (const subjectCode of ["S-50", "S-5000", "S-10000"]) {
        expect((await ask(`/api/subjects?code=${subjectCode}&facilityId=12`)).json).toHaveLength(1);
        expect((await ask(`/api/sample-containers?subjectCode=${subjectCode}`)).json).toHaveLength(1);
        expect((await post("/api/procedure-requests", { ...STORE, subjectCode })).status).toBe(201);
      }
    });
    expect(rows).toBeLessThan(100);
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
