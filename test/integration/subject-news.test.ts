import { describe, expect, test } from "vitest";
import { isTerminal } from "../../src/core/order-state.ts";
import { formatId } from "../../src/ledger/ids.ts";
import { listOpenTasks } from "../../src/ledger/operator/tasks.ts";
import { retryOrder } from "../../src/ledger/orders/acts.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { eventually } from "../support/eventually.ts";
import { adt, adtMerges, omlO33, ormControl } from "../support/lab-messages.ts";
import { type ConfigParts, type Site, sharedSite, withSite } from "../support/with-daemon.ts";

const plain = sharedSite();

/** A subject that the service has. */
const ada = (code: string) => ({
  ...{ facilityId: 12, code, firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" },
});

/** Orders about a subject. */
const ordersOf = async (site: Site, code: string) =>
  (await site.orders()).filter(({ subject }) => subject.code.reveal() === code);

/** The order that became of an ADT message about a subject, at its end. */
async function newsOf(site: Site, code: string, text: string): Promise<LedgerOrder> {
  await site.drop("hl7", `adt-${code}.hl7`, text);
  return eventually(async () => (await ordersOf(site, code)).find(({ state }) => isTerminal(state)));
}

/** Segments of the messages that tell the lab what became of news about these subjects, once there is one of each. */
const reportsOf = (site: Site, ...codes: string[]) =>
  eventually(async () => {
    const texts = [...(await site.results("hl7")).values()].filter((each) => each.includes("|ORU^R01"));
    const found = codes.map((code) => texts.find((each) => each.includes(`|${code}^`))?.split("\r"));
    return found.every((each) => each !== undefined) && found;
  });

/** What the lab is answered to a message that is refused. */
const refusalOf = (site: Site, controlId: string) =>
  eventually(async () =>
    [...(await site.results("hl7")).values()].find((each) => each.includes(`\rMSA|AE|${controlId}`)),
  );

async function tasksOf(site: Site, code: string) {
  const ids = (await ordersOf(site, code)).map(({ id }) => formatId("o", id));
  return (await listOpenTasks(site.pool, 100)).filter(({ orderId }) => ids.includes(orderId ?? ""));
}

/** What the service has of a subject. */
const known = (site: Site, code: string) =>
  site.simulator.control
    .subjects()
    .filter((each) => each.code === code)
    .map(({ lastName }) => lastName);

const fieldOf = (lines: readonly string[] | undefined, start: string, n: number) =>
  lines?.find((line) => line.startsWith(start))?.split("|")[n];

describe.concurrent("an update of a subject", () => {
  test.each(["A08", "A31"] as const)("%s is done when the service has the same data", async (event) => {
    const [site, code] = [plain(), `SAME-${event}`];
    site.simulator.control.addSubject(ada(code));
    expect(await newsOf(site, code, adt(event, { code }))).toMatchObject({
      operation: "UPDATE",
      state: "completed",
    });
    expect(await tasksOf(site, code)).toEqual([]);
  });

  test.each(["A08", "A31"] as const)(
    "%s of a subject that the service doesn't know is noted, and registers nobody",
    async (event) => {
      const [site, code] = [plain(), `NEW-${event}`];
      expect((await newsOf(site, code, adt(event, { code }))).state).toBe("completed");
      expect(known(site, code)).toEqual([]);
    },
  );

  test("registers the subject where the profile says so", () => {
    const profiles = { adt: { extends: "builtin/hl7-orders", register: ["ADT^A04", "ADT^A28", "ADT^A08"] } };
    return withSite({ config: withProfile(profiles) }, async (site) => {
      await site.start();
      expect(await newsOf(site, "S-1", adt("A08", { code: "S-1" }))).toMatchObject({
        operation: "REGISTER",
        state: "completed",
      });
      expect(known(site, "S-1")).toEqual(["Example"]);
    });
  });

  test("that the service would have to make is refused with what differs, and a person gets a task", async () => {
    const [site, code] = [plain(), "DIFFERS"];
    site.simulator.control.addSubject(ada(code));
    const order = await newsOf(site, code, adt("A08", { code, lastName: "Married" }));
    expect(order).toMatchObject({ state: "failed", failure: { code: "SUBJECT_UPDATE_NOT_OFFERED" } });
    expect(order.failure?.text).toContain("another last name");
    const [reported] = await reportsOf(site, code);
    expect(fieldOf(reported, "ORC|", 1)).toBe("UX");
    expect(reported?.join()).not.toMatch(/\|OD\|/);
    expect(await tasksOf(site, code)).toMatchObject([{ kind: "update" }]);
    expect(known(site, code)).toEqual(["Example"]);
  });

  test("is done when it is retried once the facility has corrected the subject", async () => {
    const [site, code] = [plain(), "CORRECTED"];
    const subject = site.simulator.control.addSubject(ada(code));
    const { id } = await newsOf(site, code, adt("A08", { code, lastName: "Married" }));
    Object.assign(subject, { lastName: "Married" });
    await retryOrder(site.pool, { id }, { actor: "test" });
    await eventually(async () => (await ordersOf(site, code))[0]?.state === "completed");
  });

  test("can't be judged where the service is not asked about subjects, which the answer says", () =>
    withSite({ config: { service: { subjects: "none" } } }, async (site) => {
      await site.start();
      const order = await newsOf(site, "S-1", adt("A08", { code: "S-1" }));
      expect(order.failure).toMatchObject({ code: "SUBJECT_UPDATE_NOT_OFFERED" });
    }));
});

describe.concurrent("a merge of two identifiers", () => {
  test("of which one was never known has nothing to merge", async () => {
    const [site, code] = [plain(), "NEVER-2"];
    expect(await newsOf(site, code, adt("A40", { code, prior: "NEVER-1" }))).toMatchObject({
      operation: "MERGE",
      state: "completed",
    });
    expect(await tasksOf(site, code)).toEqual([]);
  });

  test("is refused where the service has the prior one, and nothing is merged there", async () => {
    const [site, code, prior] = [plain(), "HAS-2", "HAS-1"];
    site.simulator.control.addSubject(ada(prior));
    const order = await newsOf(site, code, adt("A40", { code, prior }));
    expect(order).toMatchObject({ state: "failed", failure: { code: "SUBJECT_MERGE_NOT_OFFERED" } });
    const [reported] = await reportsOf(site, code);
    expect(fieldOf(reported, "ORC|", 1)).toBe("UX");
    expect(await tasksOf(site, code)).toMatchObject([{ kind: "merge" }]);
    expect([known(site, prior), known(site, code)]).toEqual([["Example"], []]);
  });

  test("makes a task of each order under the prior one that has not been sent, and tells which", async () => {
    const [site, code, prior] = [plain(), "HELD-2", "HELD-1"];
    const order = omlO33({ number: "HELD", subject: prior });
    const held = ormControl("HD", { number: "HELD", subject: prior });
    await site.drop("hl7", "held.hl7", order + held + adt("A40", { code, prior }));
    const [ofOrder] = await eventually(async () => {
      const [orders, merges] = [await tasksOf(site, prior), await tasksOf(site, code)];
      return orders.length === 1 && merges.length === 1 && orders;
    });
    expect(ofOrder?.placerOrderNumber).toBe("HELD");
    const [merge] = await ordersOf(site, code);
    expect(merge?.failure?.text).toMatch(/not sent yet, and going on under it: order HELD$/);
    expect((await ordersOf(site, prior))[0]?.state).toBe("received");
  });

  test("that names one identifier twice is refused as a message", async () => {
    const [site, code] = [plain(), "TWICE"];
    await site.drop("hl7", "twice.hl7", adt("A40", { code, prior: code }));
    await refusalOf(site, `A40-${code}`);
    expect(await ordersOf(site, code)).toEqual([]);
  });
});

describe.concurrent("a message with several merges", () => {
  const chain = (name: string) => [
    { code: `${name}-2`, prior: `${name}-1`, lastName: "Two" },
    { code: `${name}-3`, prior: `${name}-2`, lastName: "Three" },
  ];

  test("merges each of them, and tells a chain in its order, each result with its own patient", async () => {
    const [site, codes] = [plain(), ["CHAIN-2", "CHAIN-3"]];
    site.simulator.control.addSubject(ada("CHAIN-1"));
    await site.drop("hl7", "chain.hl7", adtMerges("A40", chain("CHAIN")));
    const reported = await reportsOf(site, ...codes);
    const merges = (await site.orders()).filter(({ subject }) => codes.includes(subject.code.reveal()));
    expect(merges.map(({ priorSubjectCode, state }) => [priorSubjectCode?.reveal(), state]).sort()).toEqual([
      ["CHAIN-1", "failed"],
      ["CHAIN-2", "completed"],
    ]);
    const inOrder = reported.sort((a, b) =>
      (fieldOf(a, "MSH", 9) ?? "") < (fieldOf(b, "MSH", 9) ?? "") ? -1 : 1,
    );
    expect(inOrder.map((lines) => fieldOf(lines, "PID", 5))).toEqual(["Two^Ada", "Three^Ada"]);
    expect(
      inOrder.map((lines) => lines?.find((line) => line.includes("CRYO-PRIOR-ID"))?.split("|")[5]),
    ).toEqual(["CHAIN-1", "CHAIN-2"]);
  });

  test("is taken whole or not at all", async () => {
    const site = plain();
    const pairs = [...chain("WHOLE"), { code: "WHOLE-4", prior: "WHOLE-4" }];
    await site.drop("hl7", "whole.hl7", adtMerges("A40", pairs).replace("MERGES-A40", "MERGES-WHOLE"));
    expect(await refusalOf(site, "MERGES-WHOLE")).toMatch(/\rERR\|\|MRG\^3\^1\^1\^1\|102/);
    for (const { code } of pairs) expect(await ordersOf(site, code)).toEqual([]);
  });

  test("A18 or A34, as 2.3 has it, is a merge where the profile says so", () => {
    const older = ["ADT^A18", "ADT^A34", "ADT^A40"];
    const profiles = { adt: { extends: "builtin/hl7-orders", accept: older, merge: older } };
    return withSite({ config: withProfile(profiles) }, async (site) => {
      await site.start();
      for (const event of ["A18", "A34"] as const) {
        const [code, prior] = [`${event}-2`, `${event}-1`];
        site.simulator.control.addSubject(ada(prior));
        const order = await newsOf(site, code, adtMerges(event, [{ code, prior }]));
        expect(order).toMatchObject({ operation: "MERGE", failure: { code: "SUBJECT_MERGE_NOT_OFFERED" } });
        const [reported] = await reportsOf(site, code);
        expect([fieldOf(reported, "MSH", 11), fieldOf(reported, "ORC", 1)]).toEqual(["2.3", "UX"]);
      }
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
