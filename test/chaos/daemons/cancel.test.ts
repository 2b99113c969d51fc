import { describe, expect, test } from "vitest";
import { findOrders } from "../../../src/ledger/operator/views.ts";
import type { FaultRule } from "../../../src/simulator/faults.ts";
import type { CancelRoute, SimulatorOptions } from "../../../src/simulator/options.ts";
import { eventually } from "../../support/eventually.ts";
import { omlO33, ormCancel } from "../../support/lab-messages.ts";
import { type ConfigParts, type Site, withSite } from "../../support/with-daemon.ts";

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
  test("is found cancelled and not cancelled again, whatever became of the answer", async () => {
    expect(await callsToCancel(EXECUTED)).toBe(EXECUTED.length);
  });

  test("is asked for again when nothing was done", async () => {
    expect(await callsToCancel(NOT_EXECUTED)).toBe(2 * NOT_EXECUTED.length);
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
