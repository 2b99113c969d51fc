import { describe, expect, test } from "vitest";
import { findOrders, listEvents } from "../../../src/ledger/operator/views.ts";
import { retryOrder } from "../../../src/ledger/orders/acts.ts";
import type { FaultRule } from "../../../src/simulator/faults.ts";
import { eventually } from "../../support/eventually.ts";
import { findPort } from "../../support/find-port.ts";
import { omlO33 } from "../../support/lab-messages.ts";
import { type Site, withSite } from "../../support/with-daemon.ts";

const CREATE = { method: "POST", path: "/api/procedure-requests", times: 1 } as const;
const REGISTER = { method: "POST", path: "/api/subjects", times: 1 } as const;

/** Short, so that a test that waits for an answer which never comes is quick. On a busy machine any answer may be too late. */
const IMPATIENT = {
  service: { timeout: "700ms", reconcile: { checks: ["50ms", "200ms"], giveUpAfter: "1500ms" } },
};

/** What a lost or spoiled answer may look like when the service has done what it was asked. */
const EXECUTED: readonly (readonly [string, FaultRule])[] = [
  ["the connection is cut after the request was created", { after: "drop" }],
  ["no answer ever comes", { after: "hang" }],
  ["a gateway answers 504 although the request was created", { status: 504, executed: true }],
  ["the answer is an error 500 although the request was created", { status: 500, executed: true }],
  ["the answer is empty", { body: "empty" }],
  ["the answer is a page of HTML", { body: "html" }],
  ["the answer is cut in the middle", { body: "truncated" }],
  ["the answer holds no id", { body: "without-ids" }],
  ["the connection ends within the answer", { cutAfterBytes: 150 }],
  ["the service acts long after the caller has given up", { executeAfterMs: 1_000 }],
];

/** Nothing was done, but nobody can tell at first. */
const NOT_EXECUTED: readonly (readonly [string, FaultRule])[] = [
  ["the connection is cut before anything was done", { before: "drop" }],
  ["no answer comes and nothing was done", { before: "hang" }],
  ["a gateway answers 502 and nothing was done", { status: 502 }],
];

async function timeline(site: Site, number: string): Promise<string[]> {
  const [order] = await findOrders(site.pool, number);
  return order ? (await listEvents(site.pool, order.id)).map((event) => event.kind) : [];
}

function expectOneRequestEach(site: Site, orders: number): void {
  const { doubled, journal } = site.simulator.tally();
  expect(doubled).toEqual([]);
  expect(journal).toHaveLength(orders);
}

/** Gives a daemon an order for each of the effects, which its first calls meet, and waits until all are completed. */
function withOrders(
  call: FaultRule,
  effects: readonly (readonly [string, FaultRule])[],
  check: (site: Site, numbers: readonly string[]) => Promise<void>,
): Promise<void> {
  const faults = effects.map(([name, effect], skip) => ({ ...call, name, skip, ...effect }));
  return withSite({ config: IMPATIENT, simulator: { faults } }, async (site) => {
    await site.start();
    const numbers = effects.map((_, n) => `A-${n}`);
    await site.drop("hl7", "all.hl7", numbers.map((number) => omlO33({ number })).join(""));
    const orders = await site.waitForOrders(numbers.length);
    expect(orders.map(({ state }) => state)).toEqual(numbers.map(() => "completed"));
    expectOneRequestEach(site, numbers.length);
    expect(site.simulator.tally().faults).toEqual(Object.fromEntries(effects.map(([name]) => [name, 1])));
    await check(site, numbers);
  });
}

describe.concurrent("an order whose creation got no clear answer", () => {
  test("is found at the service and not sent again, whatever became of the answer", () =>
    withOrders(CREATE, EXECUTED, async (site, numbers) => {
      for (const number of numbers) expect(await timeline(site, number)).toContain("adopted");
    }));

  test("is sent again after reconcile.giveUpAfter when nothing was done", () =>
    withOrders(CREATE, NOT_EXECUTED, async (site, numbers) => {
      for (const number of numbers) expect(await timeline(site, number)).toContain("checked");
    }));

  test("is not sent again when the service said that it did it and lists nothing of it", () =>
    withSite(
      {
        config: IMPATIENT,
        simulator: { faults: [{ ...CREATE, body: "without-ids" }], staff: { auto: false } },
      },
      async (site) => {
        const { control } = site.simulator;
        control.subscribe(({ kind, id, status }) => {
          if (kind === "request" && status === "PENDING") control.forget("request", id);
        });
        await site.start();
        await site.drop("hl7", "a.hl7", omlO33({ number: "A-1" }));
        const [order] = await site.waitForOrders(1, ["parked", "submitted"]);
        expect(order).toMatchObject({ state: "parked", failure: { code: "SUBMIT_UNCERTAIN" } });
        expectOneRequestEach(site, 1);
        if (!order) throw new Error("no order");
        await retryOrder(site.pool, order, { actor: "test" });
        await eventually(async () => site.simulator.tally().journal.length === 2);
      },
    ));

  test("is parked after five calls in a row that had no effect and no clear answer, and not before", () =>
    withSite(
      {
        config: IMPATIENT,
        simulator: { faults: [{ ...CREATE, times: 1_000, status: 403, body: "html" }] },
      },
      async (site) => {
        await site.start();
        await site.drop("hl7", "a.hl7", omlO33({ number: "A-1" }));
        const order = await eventually(async () => (await site.orders())[0]);
        // Rounds take long; three of them are history.
        for (let round = 0; round < 3; round += 1) {
          await site.pool.query(
            `insert into calls (order_id, kind, surface, mark, outcome, ended_at)
             select id, 'request', 'request', mark, 'nothing', now() from orders where id = $1`,
            [order.id],
          );
        }
        const [parked] = await site.waitForOrders(1, ["parked"]);
        expect(parked?.failure).toMatchObject({
          code: "SUBMIT_UNCERTAIN",
          text: expect.stringMatching(/^5 calls in a row got no clear answer/),
        });
        expect((await timeline(site, "A-1")).filter((kind) => kind === "reconciled")).toHaveLength(1);
      },
    ));

  test("registers its subject once, whatever became of the answer", () =>
    withOrders(REGISTER, EXECUTED, async (site, numbers) => {
      expect(site.simulator.tally().subjectsCreated).toHaveLength(numbers.length);
    }));

  test("is parked for a person when it is a retrieval that left no trace", () =>
    withSite({ config: IMPATIENT, simulator: { faults: [{ ...CREATE, before: "drop" }] } }, async (site) => {
      site.simulator.control.addSubject({
        facilityId: 12,
        code: "S-1",
        firstName: "Ada",
        lastName: "Example",
        dateOfBirth: "1990-01-31",
      });
      site.simulator.control.addContainer({ facilityId: 12, subjectCode: "S-1", name: "V-1" });
      await site.start();
      await site.drop(
        "hl7",
        "a.hl7",
        omlO33({ number: "A-1", subject: "S-1", labels: ["V-1"], operation: "CRYO-RETRIEVE" }),
      );
      const [order] = await site.waitForOrders(1, ["parked"]);
      expect(order?.failure?.code).toBe("SUBMIT_UNCERTAIN");
      expectOneRequestEach(site, 0);
    }));

  test("is found again when it is a retrieval that was created", () =>
    withSite({ config: IMPATIENT, simulator: { faults: [{ ...CREATE, after: "drop" }] } }, async (site) => {
      site.simulator.control.addSubject({
        facilityId: 12,
        code: "S-1",
        firstName: "Ada",
        lastName: "Example",
        dateOfBirth: "1990-01-31",
      });
      site.simulator.control.addContainer({ facilityId: 12, subjectCode: "S-1", name: "V-1" });
      await site.start();
      await site.drop(
        "hl7",
        "a.hl7",
        omlO33({ number: "A-1", subject: "S-1", labels: ["V-1"], operation: "CRYO-RETRIEVE" }),
      );
      const [order] = await site.waitForOrders(1);
      expect(order?.state).toBe("completed");
      expectOneRequestEach(site, 1);
    }));
});

describe.concurrent("an order that the service definitely did not take", () => {
  test("waits out a 429 for as long as the service asks", () =>
    withSite({ simulator: { faults: [{ ...CREATE, status: 429, retryAfter: 1 }] } }, async (site) => {
      await site.start();
      await site.drop("hl7", "a.hl7", omlO33({ number: "A-1" }));
      const [order] = await site.waitForOrders(1);
      expect(order?.state).toBe("completed");
      expectOneRequestEach(site, 1);
      expect(await timeline(site, "A-1")).not.toContain("checked");
    }));

  test("is parked with the service's reason when it is refused, and is reported to the lab", () =>
    withSite({ simulator: { faults: [{ ...CREATE, status: 422 }] } }, async (site) => {
      await site.start();
      await site.drop("hl7", "a.hl7", omlO33({ number: "A-1" }));
      const [order] = await site.waitForOrders(1, ["parked"]);
      expect(order?.failure?.code).toBe("SERVICE_REFUSED");
      expectOneRequestEach(site, 0);
      const reported = await eventually(async () =>
        [...(await site.results("hl7")).values()].find((text) => text.includes("ORU^R01")),
      );
      expect(reported).toContain("NTE|");
    }));

  test("waits for as long as the service is away, and parks nothing", async () => {
    const port = await findPort();
    await withSite({ simulator: { port } }, async (site) => {
      await site.simulator.close();
      await site.start();
      for (const number of ["A-1", "A-2", "A-3"]) await site.drop("hl7", `${number}.hl7`, omlO33({ number }));
      await eventually(
        async () => (await site.orders()).filter((order) => order.failure !== undefined).length === 3,
      );
      // An attempt may be under way at any moment, which is "submitting".
      for (const order of await site.orders()) expect(["received", "submitting"]).toContain(order.state);
      await site.simulator.listen(port);
      const orders = await site.waitForOrders(3);
      expect(orders.map((order) => order.state)).toEqual(["completed", "completed", "completed"]);
      expectOneRequestEach(site, 3);
    });
  });
});
