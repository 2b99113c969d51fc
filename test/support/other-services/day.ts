import { expect } from "vitest";
import type { LedgerOrder } from "../../../src/ledger/orders/row.ts";
import { runCli } from "../../cli/run-cli.ts";
import { eventually } from "../eventually.ts";
import { type LabOrder, labCsv, omlO33 } from "../lab-messages.ts";
import { type OtherSite, type OtherSiteOptions, withOtherSite } from "../with-other-service.ts";
import { startAlder } from "./alder/service.ts";
import { startBirch } from "./birch/service.ts";
import { startCedar } from "./cedar/service.ts";
import { startDogwood } from "./dogwood/service.ts";
import { startElm } from "./elm/service.ts";
import { type Disturbance, type OtherService, UNDISTURBED } from "./other-service.ts";

export type Start = (disturbance: Disturbance) => Promise<OtherService>;
const startNarrowBirch: Start = (disturbance) => startBirch(disturbance, { isNarrow: true });

/** Each service on each surface that it has. */
export const SERVICES: readonly (readonly [string, OtherSiteOptions["surface"], Start])[] = [
  ["Alder (bare lists, 422 problems, ids near 2^53, five-field requests)", "request", startAlder],
  ["Birch (data and meta, 403, 400 for anything unknown, tokens of unknown life)", "request", startBirch],
  ["Birch without filters (400 for each that the specification doesn't name)", "request", startNarrowBirch],
  ["Cedar (ten a page, no filters, late lists, HTML errors, jumping statuses)", "request", startCedar],
  ["Alder (bare lists, 422 problems, ids near 2^53, five-field requests)", "external", startAlder],
  ["Birch (data and meta, 403, 400 for anything unknown, tokens of unknown life)", "external", startBirch],
  ["Cedar (ten a page, no filters, late lists, HTML errors, jumping statuses)", "external", startCedar],
  ["Dogwood (whole lists, no subjects, RFID first, places after the end)", "external", startDogwood],
  ["Elm (all below one path, data and meta, nested facilities, no birth dates)", "external", startElm],
];

export const OURS = { organization: "ours", knowledge: "configured" } as const;
export const ROUGH: Disturbance = { loseEvery: 5, lateEvery: 97, lateByMs: 1_300 };
/** A site's settings on such a day: what is late is lost. */
export const ROUGH_SERVICE = {
  timeout: "1s",
  reconcile: { checks: ["50ms", "400ms"], giveUpAfter: "2s" },
} as const;

/** A day of a lab: most is stored, some of it for a subject who has stored before, one is turned down, one fails. */
const DAY: readonly LabOrder[] = [
  ...Array.from({ length: 12 }, (_, n) => ({
    number: `B-${n}`,
    subject: `S-${n % 9}`,
    labels: n === 4 ? ["V-4a", "V-4b", "V-4c"] : [`V-${n}`],
    facility: n % 3 === 0 ? "SOUTH" : "NORTH",
    firstName: "Zoë",
  })),
  { number: "B-REJECT", labels: ["V-REJECT"] },
  { number: "B-FAIL", labels: ["V-FAIL"] },
];
const HL7_STORE: LabOrder = { number: "A-1", subject: "S-A", labels: ["W-1", "W-2"] };
const HL7_RETRIEVAL: LabOrder = {
  number: "A-2",
  subject: "S-A",
  labels: ["W-2"],
  operation: "CRYO-RETRIEVE",
};
export const COUNT = DAY.length + 2;
/** Both facilities, and an order of several containers. */
export const MORNING = DAY.slice(0, 5);

export async function dropDay(site: OtherSite, day = DAY): Promise<LedgerOrder[]> {
  await site.drop("csv", "day.csv", labCsv(day));
  await site.drop("hl7", "store.hl7", omlO33(HL7_STORE));
  await eventually(() => site.sent("hl7").then((text) => text.includes("A-1")));
  await site.drop("hl7", "retrieval.hl7", omlO33(HL7_RETRIEVAL));
  return site.ended(day.length + 2);
}

/** The end that each order of the day comes to. */
export function expectedEnds(surface: OtherSiteOptions["surface"], day = DAY): Record<string, string> {
  const refused = surface === "request" ? "rejected" : "cancelled";
  const numbers = [...day, HL7_STORE, HL7_RETRIEVAL].map(({ number }) => number);
  return Object.fromEntries(
    numbers.map((number) => [
      number,
      number === "B-REJECT" ? refused : number === "B-FAIL" ? "failed" : "completed",
    ]),
  );
}

export const endsOf = (orders: readonly LedgerOrder[]) =>
  Object.fromEntries(
    orders.map(({ placerOrderNumber, state, failure }) => [
      placerOrderNumber,
      failure && state === "parked" ? `${failure.code}: ${failure.text}` : state,
    ]),
  );

/** Waits for the lab's word on each order, and for the place of each container that was stored. */
export async function expectReported(site: OtherSite, surface: OtherSiteOptions["surface"]): Promise<void> {
  const ends = expectedEnds(surface);
  const missing = async () => {
    const rows = (await site.sent("csv")).split("\r\n").map((line) => line.split(","));
    const header = rows[0] ?? [];
    const column = (row: readonly string[], name: string) => row[header.indexOf(name)];
    const isReported = (order: LabOrder, label: string) =>
      rows.some(
        (row) =>
          column(row, "container_label") === label &&
          column(row, "status") === ends[order.number] &&
          (ends[order.number] !== "completed" || column(row, "storage") !== ""),
      );
    return DAY.flatMap((order) => (order.labels ?? []).filter((label) => !isReported(order, label)));
  };
  await eventually(async () => (await missing()).length === 0, {
    what: `a word and a place for ${await missing()}`,
  });
  const results = async () => (await site.sent("hl7")).split("MSH|").filter((m) => m.includes("ORU^R01"));
  await eventually(async () => {
    const messages = await results();
    return ["A-1", "A-2"].every((number) => messages.some((message) => message.includes(number)));
  });
}

/** What `cryobridge check` says of a site: nothing that failed. */
export async function expectWell(site: OtherSite): Promise<void> {
  const { status, stdout } = await runCli(["--config", site.freshConfigFile, "check"]);
  expect(stdout.split("\n").filter((line) => line.startsWith("✗"))).toEqual([]);
  expect(status).toBe(0);
}

export async function withService<T>(
  start: Start,
  disturbance: Disturbance,
  run: (service: OtherService, calm: () => void) => Promise<T>,
) {
  const weather = { ...disturbance };
  const service = await start(weather);
  try {
    return await run(service, () => Object.assign(weather, UNDISTURBED));
  } finally {
    await service.close();
  }
}

/** A service that loses calls and is late takes the day's orders, each once. */
export function expectRoughDay(surface: OtherSiteOptions["surface"], start: Start): Promise<void> {
  return withService(start, ROUGH, (service, calm) =>
    withOtherSite(service, { ...OURS, surface, service: ROUGH_SERVICE }, async (site) => {
      const orders = await dropDay(site);
      expect(endsOf(orders)).toEqual(expectedEnds(surface));
      await expectReported(site, surface);
      expect([...service.made()].filter(([, times]) => times !== 1)).toEqual([]);
      expect(service.made().size).toBe(COUNT);
      expect(service.lost()).toBeGreaterThan(2);
      // Once an hour, in four forms, it is found out whether containers are listed without their subject; two readings that
      // run at once may each do so.
      const [tried, other] = [true, false].map((wanted) =>
        service.misshapen.filter((call) => call.endsWith("subjectCode is missing") === wanted),
      );
      expect(other).toEqual([]);
      expect(tried?.length).toBeLessThanOrEqual(8);
      calm();
      await expectWell(site);
      expect(service.misshapen.filter((call) => !call.endsWith("subjectCode is missing"))).toEqual([]);
    }),
  );
}
