import { describe, expect, test } from "vitest";
import { listOpenTasks } from "../../src/ledger/operator/tasks.ts";
import { findOrders } from "../../src/ledger/operator/views.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33, ormCancel, ormControl } from "../support/lab-messages.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

/** Nobody reviews anything, so that an order stays where it is. */
const IDLE: SimulatorOptions = { staff: { auto: false }, device: { auto: false } };

/** The segments of the order response to a message; each word tells the answer's ORC-1. */
async function answerTo(site: Site, controlId: string, control: string): Promise<string[]> {
  const text = await eventually(async () =>
    [...(await site.results("hl7")).values()].find(
      (each) => each.includes(`|AA|${controlId}`) && each.includes(`\rORC|${control}|`),
    ),
  );
  return text.split("\r");
}

const orcOf = (segments: readonly string[]) => segments.find((each) => each.startsWith("ORC|"))?.split("|");
const requestsOf = (site: Site) => site.simulator.control.requests();

async function submitted(site: Site): Promise<void> {
  await site.start();
  await site.drop("hl7", "a.hl7", omlO33({ number: "A-1" }));
  await site.waitForOrders(1, ["submitted"]);
}

describe.concurrent("an order that the service has", () => {
  test.each([
    ["DC", "UD", "CANCEL_NOT_OFFERED"],
    ["HD", "UH", "CONTROL_NOT_OFFERED"],
    ["RL", "UR", "CONTROL_NOT_OFFERED"],
    ["XO", "UX", "CONTROL_NOT_OFFERED"],
    ["RP", "UM", "CONTROL_NOT_OFFERED"],
  ])(
    "goes on when the lab sends %s, which is answered %s, and a person gets a task",
    (control, refused, code) =>
      withSite({ simulator: IDLE }, async (site) => {
        await submitted(site);
        await site.drop("hl7", "b.hl7", ormControl(control, { number: "A-1", labels: ["V-2"] }));
        const answer = await answerTo(site, `${control}-A-1`, refused);
        expect(answer[0]).toContain("|ORR^O02^ORR_O02|");
        const [request] = requestsOf(site);
        expect(orcOf(answer)).toMatchObject({ 2: "A-1^LIMS", 3: `R${request?.id}^CRYOBRIDGE`, 5: "SC" });
        expect(orcOf(answer)?.[16]).toMatch(new RegExp(`^${code}\\^.*the storage service has`));
        expect(await listOpenTasks(site.pool, 10)).toHaveLength(1);
        expect(requestsOf(site)).toMatchObject([{ status: "PENDING" }]);
      }),
  );

  test("is reported by SS, as it stands, and asks nobody for anything", () =>
    withSite({ simulator: IDLE }, async (site) => {
      await submitted(site);
      await site.drop("hl7", "b.hl7", ormControl("SS", { number: "A-1" }));
      const [request] = requestsOf(site);
      expect(orcOf(await answerTo(site, "SS-A-1", "SR"))).toMatchObject({
        2: "A-1^LIMS",
        3: `R${request?.id}^CRYOBRIDGE`,
        5: "SC",
      });
      expect(await listOpenTasks(site.pool, 10)).toEqual([]);
    }));
});

test("a question for an order that never came is answered with ER", () =>
  withSite({}, async (site) => {
    await site.start();
    await site.drop("hl7", "b.hl7", ormControl("SS", { number: "A-9" }));
    expect(orcOf(await answerTo(site, "SS-A-9", "SR"))).toMatchObject({ 2: "A-9^LIMS", 5: "ER" });
  }));

describe.concurrent("an order that has not left", () => {
  /** Batches are taken up in one transaction each, so what follows in one file meets the order before it leaves. */
  const inOneFile = (...messages: readonly string[]) => messages.join("");

  test("waits on hold, says so, and is carried out once it is released", () =>
    withSite({}, async (site) => {
      await site.start();
      const order = omlO33({ number: "A-1" });
      await site.drop("hl7", "a.hl7", inOneFile(order, ormControl("HD", { number: "A-1" })));
      expect(orcOf(await answerTo(site, "HD-A-1", "HR"))).toMatchObject({ 2: "A-1^LIMS", 5: "HD" });
      expect(await findOrders(site.pool, "A-1")).toMatchObject([{ state: "received" }]);
      expect(requestsOf(site)).toEqual([]);
      await site.drop("hl7", "b.hl7", ormControl("RL", { number: "A-1" }));
      expect(orcOf(await answerTo(site, "RL-A-1", "OR"))).toMatchObject({ 2: "A-1^LIMS", 5: "SC" });
      expect((await site.waitForOrders(1))[0]?.state).toBe("completed");
    }));

  test.each([
    ["XO", "XR"],
    ["RP", "RQ"],
  ])("is sent as %s wants it, and only so", (control, granted) =>
    withSite({}, async (site) => {
      await site.start();
      const other = ormControl(control, { number: "A-1", labels: ["V-2", "V-3"] });
      await site.drop("hl7", "a.hl7", inOneFile(omlO33({ number: "A-1" }), other));
      expect(orcOf(await answerTo(site, `${control}-A-1`, granted))).toMatchObject({
        2: "A-1^LIMS",
        5: "SC",
      });
      expect((await site.waitForOrders(1))[0]?.state).toBe("completed");
      expect(requestsOf(site)).toHaveLength(1);
      const labels = requestsOf(site).flatMap(({ containers }) => containers.map(({ name }) => name));
      expect(labels).toEqual(["V-2", "V-3"]);
    }),
  );

  test("is not accepted again after it was cancelled: its end is reported once more", () =>
    withSite({ simulator: IDLE }, async (site) => {
      await site.start();
      const order = omlO33({ number: "A-1" });
      await site.drop("hl7", "a.hl7", inOneFile(order, ormCancel({ number: "A-1" })));
      await site.waitForOrders(1, ["cancelled"]);
      await site.drop("hl7", "b.hl7", order.replace("|MSG-A-1|", "|AGAIN|"));
      expect(orcOf(await answerTo(site, "AGAIN", "UA"))).toMatchObject({ 2: "A-1^LIMS", 5: "CA" });
      await eventually(async () => {
        const reported = [...(await site.results("hl7")).values()];
        return (
          reported.filter((each) => each.includes("|ORU^R01") && each.includes("\rORC|OC|A-1^LIMS|"))
            .length === 2
        );
      });
    }));

  test("is discontinued here, which is answered DR", () =>
    withSite({}, async (site) => {
      await site.start();
      await site.drop(
        "hl7",
        "a.hl7",
        inOneFile(omlO33({ number: "A-1" }), ormControl("DC", { number: "A-1" })),
      );
      expect(orcOf(await answerTo(site, "DC-A-1", "DR"))).toMatchObject({ 2: "A-1^LIMS", 5: "DC" });
      expect((await site.waitForOrders(1))[0]?.state).toBe("cancelled");
      expect(requestsOf(site)).toEqual([]);
    }));
});

describe.concurrent("a CSV file", () => {
  /** Drops rows of order number and operation, and gives the rows of results that answer them. */
  async function ask(site: Site, name: string, requests: readonly string[]): Promise<string[]> {
    await site.drop("csv", name, ["order_number,operation", ...requests, ""].join("\n"));
    return answersTo(site, name, requests.length);
  }

  const answersTo = (site: Site, name: string, count: number) =>
    eventually(async () => {
      const files = [...(await site.results("csv"))].filter(([file]) => file.startsWith(name));
      const rows = files.flatMap(([, text]) => text.split("\r\n").slice(1));
      const answers = rows.filter((row) => /^[^,]*,(?:HOLD|RELEASE|STATUS),/.test(row));
      return answers.length === count ? answers : undefined;
    });

  test("holds an order, asks how it stands, and releases it", () =>
    withSite({}, async (site) => {
      await site.start();
      await site.drop("csv", "day.csv", `${labCsv([{ number: "A-1" }])}A-1,HOLD,,,,,,,\r\n`);
      expect(await answersTo(site, "day.csv", 1)).toEqual([expect.stringMatching(/^A-1,HOLD,S-A-1,,held,/)]);
      expect(await ask(site, "ask.csv", ["A-1,STATUS", "A-9,STATUS"])).toEqual(
        expect.arrayContaining([
          expect.stringMatching(/^A-1,STATUS,S-A-1,V-A-1,held,/),
          expect.stringMatching(/^A-9,STATUS,,,status_refused,.*there is no such order/),
        ]),
      );
      expect(requestsOf(site)).toEqual([]);
      expect(await ask(site, "go.csv", ["A-1,RELEASE"])).toEqual([
        expect.stringMatching(/^A-1,RELEASE,S-A-1,,released,/),
      ]);
      await site.waitForOrders(1, ["completed"]);
    }));

  test("is answered where a completed order is, and why it can't be held any more", () =>
    withSite({}, async (site) => {
      await site.start();
      await site.drop("csv", "day.csv", labCsv([{ number: "A-1", labels: ["V-1", "V-2"] }]));
      await site.waitForOrders(1, ["completed"]);
      const [order] = await findOrders(site.pool, "A-1");
      await site.drop("csv", "ask.csv", "order_number,operation\nA-1,STATUS\n");
      const reported = await answersTo(site, "ask.csv", 2);
      for (const [i, row] of reported.sort().entries()) {
        const { label, location } = order?.containers[i] ?? {};
        expect(row).toContain(`A-1,STATUS,S-A-1,${label},completed,`);
        expect(row).toContain(location?.storedAt);
      }
      expect(await ask(site, "hold.csv", ["A-1,HOLD"])).toEqual([
        expect.stringMatching(/^A-1,HOLD,S-A-1,,hold_refused,.*completed before it could be put on hold/),
      ]);
      expect(await listOpenTasks(site.pool, 10)).toHaveLength(1);
    }));
});
