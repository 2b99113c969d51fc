import { describe, expect, test } from "vitest";
import type { Act } from "../../src/ledger/operator/audit.ts";
import { findOrders, listEvents } from "../../src/ledger/operator/views.ts";
import { discardOrder, overrideOrder, retryOrder } from "../../src/ledger/orders/acts.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33 } from "../support/lab-messages.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

/** Nobody decides, so what was submitted stays open. */
const NO_STAFF = { staff: { auto: false } } as const;
const QUICK_DEVICE = { auto: true, startAfterMs: [20, 50], runMs: [50, 150] } as const;
const BY: Act = { actor: "grace", reason: "two vials of that name" };

async function find({ pool }: Site, number: string): Promise<LedgerOrder> {
  const [order] = await findOrders(pool, number);
  if (!order) throw new Error(`no order ${number}`);
  return order;
}

const inState = (site: Site, number: string, state: LedgerOrder["state"]) =>
  eventually(async () => {
    const order = await find(site, number);
    return order.state === state && order;
  });

const requestsOf = (site: Site) => site.simulator.control.requests().map(({ type }) => type);

describe.concurrent("an order for a container that is in an open order of the same kind", () => {
  test("is parked before anything is sent, whatever connector it came through, and is reported to the lab", () =>
    withSite({ simulator: NO_STAFF }, async (site) => {
      await site.start();
      await site.drop("hl7", "a.hl7", omlO33({ number: "A-1", subject: "S-1", labels: ["V-1"] }));
      await inState(site, "A-1", "submitted");
      await site.drop("csv", "b.csv", labCsv([{ number: "B-1", subject: "S-1", labels: ["V-0", "V-1"] }]));
      const parked = await inState(site, "B-1", "parked");
      expect(parked.failure).toEqual({
        code: "ORDER_CONTAINER_IN_OPEN_ORDER",
        text: `container V-1 is in order A-1 of the same kind too, which was submitted then`,
      });
      expect(requestsOf(site)).toEqual(["STORE"]);
      const reported = await eventually(async () =>
        [...(await site.results("csv")).values()].find((text) => text.includes(",parked,")),
      );
      expect(reported).toContain(`container V-1 is in order A-1`);
    }));

  test("goes on when its label only belongs to another facility", () =>
    withSite({ simulator: NO_STAFF }, async (site) => {
      await site.start();
      const orders = [
        { number: "A-1", subject: "S-1" },
        { number: "A-2", subject: "S-1", facility: "SOUTH" },
      ].map((order) => ({ ...order, labels: ["V-1"] }));
      await site.drop("csv", "a.csv", labCsv(orders));
      expect(await site.waitForOrders(2, ["submitted"])).toHaveLength(2);
    }));

  test("is one of many that come at the same moment by both connectors, of which one is sent", () =>
    withSite({ simulator: NO_STAFF }, async (site) => {
      const order = (number: string) => ({ number, subject: "S-1", labels: ["V-1"] });
      const numbers = (letter: string) => Array.from({ length: 5 }, (_, n) => `${letter}-${n}`);
      await site.drop("csv", "c.csv", labCsv(numbers("C").map(order)));
      for (const number of numbers("H")) await site.drop("hl7", `${number}.hl7`, omlO33(order(number)));
      await site.start();
      const orders = await site.waitForOrders(10, ["submitted", "parked"]);
      expect(orders.filter(({ state }) => state === "submitted")).toHaveLength(1);
      expect(requestsOf(site)).toEqual(["STORE"]);
    }));

  test("is parked again by a retry, and goes on once the other one is discarded", () =>
    withSite({}, async (site) => {
      await site.start();
      // The first has no birth date to register its subject with.
      await site.drop(
        "csv",
        "a.csv",
        labCsv([{ number: "A-1", subject: "S-1", labels: ["V-1"], birth: "" }]),
      );
      await inState(site, "A-1", "parked");
      await site.drop("csv", "b.csv", labCsv([{ number: "B-1", subject: "S-1", labels: ["V-1"] }]));
      const parked = await inState(site, "B-1", "parked");
      expect(parked.failure?.text).toContain("which was parked then");
      expect(await retryOrder(site.pool, parked, BY)).toBe("done");
      await eventually(async () => {
        const events = await listEvents(site.pool, parked.id);
        return events.filter(({ kind }) => kind === "parked").length === 2;
      });
      await discardOrder(site.pool, await find(site, "A-1"), BY);
      await retryOrder(site.pool, parked, BY);
      await inState(site, "B-1", "completed");
    }));

  test("is sent when a person says so, with the person and the reason in its timeline", () =>
    withSite({ simulator: NO_STAFF }, async (site) => {
      await site.start();
      const orders = ["A-1", "A-2"].map((number) => ({ number, subject: "S-1", labels: ["V-1"] }));
      await site.drop("csv", "a.csv", labCsv(orders));
      const parked = await inState(site, "A-2", "parked");
      expect(await overrideOrder(site.pool, parked, { actor: "grace" })).toBe("reason wanted");
      expect(await overrideOrder(site.pool, parked, BY)).toBe("done");
      await inState(site, "A-2", "submitted");
      expect(requestsOf(site)).toEqual(["STORE", "STORE"]);
      const [overridden] = (await listEvents(site.pool, parked.id)).filter(
        ({ kind }) => kind === "overridden",
      );
      expect(overridden?.detail).toEqual({ ...BY, code: "ORDER_CONTAINER_IN_OPEN_ORDER" });
    }));

  test("is sent where the site allows it", () =>
    withSite({ simulator: NO_STAFF, config: { guards: { sameContainer: "allow" } } }, async (site) => {
      await site.start();
      const orders = ["A-1", "A-2"].map((number) => ({ number, subject: "S-1", labels: ["V-1"] }));
      await site.drop("csv", "a.csv", labCsv(orders));
      expect(await site.waitForOrders(2, ["submitted"])).toHaveLength(2);
    }));
});

describe.concurrent("an order with the label of another subject's container", () => {
  const vialOf = (
    subject: string,
    number: string,
    more: Partial<Parameters<typeof labCsv>[0][number]> = {},
  ) => labCsv([{ number, subject, labels: ["V-1"], ...more }]);

  test("is parked before its subject is registered, whatever connector it came through, and is reported to the lab", () =>
    withSite({}, async (site) => {
      await site.start();
      await site.drop("hl7", "a.hl7", omlO33({ number: "A-1", subject: "S-1", labels: ["V-1"] }));
      await inState(site, "A-1", "completed");
      await site.drop("csv", "b.csv", vialOf("S-2", "B-1"));
      const parked = await inState(site, "B-1", "parked");
      const text = `label V-1 is that of another subject's container, which was stored by order A-1 and has not been retrieved since`;
      expect(parked.failure).toEqual({ code: "ORDER_LABEL_OF_OTHER_SUBJECT", text });
      expect(requestsOf(site)).toEqual(["STORE"]);
      expect(site.simulator.control.subjects().map(({ code }) => code)).toEqual(["S-1"]);
      const reported = await eventually(async () =>
        [...(await site.results("csv")).values()].find((result) => result.includes(",parked,")),
      );
      expect(reported).toContain(`stored by order A-1`);
    }));

  test("is one of many that come at the same moment by both connectors, of which one is sent", () =>
    withSite({ simulator: NO_STAFF }, async (site) => {
      const order = (number: string) => ({ number, subject: `S-${number}`, labels: ["V-1"] });
      const numbers = (letter: string) => Array.from({ length: 10 }, (_, n) => `${letter}-${n}`);
      await site.drop("csv", "c.csv", labCsv(numbers("C").map(order)));
      for (const number of numbers("H")) await site.drop("hl7", `${number}.hl7`, omlO33(order(number)));
      await site.start();
      const orders = await site.waitForOrders(20, ["submitted", "parked"]);
      expect(orders.filter(({ state }) => state === "submitted")).toHaveLength(1);
      expect(requestsOf(site)).toEqual(["STORE"]);
    }));

  test("goes on by a retry once the container was retrieved", () =>
    withSite({}, async (site) => {
      await site.start();
      await site.drop("csv", "a.csv", vialOf("S-1", "A-1"));
      await inState(site, "A-1", "completed");
      await site.drop("csv", "b.csv", vialOf("S-2", "B-1"));
      const parked = await inState(site, "B-1", "parked");
      await site.drop("csv", "c.csv", vialOf("S-1", "A-2", { operation: "CRYO-RETRIEVE" }));
      await inState(site, "A-2", "completed");
      await retryOrder(site.pool, parked, BY);
      await inState(site, "B-1", "completed");
    }));

  test("is sent when a person says so, and asks no more of it than that", () =>
    withSite({ simulator: NO_STAFF }, async (site) => {
      await site.start();
      await site.drop("csv", "a.csv", vialOf("S-1", "A-1"));
      await inState(site, "A-1", "submitted");
      await site.drop("csv", "b.csv", vialOf("S-2", "B-1"));
      const parked = await inState(site, "B-1", "parked");
      expect(await overrideOrder(site.pool, parked, BY)).toBe("done");
      await inState(site, "B-1", "submitted");
      expect(requestsOf(site)).toEqual(["STORE", "STORE"]);
    }));

  test("is sent where the site allows it", () =>
    withSite({ simulator: NO_STAFF, config: { guards: { labelOfTwoSubjects: "allow" } } }, async (site) => {
      await site.start();
      for (const number of ["1", "2"]) await site.drop("csv", `${number}.csv`, vialOf(`S-${number}`, number));
      expect(await site.waitForOrders(2, ["submitted"])).toHaveLength(2);
    }));
});

describe.concurrent("an order for a container that was moved before", () => {
  const order = (number: string, operation: "CRYO-STORE" | "CRYO-RETRIEVE") =>
    labCsv([{ number, operation, subject: "S-1", labels: ["V-1"] }]);

  test("goes on as often as it is stored and retrieved in turn, and is parked when it is not its turn", () =>
    withSite({}, async (site) => {
      await site.start();
      const steps = [
        ["A-1", "CRYO-STORE", "completed", undefined],
        ["A-2", "CRYO-STORE", "parked", "ORDER_CONTAINER_STORED_ALREADY"],
        ["A-3", "CRYO-RETRIEVE", "completed", undefined],
        ["A-4", "CRYO-RETRIEVE", "parked", "ORDER_CONTAINER_RETRIEVED_ALREADY"],
        ["A-5", "CRYO-STORE", "completed", undefined],
      ] as const;
      for (const [number, operation, state, code] of steps) {
        if (number === "A-5") {
          // Parked orders of the same kind would hold it up.
          for (const parked of ["A-2", "A-4"]) await discardOrder(site.pool, await find(site, parked), BY);
        }
        await site.drop("csv", `${number}.csv`, order(number, operation));
        const done = await eventually(async () => {
          const [found] = await findOrders(site.pool, number);
          return found && ["completed", "parked"].includes(found.state) && found;
        });
        expect([number, done.state, done.failure?.code]).toEqual([number, state, code]);
      }
      expect(requestsOf(site)).toEqual(["STORE", "RETRIEVAL", "STORE"]);
    }));

  test("waits to be stored until an earlier retrieval has taken it out", () =>
    withSite({}, async (site) => {
      await site.start();
      await site.drop("csv", "a.csv", order("A-1", "CRYO-STORE"));
      await inState(site, "A-1", "completed");
      const both = [
        { number: "A-2", operation: "CRYO-RETRIEVE", subject: "S-1", labels: ["V-1"] },
        { number: "A-3", subject: "S-1", labels: ["V-1"] },
      ] as const;
      // Nothing is taken out before the other order has been looked at.
      site.simulator.control.configure({ device: { auto: false } });
      await site.drop("csv", "b.csv", labCsv(both));
      await eventually(async () => {
        const events = await listEvents(site.pool, (await find(site, "A-3")).id);
        return events.some(({ kind }) => kind === "waits");
      });
      site.simulator.control.configure({ device: { auto: true } });
      await inState(site, "A-3", "completed");
    }));

  test("is parked when only the service knows that it is in storage", () =>
    withSite({}, async (site) => {
      const { control } = site.simulator;
      const subject = {
        facilityId: 12,
        code: "S-1",
        firstName: "Ada",
        lastName: "Example",
        dateOfBirth: "1990-01-31",
      };
      control.addSubject(subject);
      control.addContainer({ facilityId: 12, subjectCode: "S-1", name: "V-1", description: "by hand" });
      await site.start();
      await site.drop("csv", "a.csv", order("A-1", "CRYO-STORE"));
      const { failure } = await inState(site, "A-1", "parked");
      expect(failure?.code).toBe("ORDER_CONTAINER_STORED_ALREADY");
      expect(failure?.text).toMatch(/^the service has container V-1 in storage already/);
      expect(requestsOf(site)).toEqual([]);
    }));

  test("is not taken for retrieved by a retrieval that has not come to its end", () =>
    withSite({ simulator: NO_STAFF }, async (site) => {
      const { control } = site.simulator;
      const person = { firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };
      control.addSubject({ facilityId: 12, code: "S-1", ...person });
      control.addContainer({ facilityId: 12, subjectCode: "S-1", name: "V-1" });
      await site.start();
      await site.drop("csv", "a.csv", order("A-1", "CRYO-RETRIEVE"));
      const { id } = await inState(site, "A-1", "submitted");
      const failure = { code: "REQUEST_GONE", text: "" } as const;
      await changeOrders(site.pool, [{ orderId: id, to: "parked", failure }]);
      await site.drop("csv", "b.csv", order("A-2", "CRYO-STORE"));
      const parked = await eventually(async () => {
        const found = await find(site, "A-2");
        return ["parked", "submitted"].includes(found.state) && found;
      });
      expect(parked.failure?.code).toBe("ORDER_CONTAINER_STORED_ALREADY");
    }));

  test("is stored by a retry after its procedure failed, though the service lists it", () =>
    withSite({ simulator: { device: { ...QUICK_DEVICE, failureRate: 1 } } }, async (site) => {
      await site.start();
      await site.drop("csv", "a.csv", order("A-1", "CRYO-STORE"));
      const failed = await inState(site, "A-1", "failed");
      expect(site.simulator.control.containers().map(({ name }) => name)).toEqual(["V-1"]);
      site.simulator.control.configure({ device: { failureRate: 0 } });
      await retryOrder(site.pool, failed, BY);
      await inState(site, "A-1", "completed");
    }));
});

describe.concurrent("an order whose number an earlier one has with other content", () => {
  const two = labCsv([{ number: "A-1", subject: "S-1" }]);
  const other = labCsv([{ number: "A-1", subject: "S-2", labels: ["V-2"] }]);
  const parkedOf = (site: Site) =>
    eventually(async () => (await findOrders(site.pool, "A-1")).find(({ state }) => state === "parked"));

  test("is parked again by a plain retry, and sent when a person says why", () =>
    withSite({ simulator: NO_STAFF }, async (site) => {
      await site.start();
      await site.drop("csv", "a.csv", two);
      await site.drop("csv", "b.csv", other);
      const parked = await parkedOf(site);
      await retryOrder(site.pool, parked, BY);
      await eventually(async () => {
        const events = await listEvents(site.pool, parked.id);
        return events.filter(({ kind }) => kind === "parked").length === 2;
      });
      expect(await overrideOrder(site.pool, parked, BY)).toBe("done");
      await site.waitForOrders(2, ["submitted"]);
    }));

  test("is parked once more for its container when a person only knew of its number", () =>
    withSite({ simulator: NO_STAFF }, async (site) => {
      await site.start();
      for (const lastName of ["Example", "Sample"]) {
        const order = { number: "A-1", subject: "S-1", lastName, labels: ["V-1"] };
        await site.drop("csv", `${lastName}.csv`, labCsv([order]));
        await eventually(async () => (await findOrders(site.pool, "A-1")).length > 0);
      }
      const parked = await parkedOf(site);
      expect(parked.failure?.code).toBe("ORDER_NUMBER_REUSED");
      expect(await overrideOrder(site.pool, parked, BY)).toBe("done");
      const again = await eventually(async () =>
        (await findOrders(site.pool, "A-1")).find(
          ({ id, state, failure }) =>
            id === parked.id && (state === "submitted" || failure?.code.startsWith("ORDER_CONTAINER")),
        ),
      );
      expect(again.failure?.code).toBe("ORDER_CONTAINER_IN_OPEN_ORDER");
      expect(requestsOf(site)).toEqual(["STORE"]);
    }));

  test("goes on by a plain retry once the earlier one is discarded", () =>
    withSite({}, async (site) => {
      await site.start();
      await site.drop("csv", "a.csv", labCsv([{ number: "A-1", subject: "S-1", birth: "" }]));
      const first = await parkedOf(site);
      await site.drop("csv", "b.csv", other);
      const second = await eventually(async () =>
        (await findOrders(site.pool, "A-1")).find(({ failure }) => failure?.code === "ORDER_NUMBER_REUSED"),
      );
      await discardOrder(site.pool, first, BY);
      await retryOrder(site.pool, second, BY);
      await eventually(async () =>
        (await findOrders(site.pool, "A-1")).some(
          ({ id, state }) => id === second.id && state === "completed",
        ),
      );
    }));
});
