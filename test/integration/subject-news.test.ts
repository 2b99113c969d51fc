import { describe, expect, test } from "vitest";
import { listOpenTasks } from "../../src/ledger/operator/tasks.ts";
import { retryOrder } from "../../src/ledger/orders/acts.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { eventually } from "../support/eventually.ts";
import { adt, adtMerges, omlO33, ormControl } from "../support/lab-messages.ts";
import { type ConfigParts, type Site, withSite } from "../support/with-daemon.ts";

const NORTH = 12;
const ADA = {
  facilityId: NORTH,
  code: "S-1",
  firstName: "Ada",
  lastName: "Example",
  dateOfBirth: "1990-01-31",
};

/** The order that became of an ADT message. */
async function newsOf(site: Site, text: string): Promise<LedgerOrder> {
  await site.start();
  await site.drop("hl7", "adt.hl7", text);
  return (await site.waitForOrders(1))[0] as LedgerOrder;
}

/** Segments of the message that tells the lab what became of the news. */
async function reportsOf(site: Site): Promise<string[]> {
  const text = await eventually(async () =>
    [...(await site.results("hl7")).values()].find((each) => each.includes("|ORU^R01")),
  );
  return text.split("\r");
}

const callsThatChange = (site: Site) =>
  site.simulator.control.subjects().map(({ code, lastName }) => [code, lastName]);

describe.concurrent("an update of a subject", () => {
  test.each(["A08", "A31"] as const)("%s is done when the service has the same data", (event) =>
    withSite({}, async (site) => {
      site.simulator.control.addSubject(ADA);
      expect(await newsOf(site, adt(event, { code: "S-1" }))).toMatchObject({
        operation: "UPDATE",
        state: "completed",
      });
      expect(await listOpenTasks(site.pool, 10)).toEqual([]);
    }),
  );

  test.each(["A08", "A31"] as const)(
    "%s of a subject that the service doesn't know is noted, and registers nobody",
    (event) =>
      withSite({}, async (site) => {
        expect((await newsOf(site, adt(event, { code: "S-1" }))).state).toBe("completed");
        expect(callsThatChange(site)).toEqual([]);
      }),
  );

  test("registers the subject where the profile says so", () => {
    const profiles = { adt: { extends: "builtin/hl7-orders", register: ["ADT^A04", "ADT^A28", "ADT^A08"] } };
    return withSite({ config: withProfile(profiles) }, async (site) => {
      expect(await newsOf(site, adt("A08", { code: "S-1" }))).toMatchObject({
        operation: "REGISTER",
        state: "completed",
      });
      expect(callsThatChange(site)).toEqual([["S-1", "Example"]]);
    });
  });

  test("that the service would have to make is refused with what differs, and a person gets a task", () =>
    withSite({}, async (site) => {
      site.simulator.control.addSubject(ADA);
      const order = await newsOf(site, adt("A08", { code: "S-1", lastName: "Married" }));
      expect(order).toMatchObject({ state: "failed", failure: { code: "SUBJECT_UPDATE_NOT_OFFERED" } });
      expect(order.failure?.text).toContain("another last name");
      const reported = await reportsOf(site);
      expect(reported.find((each) => each.startsWith("ORC|"))?.split("|")).toMatchObject({ 1: "UX" });
      expect(reported.join()).not.toMatch(/\|OD\|/);
      expect(await listOpenTasks(site.pool, 10)).toMatchObject([{ kind: "update" }]);
      expect(callsThatChange(site)).toEqual([["S-1", "Example"]]);
    }));

  test("is done when it is retried once the facility has corrected the subject", () =>
    withSite({}, async (site) => {
      const subject = site.simulator.control.addSubject(ADA);
      const { id } = await newsOf(site, adt("A08", { code: "S-1", lastName: "Married" }));
      Object.assign(subject, { lastName: "Married" });
      await retryOrder(site.pool, { id }, { actor: "test" });
      expect((await site.waitForOrders(1))[0]?.state).toBe("completed");
    }));

  test("can't be judged where the service is not asked about subjects, which the answer says", () =>
    withSite({ config: { service: { subjects: "none" } } }, async (site) => {
      const order = await newsOf(site, adt("A08", { code: "S-1" }));
      expect(order.failure).toMatchObject({ code: "SUBJECT_UPDATE_NOT_OFFERED" });
    }));
});

describe.concurrent("a merge of two identifiers", () => {
  test("of which one was never known has nothing to merge", () =>
    withSite({}, async (site) => {
      expect(await newsOf(site, adt("A40", { code: "S-2", prior: "S-1" }))).toMatchObject({
        operation: "MERGE",
        state: "completed",
      });
      expect(await listOpenTasks(site.pool, 10)).toEqual([]);
    }));

  test("is refused where the service has the prior one, and nothing is merged there", () =>
    withSite({}, async (site) => {
      site.simulator.control.addSubject(ADA);
      const order = await newsOf(site, adt("A40", { code: "S-2", prior: "S-1" }));
      expect(order).toMatchObject({ state: "failed", failure: { code: "SUBJECT_MERGE_NOT_OFFERED" } });
      const reported = await reportsOf(site);
      expect(reported.find((each) => each.startsWith("ORC|"))?.split("|")).toMatchObject({ 1: "UX" });
      expect(await listOpenTasks(site.pool, 10)).toMatchObject([{ kind: "merge" }]);
      expect(callsThatChange(site)).toEqual([["S-1", "Example"]]);
    }));

  test("makes a task of each order under the prior one that has not been sent, and tells which", () =>
    withSite({}, async (site) => {
      await site.start();
      const order = omlO33({ number: "A-1", subject: "S-1" });
      const held = ormControl("HD", { number: "A-1", subject: "S-1" });
      await site.drop("hl7", "a.hl7", order + held + adt("A40", { code: "S-2", prior: "S-1" }));
      const tasks = await eventually(async () => {
        const open = await listOpenTasks(site.pool, 10);
        return open.length === 2 ? open : undefined;
      });
      expect(tasks.map(({ placerOrderNumber }) => placerOrderNumber).sort()).toEqual(["A-1", undefined]);
      const orders = await site.orders();
      const merge = orders.find(({ operation }) => operation === "MERGE");
      expect(merge?.failure?.text).toMatch(/not sent yet, and going on under it: order A-1$/);
      expect(orders.find(({ operation }) => operation === "STORE")?.state).toBe("received");
    }));

  test("that names one identifier twice is refused as a message", () =>
    withSite({}, async (site) => {
      await site.start();
      await site.drop("hl7", "adt.hl7", adt("A40", { code: "S-1", prior: "S-1" }));
      const answer = await eventually(async () => [...(await site.results("hl7")).values()][0]);
      expect(answer).toMatch(/\rMSA\|AE\|A40-S-1/);
      expect(await site.orders()).toEqual([]);
    }));
});

describe.concurrent("a message with several merges", () => {
  const CHAIN = [
    { code: "S-2", prior: "S-1", lastName: "Two" },
    { code: "S-3", prior: "S-2", lastName: "Three" },
  ];
  const reportedResults = (site: Site, count: number) =>
    eventually(async () => {
      const results = [...(await site.results("hl7"))].filter(([, text]) => text.includes("|ORU^R01"));
      return results.length === count ? results.map(([, text]) => text.split("\r")) : undefined;
    });
  const fieldOf = (lines: readonly string[], start: string, n: number) =>
    lines.find((line) => line.startsWith(start))?.split("|")[n];

  test("merges each of them, and tells a chain in its order, each result with its own patient", () =>
    withSite({}, async (site) => {
      site.simulator.control.addSubject(ADA);
      await site.start();
      await site.drop("hl7", "adt.hl7", adtMerges("A40", CHAIN));
      const merges = await site.waitForOrders(2);
      const states = merges.map(({ id, state, priorSubjectCode: prior }) => [id, prior?.reveal(), state]);
      expect(states.sort()).toEqual([
        [expect.any(Number), "S-1", "failed"],
        [expect.any(Number), "S-2", "completed"],
      ]);
      const reported = await reportedResults(site, 2);
      const inOrder = reported.sort((a, b) =>
        (fieldOf(a, "MSH", 9) ?? "") < (fieldOf(b, "MSH", 9) ?? "") ? -1 : 1,
      );
      expect(inOrder.map((lines) => fieldOf(lines, "PID", 5))).toEqual(["Two^Ada", "Three^Ada"]);
      expect(
        inOrder.map((lines) => lines.find((line) => line.includes("CRYO-PRIOR-ID"))?.split("|")[5]),
      ).toEqual(["S-1", "S-2"]);
    }));

  test("is taken whole or not at all", () =>
    withSite({}, async (site) => {
      await site.start();
      const pairs = [...CHAIN, { code: "S-4", prior: "S-4" }];
      await site.drop("hl7", "adt.hl7", adtMerges("A40", pairs));
      const answer = await eventually(async () => [...(await site.results("hl7")).values()][0]);
      expect(answer).toMatch(/\rMSA\|AE\|MERGES-A40/);
      expect(answer).toMatch(/\rERR\|\|MRG\^3\^1\^1\^1\|102/);
      expect(await site.orders()).toEqual([]);
    }));

  test.each(["A18", "A34"] as const)("%s, as 2.3 has it, is a merge where the profile says so", (event) => {
    const older = ["ADT^A18", "ADT^A34", "ADT^A40"];
    const profiles = { adt: { extends: "builtin/hl7-orders", accept: older, merge: older } };
    return withSite({ config: withProfile(profiles) }, async (site) => {
      site.simulator.control.addSubject(ADA);
      const order = await newsOf(site, adtMerges(event, [{ code: "S-2", prior: "S-1" }]));
      expect(order).toMatchObject({ operation: "MERGE", failure: { code: "SUBJECT_MERGE_NOT_OFFERED" } });
      const reported = await reportsOf(site);
      expect(fieldOf(reported, "MSH", 11)).toBe("2.3");
      expect(fieldOf(reported, "ORC", 1)).toBe("UX");
    });
  });
});

/** The site's HL7 folder with another profile. */
function withProfile(profiles: Readonly<Record<string, unknown>>): ConfigParts {
  const [profile] = Object.keys(profiles);
  const common = { stableFor: "50ms", scanInterval: "500ms" };
  return {
    profiles,
    connectors: [{ name: "hl7", type: "hl7-drop", directory: "./hl7", profile, ...common }],
  };
}
