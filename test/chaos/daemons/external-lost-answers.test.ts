import { describe, expect, test } from "vitest";
import { findOrders, listEvents } from "../../../src/ledger/operator/views.ts";
import { retryOrder } from "../../../src/ledger/orders/acts.ts";
import type { FaultRule } from "../../../src/simulator/faults.ts";
import { omlO33 } from "../../support/lab-messages.ts";
import { type Site, withSite } from "../../support/with-daemon.ts";

const CREATE = { method: "POST", path: "/api/v1/external/procedures", times: 1 } as const;

/** Short, so that a test that waits for an answer which never comes is quick. */
const CONFIG = {
  service: {
    surface: "external",
    timeout: "700ms",
    reconcile: { checks: ["50ms", "200ms"], giveUpAfter: "1500ms" },
  },
};

/** What a lost or spoiled answer may look like when the service has done what it was asked. */
const EXECUTED: readonly (readonly [string, FaultRule])[] = [
  ["the connection is cut after the procedure was created", { after: "drop" }],
  ["no answer ever comes", { after: "hang" }],
  ["a gateway answers 504 although the procedure was created", { status: 504, executed: true }],
  ["the answer holds no id", { body: "without-ids" }],
  ["the service acts long after the caller has given up", { executeAfterMs: 1_000 }],
];

/** Nothing was done, but nobody can tell at first. */
const NOT_EXECUTED: readonly (readonly [string, FaultRule])[] = [
  ["the connection is cut before anything was done", { before: "drop" }],
  ["a gateway answers 502 and nothing was done", { status: 502 }],
];

const storage = (n = 1) => omlO33({ number: `A-${n}`, subject: `S-${n}`, labels: [`V-NEW-${n}`] });
const retrieval = (n = 1) =>
  omlO33({ number: `A-${n}`, subject: `S-${n}`, labels: [`V-${n}`], operation: "CRYO-RETRIEVE" });

/** A site on the external surface with as many subjects as calls that go wrong, each with a container in storage. */
function withExternalSite(effects: readonly FaultRule[], run: (site: Site) => Promise<void>): Promise<void> {
  const faults = effects.map((effect, skip) => ({ ...CREATE, skip, ...effect }));
  return withSite({ config: CONFIG, simulator: { faults } }, async (site) => {
    const person = { firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };
    for (const n of effects.keys()) {
      const code = `S-${n + 1}`;
      site.simulator.control.addSubject({ facilityId: 12, code, ...person });
      site.simulator.control.addContainer({ facilityId: 12, subjectCode: code, name: `V-${n + 1}` });
    }
    await site.start();
    await run(site);
  });
}

/** A storage with each fault, and a retrieval with the first once more; each is done once, and its timeline has `kind`. */
function eachIsDoneOnce(faults: readonly (readonly [string, FaultRule])[], kind: string): Promise<void> {
  const effects = [...faults, ...faults.slice(0, 1)].map(([, effect]) => effect);
  return withExternalSite(effects, async (site) => {
    const numbers = effects.map((_, n) => n + 1);
    const messages = numbers.map((n) => (n === 1 ? retrieval(n) : storage(n)));
    await site.drop("hl7", "all.hl7", messages.join(""));
    const orders = await site.waitForOrders(numbers.length);
    for (const order of orders) expect(order).toMatchObject({ state: "completed", requestId: undefined });
    expectProcedures(site, numbers.length);
    expect(Object.values(site.simulator.tally().faults)).toEqual(numbers.map(() => 1));
    for (const n of numbers) expect(await timeline(site, `A-${n}`)).toContain(kind);
  });
}

async function timeline(site: Site, number: string): Promise<string[]> {
  const [order] = await findOrders(site.pool, number);
  return order ? (await listEvents(site.pool, order.id)).map((event) => event.kind) : [];
}

function expectProcedures(site: Site, count: number): void {
  const { doubled, journal } = site.simulator.tally();
  expect(doubled).toEqual([]);
  expect(journal.map(({ surface }) => surface)).toEqual(Array(count).fill("external"));
}

describe.concurrent("an order of the external surface whose creation got no clear answer", () => {
  test("is found there and not sent again, whatever became of the answer", () =>
    eachIsDoneOnce(EXECUTED, "adopted"));

  test("is sent again after reconcile.giveUpAfter when nothing was done", () =>
    eachIsDoneOnce(NOT_EXECUTED, "checked"));

  test("is parked when its containers carry the order's mark and no procedure is listed", () =>
    withExternalSite([{ after: "drop" }], async (site) => {
      site.simulator.control.configure({
        behaviour: { listedContainers: "all" },
        staff: { auto: false },
      });
      const unsubscribe = site.simulator.control.subscribe(({ kind, id, status }) => {
        if (kind === "procedure" && status === "PENDING") site.simulator.control.forget("procedure", id);
      });
      await site.drop("hl7", "a.hl7", storage());
      const [order] = await site.waitForOrders(1, ["parked"]);
      unsubscribe();
      expect(order?.failure).toMatchObject({ code: "SUBMIT_UNCERTAIN" });
      expect(order?.failure?.text).toContain("carry the order's mark");
      expectProcedures(site, 1);
    }));
});

test("a failed retrieval that a person has done again doesn't take its first procedure for the second", () =>
  withExternalSite([{ skip: 1, before: "drop" }], async (site) => {
    const { control } = site.simulator;
    control.configure({ device: { auto: true, failureRate: 1 } });
    await site.drop("hl7", "a.hl7", retrieval());
    const [failed] = await site.waitForOrders(1, ["failed"]);
    control.configure({ device: { auto: true, failureRate: 0 } });
    if (!failed) throw new Error("no order");
    await retryOrder(site.pool, failed, { actor: "test" });
    const [order] = await site.waitForOrders(1, ["completed"]);
    expect(order?.procedureId).not.toBe(failed.procedureId);
    expect(site.simulator.tally().journal).toHaveLength(2);
  }));
