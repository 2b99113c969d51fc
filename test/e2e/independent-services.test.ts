import { describe, expect, test } from "vitest";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { runCli } from "../cli/run-cli.ts";
import { eventually } from "../support/eventually.ts";
import { type LabOrder, labCsv, omlO33 } from "../support/lab-messages.ts";
import { startAlder } from "../support/other-services/alder/service.ts";
import { startBirch } from "../support/other-services/birch/service.ts";
import { startCedar } from "../support/other-services/cedar/service.ts";
import { startDogwood } from "../support/other-services/dogwood/service.ts";
import { startElm } from "../support/other-services/elm/service.ts";
import { type Disturbance, type OtherService, UNDISTURBED } from "../support/other-services/other-service.ts";
import { type OtherSite, type OtherSiteOptions, withOtherSite } from "../support/with-other-service.ts";

type Start = (disturbance: Disturbance) => Promise<OtherService>;
const startNarrowBirch: Start = (disturbance) => startBirch(disturbance, { isNarrow: true });

/** Each service on each surface that it has. */
const SERVICES: readonly (readonly [string, OtherSiteOptions["surface"], Start])[] = [
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

const OURS = { organization: "ours", knowledge: "configured" } as const;
const ROUGH: Disturbance = { loseEvery: 5, lateEvery: 97, lateByMs: 1_300 };

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
const COUNT = DAY.length + 2;
/** Both facilities, and an order of several containers. */
const MORNING = DAY.slice(0, 5);

async function dropDay(site: OtherSite, day = DAY): Promise<LedgerOrder[]> {
  await site.drop("csv", "day.csv", labCsv(day));
  await site.drop("hl7", "store.hl7", omlO33(HL7_STORE));
  await eventually(() => site.sent("hl7").then((text) => text.includes("A-1")));
  await site.drop("hl7", "retrieval.hl7", omlO33(HL7_RETRIEVAL));
  return site.ended(day.length + 2);
}

/** The end that each order of the day comes to. */
function expectedEnds(surface: OtherSiteOptions["surface"], day = DAY): Record<string, string> {
  const refused = surface === "request" ? "rejected" : "cancelled";
  const numbers = [...day, HL7_STORE, HL7_RETRIEVAL].map(({ number }) => number);
  return Object.fromEntries(
    numbers.map((number) => [
      number,
      number === "B-REJECT" ? refused : number === "B-FAIL" ? "failed" : "completed",
    ]),
  );
}

const endsOf = (orders: readonly LedgerOrder[]) =>
  Object.fromEntries(
    orders.map(({ placerOrderNumber, state, failure }) => [
      placerOrderNumber,
      failure && state === "parked" ? `${failure.code}: ${failure.text}` : state,
    ]),
  );

/** Waits for the lab's word on each order, and for the place of each container that was stored. */
async function expectReported(site: OtherSite, surface: OtherSiteOptions["surface"]): Promise<void> {
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
async function expectWell(site: OtherSite): Promise<void> {
  const { status, stdout } = await runCli(["--config", site.freshConfigFile, "check"]);
  expect(stdout.split("\n").filter((line) => line.startsWith("✗"))).toEqual([]);
  expect(status).toBe(0);
}

/** What an operator can read of the service on each surface. */
const READS = {
  request: [
    ["service", "subjects", "--all"],
    ["service", "requests", "--all"],
    ["service", "procedures", "--facility", "FOREIGN", "--all"],
    ["service", "containers", "--subject", "S-OURS", "--all"],
    ["service", "storage", "--facility", "FOREIGN", "--all"],
  ],
  external: [
    ["service", "procedures", "--facility", "FOREIGN", "--type", "STORE", "--all"],
    ["service", "containers", "--subject", "S-OURS", "--all"],
  ],
} as const;

async function withService<T>(
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

describe.concurrent("a service that somebody else wrote", () => {
  test.each(SERVICES)(
    "%s takes a rough day of orders on its %s surface, each once",
    (_name, surface, start) =>
      withService(start, ROUGH, (service, calm) =>
        withOtherSite(service, { ...OURS, surface }, async (site) => {
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
          // It also looks where another edition would have what isn't found.
          await expectWell(site);
          expect(service.misshapen.filter((call) => !call.startsWith("GET "))).toEqual([]);
        }),
      ),
  );

  test.each(SERVICES)(
    "%s is found out on its %s surface without a hint, and check finds all well",
    (_name, surface, start) =>
      withService(start, UNDISTURBED, (service) =>
        withOtherSite(service, { organization: "ours", surface, knowledge: "discovered" }, async (site) => {
          const orders = await dropDay(site, MORNING);
          expect(endsOf(orders)).toEqual(expectedEnds(surface, MORNING));
          expect([...service.made()].filter(([, times]) => times !== 1)).toEqual([]);
          expect(service.misshapen.filter((call) => !call.startsWith("GET "))).toEqual([]);
          await expectWell(site);
        }),
      ),
  );

  test("Cedar (a credential for each surface) takes the orders of two facilities on both surfaces at once", () =>
    withService(startCedar, ROUGH, (service) =>
      withOtherSite(service, { ...OURS, surface: "request", south: "external" }, async (site) => {
        const orders = await dropDay(site);
        expect(service.misshapen).toEqual([]);
        expect(endsOf(orders)).toEqual(expectedEnds("request"));
        await expectReported(site, "request");
        const surfaces = orders.map(({ facilityCode, surface }) => `${facilityCode} ${surface}`);
        expect(new Set(surfaces)).toEqual(new Set(["NORTH request", "SOUTH external"]));
        expect([...service.made()].filter(([, times]) => times !== 1)).toEqual([]);
      }),
    ));

  test.each([
    ["Birch", "request", startBirch],
    ["Cedar", "external", startCedar],
  ] as const)(
    "%s shows nothing of an organisation to another one on its %s surface",
    (_name, surface, start) =>
      withService(start, UNDISTURBED, async (service) => {
        const mine: LabOrder = { number: "M-1", subject: "S-OURS", labels: ["W-OURS"], lastName: "Oursen" };
        const sites = { surface, knowledge: "configured" } as const;
        await withOtherSite(service, { ...sites, organization: "ours" }, async (site) => {
          await site.drop("hl7", "ours.hl7", omlO33(mine));
          expect(endsOf(await site.ended(1))).toEqual({ "M-1": "completed" });
          // Who it belongs to does see it.
          const words = ["service", "containers", "--subject", "S-OURS", "--all", "--json", "--show-phi"];
          await eventually(async () =>
            (await runCli(["--config", site.configFile, ...words])).stdout.includes("W-OURS"),
          );
        });
        await withOtherSite(service, { ...sites, organization: "theirs" }, async (site) => {
          const own: LabOrder = { number: "T-1", subject: "S-T", labels: ["W-T"], facility: "FOREIGN" };
          const reach: LabOrder = { ...mine, number: "T-2", labels: ["W-T2"], facility: "NORTH" };
          const take = { ...mine, number: "T-3", facility: "FOREIGN", operation: "CRYO-RETRIEVE" } as const;
          await site.drop("csv", "theirs.csv", labCsv([own, reach, take]));
          const orders = await site.ended(3);
          const ends = endsOf(orders);
          expect(ends["T-1"]).toBe("completed");
          expect(ends["T-2"]).toMatch(/^SERVICE_(REFUSED|NOT_FOUND|FORBIDDEN)/);
          expect(ends["T-3"]).toMatch(/^(SUBJECT|CONTAINER)_UNKNOWN/);
          const reached = orders.filter(({ placerOrderNumber }) => placerOrderNumber !== "T-1");
          for (const { requestId, procedureId, containers } of reached) {
            expect([requestId, procedureId]).toEqual([undefined, undefined]);
            expect(containers.filter((one) => one.containerId !== undefined || one.location)).toEqual([]);
          }
          for (const read of READS[surface]) {
            const shown = await runCli(["--config", site.configFile, ...read, "--json", "--show-phi"]);
            expect(shown.status, shown.stderr).toBe(0);
            expect(shown.stdout).not.toMatch(/OURS|Oursen/);
          }
        });
        expect(service.misshapen).toEqual([]);
        expect([...service.made().values()]).toEqual([1, 1]);
      }),
  );
});
