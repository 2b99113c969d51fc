import { describe, expect, test } from "vitest";
import type { Act } from "../../src/ledger/operator/audit.ts";
import { findOrders, listEvents } from "../../src/ledger/operator/views.ts";
import { discardOrder, overrideOrder, retryOrder } from "../../src/ledger/orders/acts.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33 } from "../support/lab-messages.ts";
import { type Site, sharedSite, withSite } from "../support/with-daemon.ts";

/** Nobody decides, so what was submitted stays open. */
const NO_STAFF = { staff: { auto: false } } as const;
const QUICK_DEVICE = { auto: true, startAfterMs: [20, 50], runMs: [50, 150] } as const;
const BY: Act = { actor: "grace", reason: "two vials of that name" };

/** Where what was submitted stays open, and where it goes on to its end. */
const open = sharedSite({ simulator: NO_STAFF });
const moving = sharedSite();

/** The kinds of what the service was asked for, for the subjects whose code begins so. */
const requestsOf = (site: Site, subjects: string) =>
  site.simulator.control
    .requests()
    .filter(({ subjectCode }) => subjectCode.startsWith(subjects))
    .map(({ type }) => type);

const parkedAgain = (site: Site, { id }: LedgerOrder) =>
  eventually(
    async () => (await listEvents(site.pool, id)).filter(({ kind }) => kind === "parked").length === 2,
  );

/** A row of the results of CSV files with all of these words. */
const reportedRow = (site: Site, ...words: readonly string[]) =>
  eventually(async () =>
    [...(await site.results("csv")).values()]
      .flatMap((text) => text.split("\r\n"))
      .find((row) => words.every((word) => row.includes(word))),
  );

describe.concurrent("an order for a container that is in an open order of the same kind", () => {
  test("is parked before anything is sent, whatever connector it came through, and is reported to the lab", async () => {
    const site = open();
    await site.drop("hl7", "oa.hl7", omlO33({ number: "OA-1", subject: "S-OA", labels: ["OA"] }));
    await site.waitForOrder("OA-1", ["submitted"]);
    await site.drop("csv", "ob.csv", labCsv([{ number: "OA-2", subject: "S-OA", labels: ["O-0", "OA"] }]));
    const parked = await site.waitForOrder("OA-2", ["parked"]);
    expect(parked.failure).toEqual({
      code: "ORDER_CONTAINER_IN_OPEN_ORDER",
      text: "container OA is in order OA-1 of the same kind too, which was submitted then",
    });
    expect(requestsOf(site, "S-OA")).toEqual(["STORE"]);
    expect(await reportedRow(site, "OA-2", ",parked,")).toContain("container OA is in order OA-1");
  });

  test("goes on when its label only belongs to another facility", async () => {
    const site = open();
    const orders = [
      { number: "OF-1", subject: "S-OF" },
      { number: "OF-2", subject: "S-OF", facility: "SOUTH" },
    ].map((order) => ({ ...order, labels: ["OF"] }));
    await site.drop("csv", "of.csv", labCsv(orders));
    for (const { number } of orders) await site.waitForOrder(number, ["submitted"]);
  });

  test("is one of many that come at the same moment by both connectors, of which one is sent", async () => {
    const site = open();
    const order = (number: string) => ({ number, subject: "S-OM", labels: ["OM"] });
    const numbers = (letter: string) => Array.from({ length: 5 }, (_, n) => `OM-${letter}-${n}`);
    await site.drop("csv", "om.csv", labCsv(numbers("C").map(order)));
    await site.drop(
      "hl7",
      "om.hl7",
      numbers("H")
        .map((number) => omlO33(order(number)))
        .join(""),
    );
    const ends = await Promise.all(
      [...numbers("C"), ...numbers("H")].map((number) => site.waitForOrder(number, ["submitted", "parked"])),
    );
    expect(ends.filter(({ state }) => state === "submitted")).toHaveLength(1);
    expect(requestsOf(site, "S-OM")).toEqual(["STORE"]);
  });

  test("is parked again by a retry, and goes on once the other one is discarded", async () => {
    const site = moving();
    // The first has no birth date to register its subject with.
    const first = { number: "OR-1", subject: "S-OR", labels: ["OR"], birth: "" };
    await site.drop("csv", "or-1.csv", labCsv([first]));
    const former = await site.waitForOrder("OR-1", ["parked"]);
    await site.drop("csv", "or-2.csv", labCsv([{ number: "OR-2", subject: "S-OR", labels: ["OR"] }]));
    const parked = await site.waitForOrder("OR-2", ["parked"]);
    expect(parked.failure?.text).toContain("which was parked then");
    expect(await retryOrder(site.pool, parked, BY)).toBe("done");
    await parkedAgain(site, parked);
    await discardOrder(site.pool, former, BY);
    await retryOrder(site.pool, parked, BY);
    await site.waitForOrder("OR-2", ["completed"]);
  });

  test("is sent when a person says so, with the person and the reason in its timeline", async () => {
    const site = open();
    const orders = ["OP-1", "OP-2"].map((number) => ({ number, subject: "S-OP", labels: ["OP"] }));
    await site.drop("csv", "op.csv", labCsv(orders));
    const parked = await site.waitForOrder("OP-2", ["parked"]);
    expect(await overrideOrder(site.pool, parked, { actor: "grace" })).toBe("reason wanted");
    expect(await overrideOrder(site.pool, parked, BY)).toBe("done");
    await site.waitForOrder("OP-2", ["submitted"]);
    expect(requestsOf(site, "S-OP")).toEqual(["STORE", "STORE"]);
    const [overridden] = (await listEvents(site.pool, parked.id)).filter(({ kind }) => kind === "overridden");
    expect(overridden?.detail).toEqual({ ...BY, code: "ORDER_CONTAINER_IN_OPEN_ORDER" });
  });
});

test("an order for the container of an open order, or with another subject's label, is sent where the site allows it", () => {
  const config = { guards: { sameContainer: "allow", labelOfTwoSubjects: "allow" } };
  return withSite({ simulator: NO_STAFF, config }, async (site) => {
    await site.start();
    const orders = ["A-1", "A-2"].map((number) => ({ number, subject: "S-1", labels: ["V-1"] }));
    await site.drop("csv", "a.csv", labCsv([...orders, { number: "A-3", subject: "S-2", labels: ["V-1"] }]));
    expect(await site.waitForOrders(3, ["submitted"])).toHaveLength(3);
  });
});

describe.concurrent("an order with the label of another subject's container", () => {
  const vialOf = (
    subject: string,
    number: string,
    label: string,
    more: Partial<Parameters<typeof labCsv>[0][number]> = {},
  ) => labCsv([{ number, subject, labels: [label], ...more }]);

  test("is parked before its subject is registered, whatever connector it came through, and is reported to the lab", async () => {
    const site = moving();
    await site.drop("hl7", "la.hl7", omlO33({ number: "LA-1", subject: "S-LA", labels: ["LA"] }));
    await site.waitForOrder("LA-1", ["completed"]);
    await site.drop("csv", "lb.csv", vialOf("S-LB", "LA-2", "LA"));
    const parked = await site.waitForOrder("LA-2", ["parked"]);
    const text = `label LA is that of another subject's container, which was stored by order LA-1 and has not been retrieved since`;
    expect(parked.failure).toEqual({ code: "ORDER_LABEL_OF_OTHER_SUBJECT", text });
    expect(requestsOf(site, "S-LA")).toEqual(["STORE"]);
    const codes = site.simulator.control.subjects().map(({ code }) => code);
    expect([codes.includes("S-LA"), codes.includes("S-LB")]).toEqual([true, false]);
    expect(await reportedRow(site, "LA-2", ",parked,")).toContain("stored by order LA-1");
  });

  test("is one of many that come at the same moment by both connectors, of which one is sent", async () => {
    const site = open();
    const order = (number: string) => ({ number, subject: `S-${number}`, labels: ["LM"] });
    const numbers = (letter: string) => Array.from({ length: 10 }, (_, n) => `LM-${letter}-${n}`);
    await site.drop("csv", "lm.csv", labCsv(numbers("C").map(order)));
    await site.drop(
      "hl7",
      "lm.hl7",
      numbers("H")
        .map((number) => omlO33(order(number)))
        .join(""),
    );
    const ends = await Promise.all(
      [...numbers("C"), ...numbers("H")].map((number) => site.waitForOrder(number, ["submitted", "parked"])),
    );
    expect(ends.filter(({ state }) => state === "submitted")).toHaveLength(1);
    expect(requestsOf(site, "S-LM")).toEqual(["STORE"]);
  });

  test("goes on by a retry once the container was retrieved", async () => {
    const site = moving();
    await site.drop("csv", "lr-1.csv", vialOf("S-LR1", "LR-1", "LR"));
    await site.waitForOrder("LR-1", ["completed"]);
    await site.drop("csv", "lr-2.csv", vialOf("S-LR2", "LR-2", "LR"));
    const parked = await site.waitForOrder("LR-2", ["parked"]);
    await site.drop("csv", "lr-3.csv", vialOf("S-LR1", "LR-3", "LR", { operation: "CRYO-RETRIEVE" }));
    await site.waitForOrder("LR-3", ["completed"]);
    await retryOrder(site.pool, parked, BY);
    await site.waitForOrder("LR-2", ["completed"]);
  });

  test("is sent when a person says so, and asks no more of it than that", async () => {
    const site = open();
    await site.drop("csv", "lp-1.csv", vialOf("S-LP1", "LP-1", "LP"));
    await site.waitForOrder("LP-1", ["submitted"]);
    await site.drop("csv", "lp-2.csv", vialOf("S-LP2", "LP-2", "LP"));
    const parked = await site.waitForOrder("LP-2", ["parked"]);
    expect(await overrideOrder(site.pool, parked, BY)).toBe("done");
    await site.waitForOrder("LP-2", ["submitted"]);
    expect(requestsOf(site, "S-LP")).toEqual(["STORE", "STORE"]);
  });
});

describe.concurrent("an order for a container that was moved before", () => {
  const order = (number: string, label: string, operation: "CRYO-STORE" | "CRYO-RETRIEVE" = "CRYO-STORE") =>
    labCsv([{ number, operation, subject: `S-${label}`, labels: [label] }]);
  const ADA = { facilityId: 12, firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };

  /** The service has the container, and nobody ordered it here. */
  function addByHand({ control }: Site["simulator"], label: string): void {
    control.addSubject({ ...ADA, code: `S-${label}` });
    control.addContainer({ facilityId: 12, subjectCode: `S-${label}`, name: label, description: "by hand" });
  }

  test("goes on as often as it is stored and retrieved in turn, and is parked when it is not its turn", async () => {
    const site = moving();
    const steps = [
      ["MT-1", "CRYO-STORE", "completed", undefined],
      ["MT-2", "CRYO-STORE", "parked", "ORDER_CONTAINER_STORED_ALREADY"],
      ["MT-3", "CRYO-RETRIEVE", "completed", undefined],
      ["MT-4", "CRYO-RETRIEVE", "parked", "ORDER_CONTAINER_RETRIEVED_ALREADY"],
      ["MT-5", "CRYO-STORE", "completed", undefined],
    ] as const;
    const parked: LedgerOrder[] = [];
    for (const [number, operation, state, code] of steps) {
      // Parked orders of the same kind would hold it up.
      if (number === "MT-5") for (const each of parked) await discardOrder(site.pool, each, BY);
      await site.drop("csv", `${number}.csv`, order(number, "MT", operation));
      const done = await site.waitForOrder(number, ["completed", "parked"]);
      expect([number, done.state, done.failure?.code]).toEqual([number, state, code]);
      if (state === "parked") parked.push(done);
    }
    expect(requestsOf(site, "S-MT")).toEqual(["STORE", "RETRIEVAL", "STORE"]);
  });

  test("waits to be stored until an earlier retrieval has taken it out", () =>
    withSite({}, async (site) => {
      await site.start();
      await site.drop("csv", "a.csv", order("A-1", "V-1"));
      await site.waitForOrder("A-1", ["completed"]);
      const both = [
        { number: "A-2", operation: "CRYO-RETRIEVE", subject: "S-V-1", labels: ["V-1"] },
        { number: "A-3", subject: "S-V-1", labels: ["V-1"] },
      ] as const;
      // Nothing is taken out before the other order has been looked at.
      site.simulator.control.configure({ device: { auto: false } });
      await site.drop("csv", "b.csv", labCsv(both));
      await eventually(async () => {
        const [later] = await findOrders(site.pool, "A-3");
        return later && (await listEvents(site.pool, later.id)).some(({ kind }) => kind === "waits");
      });
      site.simulator.control.configure({ device: { auto: true } });
      await site.waitForOrder("A-3", ["completed"]);
    }));

  test("is parked when only the service knows that it is in storage", async () => {
    const site = moving();
    addByHand(site.simulator, "MS");
    await site.drop("csv", "ms.csv", order("MS-1", "MS"));
    const { failure } = await site.waitForOrder("MS-1", ["parked"]);
    expect(failure?.code).toBe("ORDER_CONTAINER_STORED_ALREADY");
    expect(failure?.text).toMatch(/^the service has container MS in storage already/);
    expect(requestsOf(site, "S-MS")).toEqual([]);
  });

  test("is not taken for retrieved by a retrieval that has not come to its end", async () => {
    const site = open();
    addByHand(site.simulator, "MR");
    await site.drop("csv", "mr-1.csv", order("MR-1", "MR", "CRYO-RETRIEVE"));
    const { id } = await site.waitForOrder("MR-1", ["submitted"]);
    const failure = { code: "REQUEST_GONE", text: "" } as const;
    await changeOrders(site.pool, [{ orderId: id, to: "parked", failure }]);
    await site.drop("csv", "mr-2.csv", order("MR-2", "MR"));
    const parked = await site.waitForOrder("MR-2", ["parked", "submitted"]);
    expect(parked.failure?.code).toBe("ORDER_CONTAINER_STORED_ALREADY");
  });

  test("is stored by a retry after its procedure failed, though the service lists it", () =>
    withSite({ simulator: { device: { ...QUICK_DEVICE, failureRate: 1 } } }, async (site) => {
      await site.start();
      await site.drop("csv", "a.csv", order("A-1", "V-1"));
      const failed = await site.waitForOrder("A-1", ["failed"]);
      expect(site.simulator.control.containers().map(({ name }) => name)).toEqual(["V-1"]);
      site.simulator.control.configure({ device: { failureRate: 0 } });
      await retryOrder(site.pool, failed, BY);
      await site.waitForOrder("A-1", ["completed"]);
    }));
});

describe.concurrent("an order whose number an earlier one has with other content", () => {
  const reused = ({ failure }: LedgerOrder) => failure?.code === "ORDER_NUMBER_REUSED";

  test("is parked again by a plain retry, and sent when a person says why", async () => {
    const site = open();
    await site.drop("csv", "nr-1.csv", labCsv([{ number: "NR", subject: "S-NR1" }]));
    await site.drop("csv", "nr-2.csv", labCsv([{ number: "NR", subject: "S-NR2", labels: ["NR-2"] }]));
    const parked = await site.waitForOrder("NR", ["parked"], reused);
    await retryOrder(site.pool, parked, BY);
    await parkedAgain(site, parked);
    expect(await overrideOrder(site.pool, parked, BY)).toBe("done");
    await site.waitForOrder("NR", ["submitted"], ({ id }) => id === parked.id);
  });

  test("is parked once more for its container when a person only knew of its number", async () => {
    const site = open();
    for (const lastName of ["Example", "Sample"]) {
      const order = { number: "NC", subject: "S-NC", lastName, labels: ["NC"] };
      await site.drop("csv", `nc-${lastName}.csv`, labCsv([order]));
      await eventually(async () => (await findOrders(site.pool, "NC")).length > 0);
    }
    const parked = await site.waitForOrder("NC", ["parked"], reused);
    expect(await overrideOrder(site.pool, parked, BY)).toBe("done");
    const again = await eventually(async () =>
      (await findOrders(site.pool, "NC")).find(
        ({ id, state, failure }) =>
          id === parked.id && (state === "submitted" || failure?.code.startsWith("ORDER_CONTAINER")),
      ),
    );
    expect(again.failure?.code).toBe("ORDER_CONTAINER_IN_OPEN_ORDER");
    expect(requestsOf(site, "S-NC")).toEqual(["STORE"]);
  });

  test("goes on by a plain retry once the earlier one is discarded", async () => {
    const site = moving();
    await site.drop("csv", "nd-1.csv", labCsv([{ number: "ND", subject: "S-ND1", birth: "" }]));
    const first = await site.waitForOrder("ND", ["parked"]);
    await site.drop("csv", "nd-2.csv", labCsv([{ number: "ND", subject: "S-ND2", labels: ["ND-2"] }]));
    const second = await site.waitForOrder("ND", ["parked"], reused);
    await discardOrder(site.pool, first, BY);
    await retryOrder(site.pool, second, BY);
    await site.waitForOrder("ND", ["completed"], ({ id }) => id === second.id);
  });
});
