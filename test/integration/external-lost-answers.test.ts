import { describe, expect, test } from "vitest";
import { findOrders, listEvents } from "../../src/ledger/operator/views.ts";
import { retryOrder } from "../../src/ledger/orders/acts.ts";
import type { FaultRule } from "../../src/simulator/faults.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

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

const store = omlO33({ number: "A-1", subject: "S-1", labels: ["V-2"] });
const retrieve = omlO33({ number: "A-1", subject: "S-1", labels: ["V-1"], operation: "CRYO-RETRIEVE" });

/** A storage with each fault, and a retrieval with the first. */
const withKinds = (faults: readonly (readonly [string, FaultRule])[]) => [
  ...faults.map(([words, effect]) => ["storage", words, store, effect] as const),
  ...faults.slice(0, 1).map(([words, effect]) => ["retrieval", words, retrieve, effect] as const),
];

/** A site on the external surface whose subject has a container in storage. */
function withExternalSite(effect: FaultRule, run: (site: Site) => Promise<void>): Promise<void> {
  return withSite({ config: CONFIG, simulator: { faults: [{ ...CREATE, ...effect }] } }, async (site) => {
    const person = { firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };
    site.simulator.control.addSubject({ facilityId: 12, code: "S-1", ...person });
    site.simulator.control.addContainer({ facilityId: 12, subjectCode: "S-1", name: "V-1" });
    await site.start();
    await run(site);
  });
}

async function timeline(site: Site, number: string): Promise<string[]> {
  const [order] = await findOrders(site.pool, number);
  return order ? (await listEvents(site.pool, order.id)).map((event) => event.kind) : [];
}

function expectOneProcedure(site: Site): void {
  const { doubled, journal } = site.simulator.tally();
  expect(doubled).toEqual([]);
  expect(journal.map(({ surface }) => surface)).toEqual(["external"]);
}

describe.concurrent("an order of the external surface whose creation got no clear answer", () => {
  test.each(withKinds(EXECUTED))(
    "is found there and not sent again when it is a %s and %s",
    (_kind, _words, message, effect) =>
      withExternalSite(effect, async (site) => {
        await site.drop("hl7", "a.hl7", message);
        const [order] = await site.waitForOrders(1);
        expect(order).toMatchObject({ state: "completed", requestId: undefined });
        expectOneProcedure(site);
        expect(await timeline(site, "A-1")).toContain("adopted");
      }),
  );

  test.each(withKinds(NOT_EXECUTED))(
    "is sent again after reconcile.giveUpAfter when it is a %s and %s",
    (_kind, _words, message, effect) =>
      withExternalSite(effect, async (site) => {
        await site.drop("hl7", "a.hl7", message);
        const [order] = await site.waitForOrders(1);
        expect(order?.state).toBe("completed");
        expectOneProcedure(site);
        expect(await timeline(site, "A-1")).toContain("checked");
      }),
  );

  test("is parked when its containers carry the order's mark and no procedure is listed", () =>
    withExternalSite({ after: "drop" }, async (site) => {
      site.simulator.control.configure({
        behaviour: { listedContainers: "all" },
        staff: { auto: false },
      });
      const unsubscribe = site.simulator.control.subscribe(({ kind, id, status }) => {
        if (kind === "procedure" && status === "PENDING") site.simulator.control.forget("procedure", id);
      });
      await site.drop("hl7", "a.hl7", store);
      const [order] = await site.waitForOrders(1, ["parked"]);
      unsubscribe();
      expect(order?.failure).toMatchObject({ code: "SUBMIT_UNCERTAIN" });
      expect(order?.failure?.text).toContain("carry the order's mark");
      expectOneProcedure(site);
    }));
});

test("a failed retrieval that a person has done again doesn't take its first procedure for the second", () =>
  withExternalSite({ skip: 1, before: "drop" }, async (site) => {
    const { control } = site.simulator;
    control.configure({ device: { auto: true, failureRate: 1 } });
    await site.drop("hl7", "a.hl7", retrieve);
    const [failed] = await site.waitForOrders(1, ["failed"]);
    control.configure({ device: { auto: true, failureRate: 0 } });
    if (!failed) throw new Error("no order");
    await retryOrder(site.pool, failed, { actor: "test" });
    const [order] = await site.waitForOrders(1, ["completed"]);
    expect(order?.procedureId).not.toBe(failed.procedureId);
    expect(site.simulator.tally().journal).toHaveLength(2);
  }));
