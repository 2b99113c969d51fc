import { describe, expect, test } from "vitest";
import { listOpenTasks } from "../../src/ledger/operator/tasks.ts";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { listOrderRequests } from "../../src/ledger/orders/control-requests.ts";
import type { FaultRule } from "../../src/simulator/faults.ts";
import type { CancelRoute, SimulatorOptions } from "../../src/simulator/options.ts";
import { eventually } from "../support/eventually.ts";
import { findPort } from "../support/find-port.ts";
import { labCsv, omlO33, ormCancel } from "../support/lab-messages.ts";
import { type ConfigParts, type Site, withSite } from "../support/with-daemon.ts";

const PATH = "/api/procedure-requests/{id}/cancel";
const ROUTE: CancelRoute = { method: "POST", path: PATH };
const CALL = { method: "POST", path: "/api/procedure-requests/*/cancel", times: 1 } as const;
/** Nobody reviews anything, so that an order stays where it is. */
const IDLE: SimulatorOptions = { staff: { auto: false }, device: { auto: false }, cancelRoute: ROUTE };

function offering(cancel: unknown): ConfigParts {
  return {
    service: { timeout: "700ms", reconcile: { checks: ["50ms", "200ms"], giveUpAfter: "1500ms" }, cancel },
  };
}
const OFFERED = offering({ method: "POST", path: PATH });

async function ordered(site: Site, number = "A-1"): Promise<void> {
  await site.drop("hl7", `${number}.hl7`, omlO33({ number }));
  await site.waitForOrders(1, ["submitted"]);
}

/** Segments of the order response to the message that cancels. */
async function answerTo(site: Site, number = "A-1"): Promise<string[]> {
  const text = await eventually(async () =>
    [...(await site.results("hl7")).values()].find(
      (each) => each.includes(`|AA|CAN-${number}`) && /\rORC\|(CR|UC)\|/.test(each),
    ),
  );
  return text.split("\r");
}

const orcOf = (segments: readonly string[]) => segments.find((each) => each.startsWith("ORC|"))?.split("|");
const requestOf = (site: Site) => site.simulator.control.requests()[0];
const stateOf = async (site: Site, number = "A-1") => (await findOrders(site.pool, number))[0]?.state;

/** What a lost or spoiled answer may look like when the request was cancelled. */
const EXECUTED: readonly (readonly [string, FaultRule])[] = [
  ["the connection is cut after it was cancelled", { after: "drop" }],
  ["no answer ever comes", { after: "hang" }],
  ["a gateway answers 504 although it was cancelled", { status: 504, executed: true }],
  ["the answer is a refusal although it was cancelled", { status: 409, executed: true }],
  ["the answer is empty", { body: "empty" }],
  ["the answer is a page of HTML", { body: "html" }],
  ["the answer names no id", { body: "without-ids" }],
  ["the service acts long after the caller has given up", { executeAfterMs: 1_000 }],
];

/** Nothing was done: known at once, or found out. */
const NOT_EXECUTED: readonly (readonly [string, FaultRule])[] = [
  ["the connection is cut before anything was done", { before: "drop" }],
  ["a gateway answers 502 and nothing was done", { status: 502 }],
  ["the service is too busy", { status: 429, retryAfter: 1 }],
];

/** Has an order cancelled for each of the effects, which the first calls to cancel meet; gives how many calls there were. */
function callsToCancel(effects: readonly (readonly [string, FaultRule])[]): Promise<number | undefined> {
  const faults = effects.map(([name, effect], skip) => ({ ...CALL, name, skip, ...effect }));
  return withSite({ config: OFFERED, simulator: { ...IDLE, faults } }, async (site) => {
    const daemon = await site.start();
    const numbers = effects.map((_, n) => `A-${n}`);
    await site.drop("hl7", "orders.hl7", numbers.map((number) => omlO33({ number })).join(""));
    await site.waitForOrders(numbers.length, ["submitted"]);
    const cancels = numbers.map((number) => ormCancel({ number }));
    await site.drop("hl7", "cancel.hl7", cancels.join(""));
    for (const number of numbers) {
      expect(orcOf(await answerTo(site, number))).toMatchObject({ 1: "CR", 2: `${number}^LIMS` });
    }
    const statuses = site.simulator.control.requests().map(({ status }) => status);
    expect(statuses).toEqual(numbers.map(() => "CANCELLED"));
    expect(site.simulator.tally().faults).toEqual(Object.fromEntries(effects.map(([name]) => [name, 1])));
    return daemon.service?.requestCounts.get(`POST ${PATH}`);
  });
}

describe.concurrent("an order that the service has", () => {
  test("is cancelled there, and reported to the lab once the service shows it", () =>
    withSite({ config: OFFERED, simulator: IDLE }, async (site) => {
      const daemon = await site.start();
      await ordered(site);
      await site.drop("hl7", "cancel.hl7", ormCancel({ number: "A-1" }));
      const answer = await answerTo(site);
      expect(answer[0]).toMatch(/\|ORR\^O02\^ORR_O02\|/);
      expect(orcOf(answer)).toMatchObject({ 1: "CR", 2: "A-1^LIMS", 4: "GRP-1", 5: "CA" });
      expect(requestOf(site)?.status).toBe("CANCELLED");
      expect(await stateOf(site)).toBe("cancelled");
      expect(daemon.service?.requestCounts.get(`POST ${PATH}`)).toBe(1);
    }));

  test("is found cancelled and not cancelled again, whatever became of the answer", async () => {
    expect(await callsToCancel(EXECUTED)).toBe(EXECUTED.length);
  });

  test("is asked for again when nothing was done", async () => {
    expect(await callsToCancel(NOT_EXECUTED)).toBe(2 * NOT_EXECUTED.length);
  });

  test("is cancelled by any method and body, and by an answer without a word", () => {
    const body = { status: "CANCELLED", notify: false };
    const route: CancelRoute = {
      method: "PATCH",
      path: "/api/procedure-requests/{id}",
      body,
      answer: "empty",
    };
    const config = offering({ method: route.method, path: route.path, body });
    return withSite({ config, simulator: { ...IDLE, cancelRoute: route } }, async (site) => {
      await site.start();
      await ordered(site);
      await site.drop("hl7", "cancel.hl7", ormCancel({ number: "A-1" }));
      expect(orcOf(await answerTo(site))).toMatchObject({ 1: "CR" });
    });
  });

  test("is reported cancelled only when the service shows it, however late after it said yes", () =>
    withSite(
      { config: OFFERED, simulator: { ...IDLE, cancelRoute: { ...ROUTE, afterMs: 700 } } },
      async (site) => {
        await site.start();
        await ordered(site);
        await site.drop("hl7", "cancel.hl7", ormCancel({ number: "A-1" }));
        expect(orcOf(await answerTo(site))).toMatchObject({ 1: "CR" });
        expect(requestOf(site)?.status).toBe("CANCELLED");
      },
    ));

  test("goes on with the service's reason when it refuses, and a person gets a task", () =>
    withSite({ config: OFFERED, simulator: IDLE }, async (site) => {
      await site.start();
      await ordered(site);
      const id = requestOf(site)?.id as number;
      site.simulator.control.acceptRequest(id);
      await site.waitForOrders(1, ["accepted"]);
      await site.drop("hl7", "cancel.hl7", ormCancel({ number: "A-1" }));
      const orc = orcOf(await answerTo(site));
      expect(orc).toMatchObject({ 1: "UC", 3: `R${id}^CRYOBRIDGE`, 5: "SC" });
      expect(orc?.[16]).toMatch(/^CANCEL_REFUSED\^.*shows CREATED.*status 409: INVALID_STATE\^L$/);
      expect(await listOpenTasks(site.pool, 10)).toHaveLength(1);
      const procedureId = site.simulator.control.procedures()[0]?.id as number;
      site.simulator.control.startProcedure(procedureId);
      site.simulator.control.completeProcedure(procedureId);
      expect((await site.waitForOrders(1))[0]?.state).toBe("completed");
    }));

  test("goes on where no cancel call is configured, and the lab and a person hear that", () =>
    withSite({ config: offering("none"), simulator: IDLE }, async (site) => {
      await site.start();
      await ordered(site);
      await site.drop("hl7", "cancel.hl7", ormCancel({ number: "A-1" }));
      const answer = await answerTo(site);
      expect(orcOf(answer)?.[16]).toMatch(/^CANCEL_NOT_OFFERED\^/);
      expect(answer.find((each) => each.startsWith("NTE|"))).toContain("offers no call to cancel it");
      expect(requestOf(site)?.status).toBe("PENDING");
      expect(await listOpenTasks(site.pool, 10)).toHaveLength(1);
    }));

  test("is found by the filler order number of its results", () =>
    withSite({ config: OFFERED, simulator: IDLE }, async (site) => {
      await site.start();
      await ordered(site);
      const filler = `R${requestOf(site)?.id}`;
      await site.drop("hl7", "cancel.hl7", ormCancel({ filler, subject: "S-A-1" }));
      expect(orcOf(await answerTo(site, filler))).toMatchObject({ 1: "CR", 3: `${filler}^CRYOBRIDGE` });
      expect(await stateOf(site)).toBe("cancelled");
    }));

  test("of the external surface is cancelled by its procedure", () => {
    const path = "/api/v1/external/procedures/{id}/cancel";
    const simulator: SimulatorOptions = {
      ...IDLE,
      cancelRoute: { method: "DELETE", path, surface: "external" },
    };
    const cancel = { request: { method: "POST", path: PATH }, external: { method: "DELETE", path } };
    const { service } = offering(cancel) as { service: object };
    return withSite({ config: { service: { ...service, surface: "external" } }, simulator }, async (site) => {
      await site.start();
      await ordered(site);
      await site.drop("hl7", "cancel.hl7", ormCancel({ number: "A-1" }));
      expect(orcOf(await answerTo(site))).toMatchObject({ 1: "CR" });
      expect(site.simulator.control.procedures()[0]?.status).toBe("CANCELLED");
      expect(await stateOf(site)).toBe("cancelled");
    });
  });
});

describe.concurrent("an order whose call may be under way", () => {
  test("is cancelled at the service once it is found there", () =>
    withSite(
      {
        config: OFFERED,
        simulator: {
          ...IDLE,
          faults: [{ method: "POST", path: "/api/procedure-requests", times: 1, after: "hang" }],
        },
      },
      async (site) => {
        await site.start();
        await site.drop("hl7", "a.hl7", omlO33({ number: "A-1" }));
        await eventually(async () =>
          (await findOrders(site.pool, "A-1"))[0]?.calls.some(({ kind }) => kind === "request"),
        );
        await site.drop("hl7", "cancel.hl7", ormCancel({ number: "A-1" }));
        expect(orcOf(await answerTo(site))).toMatchObject({ 1: "CR" });
        expect(site.simulator.tally().doubled).toEqual([]);
        expect(requestOf(site)?.status).toBe("CANCELLED");
      },
    ));

  test("is cancelled here once the call proves to have had no effect, and never sent again", () =>
    withSite(
      {
        config: OFFERED,
        simulator: {
          ...IDLE,
          faults: [{ method: "POST", path: "/api/procedure-requests", times: 1, before: "hang" }],
        },
      },
      async (site) => {
        await site.start();
        await site.drop("hl7", "a.hl7", omlO33({ number: "A-1" }));
        await eventually(async () =>
          (await findOrders(site.pool, "A-1"))[0]?.calls.some(({ kind }) => kind === "request"),
        );
        await site.drop("hl7", "cancel.hl7", ormCancel({ number: "A-1" }));
        expect(orcOf(await answerTo(site))).toMatchObject({ 1: "CR" });
        expect(site.simulator.control.requests()).toEqual([]);
      },
    ));
});

describe.concurrent("a CSV file that cancels", () => {
  const rowsOf = async (site: Site, name: string) => {
    const files = await site.results("csv");
    return [...files]
      .filter(([file]) => file.startsWith(name))
      .map(([, text]) => text)
      .join("");
  };

  test("needs no more than number and operation, and is answered by a row of its own", async () => {
    const port = await findPort();
    await withSite({ config: OFFERED, simulator: { ...IDLE, port } }, async (site) => {
      await site.simulator.close();
      await site.start();
      await site.drop("csv", "orders.csv", labCsv([{ number: "A-1" }, { number: "A-2" }]));
      await eventually(async () => (await site.orders()).length === 2);
      await site.drop("csv", "cancel.csv", "order_number,operation\r\nA-1,CANCEL\r\nA-9,CANCEL\r\n");
      const rows = await eventually(async () => {
        const text = await rowsOf(site, "cancel.csv");
        return text.includes("A-9") && text.includes("A-1") && text;
      });
      expect(rows).toMatch(/^A-1,CANCEL,S-A-1,,cancelled,/m);
      expect(rows).toMatch(/^A-9,CANCEL,,,cancel_refused,.*there is no such order/m);
      await site.simulator.listen(port);
      await site.waitForOrders(2, ["cancelled", "submitted"]);
      expect(site.simulator.control.requests()).toHaveLength(1);
    });
  });

  test("is done when it comes again with the same bytes, after the order that it came before", () =>
    withSite({ config: OFFERED, simulator: IDLE }, async (site) => {
      await site.start();
      const cancel = "order_number,operation\nA-1,CANCEL\n";
      await site.drop("csv", "early.csv", cancel);
      await eventually(async () => (await rowsOf(site, "early.csv")).includes("cancel_refused"));
      await site.drop("csv", "orders.csv", labCsv([{ number: "A-1" }]));
      await eventually(async () => (await site.orders()).length === 1);
      await site.drop("csv", "late.csv", cancel);
      await eventually(async () => (await rowsOf(site, "late.csv")).includes("A-1,CANCEL,S-A-1,,cancelled,"));
      await site.waitForOrders(1, ["cancelled"]);
    }));

  test("is refused in the row when the order is completed already", () =>
    withSite({ config: OFFERED }, async (site) => {
      await site.start();
      await site.drop("csv", "orders.csv", labCsv([{ number: "A-1" }]));
      await site.waitForOrders(1, ["completed"]);
      await site.drop("csv", "cancel.csv", "order_number,operation,subject_code\nA-1,CANCEL,S-A-1\n");
      const rows = await eventually(async () => (await rowsOf(site, "cancel.csv")) || undefined);
      expect(rows).toMatch(
        /^A-1,CANCEL,S-A-1,,cancel_refused,\d+,\d+,.*completed before it could be cancelled/m,
      );
      const [order] = await findOrders(site.pool, "A-1");
      expect(await listOrderRequests(site.pool, order?.id ?? 0)).toMatchObject([
        { state: "unable", actor: "connector csv", failure: { code: "CANCEL_TOO_LATE" } },
      ]);
    }));
});
