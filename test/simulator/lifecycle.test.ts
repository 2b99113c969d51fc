import { expect, test } from "vitest";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";
import { createFakeClock } from "./fake-clock.ts";
import { type Bench, STORE, SUBJECT, withSimulator } from "./with-simulator.ts";

const AUTO: SimulatorOptions = {
  staff: { auto: true, reviewAfterMs: 60_000 },
  device: { auto: true, startAfterMs: 10_000, runMs: 30_000 },
};

async function order({ simulator, post }: Bench): Promise<() => [string | undefined, string | undefined]> {
  const { control } = simulator;
  if (control.subjects().length === 0) control.addSubject(SUBJECT);
  const { id } = (await post("/api/procedure-requests", STORE)).json;
  return () => [
    control.findRequest(id)?.status,
    control.procedures().find(({ requestId }) => requestId === id)?.status,
  ];
}

test("staff and device take a request to its end, each step at its time", async () => {
  const clock = createFakeClock();
  await withSimulator({ ...AUTO, clock }, async (bench) => {
    const look = await order(bench);
    await clock.pass(59_999);
    expect(look()).toEqual(["PENDING", undefined]);
    await clock.pass(1);
    expect(look()).toEqual(["ACCEPTED", "CREATED"]);
    await clock.pass(10_000);
    expect(look()).toEqual(["ACCEPTED", "IN_PROGRESS"]);
    await clock.pass(30_000);
    expect(look()).toEqual(["ACCEPTED", "COMPLETED"]);
    const [procedure] = bench.simulator.control.procedures();
    expect(procedure).toMatchObject({
      createdAt: "2026-03-01T08:01:00.000Z",
      startedAt: "2026-03-01T08:01:10.000Z",
      completedAt: "2026-03-01T08:01:40.000Z",
    });
  });
});

test("a speed of 100 makes a hundred seconds out of one", async () => {
  const clock = createFakeClock();
  await withSimulator({ ...AUTO, clock, speed: 100 }, async (bench) => {
    const look = await order(bench);
    await clock.pass(1_000);
    expect(look()).toEqual(["ACCEPTED", "COMPLETED"]);
  });
});

test("a speed that changes under way holds for what is left", async () => {
  const clock = createFakeClock();
  await withSimulator({ ...AUTO, clock }, async (bench) => {
    const look = await order(bench);
    await clock.pass(50_000);
    bench.simulator.control.configure({ speed: 10 });
    await clock.pass(999);
    expect(look()[0]).toBe("PENDING");
    await clock.pass(1);
    expect(look()[0]).toBe("ACCEPTED");
  });
});

test("advancing lets the time pass at once, with everything that follows in it", async () => {
  const clock = createFakeClock();
  await withSimulator({ ...AUTO, clock }, async (bench) => {
    const look = await order(bench);
    bench.simulator.control.advance(70_000);
    expect(look()).toEqual(["ACCEPTED", "IN_PROGRESS"]);
    bench.simulator.control.advance(30_000);
    expect(look()).toEqual(["ACCEPTED", "COMPLETED"]);
  });
});

test("staff and devices that are switched on later take up what waits", async () => {
  const clock = createFakeClock();
  const off: SimulatorOptions = { ...AUTO, staff: { auto: false, reviewAfterMs: 1_000 } };
  await withSimulator({ ...off, clock }, async (bench) => {
    const look = await order(bench);
    await clock.pass(3_600_000);
    expect(look()[0]).toBe("PENDING");
    bench.simulator.control.configure({ staff: { auto: true } });
    await clock.pass(1_000);
    expect(look()[0]).toBe("ACCEPTED");
  });
});

test("durations that are changed hold for what waits already", async () => {
  const clock = createFakeClock();
  await withSimulator({ ...AUTO, clock }, async (bench) => {
    const look = await order(bench);
    bench.simulator.control.configure({ staff: { reviewAfterMs: 3_600_000 } });
    await clock.pass(3_599_999);
    expect(look()[0]).toBe("PENDING");
    await clock.pass(1);
    expect(look()[0]).toBe("ACCEPTED");
  });
});

test("what a person decided first is left alone by staff and device", async () => {
  const clock = createFakeClock();
  await withSimulator({ ...AUTO, clock }, async (bench) => {
    const first = await order(bench);
    const second = await order(bench);
    const [one, two] = bench.simulator.control.requests();
    bench.simulator.control.rejectRequest(one?.id ?? 0);
    const procedure = bench.simulator.control.acceptRequest(two?.id ?? 0);
    bench.simulator.control.cancelProcedure(procedure.id);
    await clock.pass(3_600_000);
    expect(first()).toEqual(["REJECTED", undefined]);
    expect(second()).toEqual(["ACCEPTED", "CANCELLED"]);
  });
});

test("rates decide who is rejected and what fails, by the seed and the id alone", async () => {
  const fates = async (seed: number) => {
    const clock = createFakeClock();
    const simulator = await createSimulator({
      clock,
      seed,
      port: 0,
      staff: { reviewAfterMs: [0, 1_000], acceptanceRate: 0.7 },
      device: { startAfterMs: [0, 1_000], runMs: [0, 1_000], failureRate: 0.5 },
    });
    const { control } = simulator;
    control.addSubject(SUBJECT);
    const storage = control.storages()[0]?.id ?? 0;
    for (let count = 0; count < 200; count += 1) control.createRefill(storage);
    control.advance(10_000);
    await simulator.close();
    return control.procedures().map(({ status, error }) => `${status} ${error}`);
  };
  const first = await fates(1);
  const failed = first.filter((fate) => fate.startsWith("FAILED")).length;
  expect(failed).toBeGreaterThan(60);
  expect(failed).toBeLessThan(140);
  expect(first.every((fate) => /^(COMPLETED null|FAILED .+)$/.test(fate))).toBe(true);
  expect(await fates(1)).toEqual(first);
  expect(await fates(2)).not.toEqual(first);
});

test("requests are rejected by the acceptance rate", async () => {
  const clock = createFakeClock();
  await withSimulator({ ...AUTO, clock, staff: { auto: true, acceptanceRate: 0 } }, async (bench) => {
    const look = await order(bench);
    bench.simulator.control.advance(3_600_000);
    expect(look()).toEqual(["REJECTED", undefined]);
  });
});

test("a slot that a retrieval freed is used again", () =>
  withSimulator({}, async (bench) => {
    const { control } = bench.simulator;
    control.addSubject(SUBJECT);
    const seeded = control.addContainer({ facilityId: 12, subjectCode: "S-001", name: "V1" });
    const body = { type: "RETRIEVAL", facilityId: 12, subjectCode: "S-001", sampleContainerIds: [seeded.id] };
    control.fulfilRequest((await bench.post("/api/procedure-requests", body)).json.id);
    const next = control.addContainer({ facilityId: 12, subjectCode: "S-001", name: "V2" });
    expect(next.slot).toEqual(seeded.slot);
  }));
