import { describe, expect, test } from "vitest";
import { listOpenTasks } from "../../src/ledger/operator/tasks.ts";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33, ormCancel, ormControl } from "../support/lab-messages.ts";
import { type Site, sharedSite } from "../support/with-daemon.ts";

/** Where nobody reviews anything, so that an order stays where it is, and where it goes on to its end. */
const idle = sharedSite({ simulator: { staff: { auto: false }, device: { auto: false } } });
const moving = sharedSite();

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
const requestsOf = (site: Site, number: string) =>
  site.simulator.control.requests().filter(({ subjectCode }) => subjectCode === `S-${number}`);
const tasksOf = async (site: Site, number: string) =>
  (await listOpenTasks(site.pool, 100)).filter(({ placerOrderNumber }) => placerOrderNumber === number);

async function submitted(site: Site, number: string): Promise<void> {
  await site.drop("hl7", `${number}.hl7`, omlO33({ number }));
  await site.waitForOrder(number, ["submitted"]);
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
    async (control, refused, code) => {
      const site = idle();
      const number = `I-${control}`;
      await submitted(site, number);
      const text = ormControl(control, { number, labels: [`W-${control}`] });
      await site.drop("hl7", `${control}.hl7`, text);
      const answer = await answerTo(site, `${control}-${number}`, refused);
      expect(answer[0]).toContain("|ORR^O02^ORR_O02|");
      const [request] = requestsOf(site, number);
      expect(orcOf(answer)).toMatchObject({ 2: `${number}^LIMS`, 3: `R${request?.id}^CRYOBRIDGE`, 5: "SC" });
      expect(orcOf(answer)?.[16]).toMatch(new RegExp(`^${code}\\^.*the storage service has`));
      expect(await tasksOf(site, number)).toHaveLength(1);
      expect(requestsOf(site, number)).toMatchObject([{ status: "PENDING" }]);
    },
  );

  test("is reported by SS, as it stands, and asks nobody for anything", async () => {
    const site = idle();
    await submitted(site, "I-SS");
    await site.drop("hl7", "ss.hl7", ormControl("SS", { number: "I-SS" }));
    const [request] = requestsOf(site, "I-SS");
    expect(orcOf(await answerTo(site, "SS-I-SS", "SR"))).toMatchObject({
      2: "I-SS^LIMS",
      3: `R${request?.id}^CRYOBRIDGE`,
      5: "SC",
    });
    expect(await tasksOf(site, "I-SS")).toEqual([]);
  });
});

test("a question for an order that never came is answered with ER", async () => {
  const site = idle();
  await site.drop("hl7", "never.hl7", ormControl("SS", { number: "A-9" }));
  expect(orcOf(await answerTo(site, "SS-A-9", "SR"))).toMatchObject({ 2: "A-9^LIMS", 5: "ER" });
});

describe.concurrent("an order that has not left", () => {
  /** Batches are taken up in one transaction each, so what follows in one file meets the order before it leaves. */
  const inOneFile = (...messages: readonly string[]) => messages.join("");

  test("waits on hold, says so, and is carried out once it is released", async () => {
    const site = moving();
    const order = omlO33({ number: "M-HD" });
    await site.drop("hl7", "hd.hl7", inOneFile(order, ormControl("HD", { number: "M-HD" })));
    expect(orcOf(await answerTo(site, "HD-M-HD", "HR"))).toMatchObject({ 2: "M-HD^LIMS", 5: "HD" });
    expect(await findOrders(site.pool, "M-HD")).toMatchObject([{ state: "received" }]);
    expect(requestsOf(site, "M-HD")).toEqual([]);
    await site.drop("hl7", "rl.hl7", ormControl("RL", { number: "M-HD" }));
    expect(orcOf(await answerTo(site, "RL-M-HD", "OR"))).toMatchObject({ 2: "M-HD^LIMS", 5: "SC" });
    await site.waitForOrder("M-HD", ["completed"]);
  });

  test.each([
    ["XO", "XR"],
    ["RP", "RQ"],
  ])("is sent as %s wants it, and only so", async (control, granted) => {
    const site = moving();
    const number = `M-${control}`;
    const labels = [`${control}-2`, `${control}-3`];
    const other = ormControl(control, { number, labels });
    await site.drop("hl7", `m-${control}.hl7`, inOneFile(omlO33({ number }), other));
    expect(orcOf(await answerTo(site, `${control}-${number}`, granted))).toMatchObject({
      2: `${number}^LIMS`,
      5: "SC",
    });
    await site.waitForOrder(number, ["completed"]);
    const requests = requestsOf(site, number);
    expect(requests).toHaveLength(1);
    expect(requests.flatMap(({ containers }) => containers.map(({ name }) => name))).toEqual(labels);
  });

  test("is not accepted again after it was cancelled: its end is reported once more", async () => {
    const site = idle();
    const order = omlO33({ number: "I-CA" });
    await site.drop("hl7", "ca.hl7", inOneFile(order, ormCancel({ number: "I-CA" })));
    await site.waitForOrder("I-CA", ["cancelled"]);
    await site.drop("hl7", "ca-again.hl7", order.replace("|MSG-I-CA|", "|AGAIN|"));
    expect(orcOf(await answerTo(site, "AGAIN", "UA"))).toMatchObject({ 2: "I-CA^LIMS", 5: "CA" });
    await eventually(async () => {
      const reported = [...(await site.results("hl7")).values()];
      const isEnd = (each: string) => each.includes("|ORU^R01") && each.includes("\rORC|OC|I-CA^LIMS|");
      return reported.filter(isEnd).length === 2;
    });
  });

  test("is discontinued here, which is answered DR", async () => {
    const site = moving();
    const order = omlO33({ number: "M-DC" });
    await site.drop("hl7", "dc.hl7", inOneFile(order, ormControl("DC", { number: "M-DC" })));
    expect(orcOf(await answerTo(site, "DC-M-DC", "DR"))).toMatchObject({ 2: "M-DC^LIMS", 5: "DC" });
    await site.waitForOrder("M-DC", ["cancelled"]);
    expect(requestsOf(site, "M-DC")).toEqual([]);
  });
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

  test("holds an order, asks how it stands, and releases it", async () => {
    const site = moving();
    await site.drop("csv", "hold.csv", `${labCsv([{ number: "C-1" }])}C-1,HOLD,,,,,,,\r\n`);
    expect(await answersTo(site, "hold.csv", 1)).toEqual([expect.stringMatching(/^C-1,HOLD,S-C-1,,held,/)]);
    expect(await ask(site, "ask.csv", ["C-1,STATUS", "A-9,STATUS"])).toEqual(
      expect.arrayContaining([
        expect.stringMatching(/^C-1,STATUS,S-C-1,V-C-1,held,/),
        expect.stringMatching(/^A-9,STATUS,,,status_refused,.*there is no such order/),
      ]),
    );
    expect(requestsOf(site, "C-1")).toEqual([]);
    expect(await ask(site, "go.csv", ["C-1,RELEASE"])).toEqual([
      expect.stringMatching(/^C-1,RELEASE,S-C-1,,released,/),
    ]);
    await site.waitForOrder("C-1", ["completed"]);
  });

  test("is answered where a completed order is, and why it can't be held any more", async () => {
    const site = moving();
    await site.drop("csv", "done.csv", labCsv([{ number: "C-2", labels: ["C-2-1", "C-2-2"] }]));
    const order = await site.waitForOrder("C-2", ["completed"]);
    await site.drop("csv", "where.csv", "order_number,operation\nC-2,STATUS\n");
    const reported = await answersTo(site, "where.csv", 2);
    for (const [i, row] of reported.sort().entries()) {
      const { label, location } = order.containers[i] ?? {};
      expect(row).toContain(`C-2,STATUS,S-C-2,${label},completed,`);
      expect(row).toContain(location?.storedAt);
    }
    expect(await ask(site, "late.csv", ["C-2,HOLD"])).toEqual([
      expect.stringMatching(/^C-2,HOLD,S-C-2,,hold_refused,.*completed before it could be put on hold/),
    ]);
    expect(await tasksOf(site, "C-2")).toHaveLength(1);
  });
});
