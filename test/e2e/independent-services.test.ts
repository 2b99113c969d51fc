import { describe, expect, test } from "vitest";
import { runCli } from "../cli/run-cli.ts";
import { eventually } from "../support/eventually.ts";
import { type LabOrder, labCsv, omlO33 } from "../support/lab-messages.ts";
import { startAlder } from "../support/other-services/alder/service.ts";
import { startBirch } from "../support/other-services/birch/service.ts";
import { startCedar } from "../support/other-services/cedar/service.ts";
import {
  dropDay,
  endsOf,
  expectedEnds,
  expectRoughDay,
  expectWell,
  MORNING,
  SERVICES,
  withService,
} from "../support/other-services/day.ts";
import { UNDISTURBED } from "../support/other-services/other-service.ts";
import { withOtherSite } from "../support/with-other-service.ts";

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

describe.concurrent("a service that somebody else wrote", () => {
  // Rough days of the others: `npm run test:chaos`.
  test.each([
    ["Cedar", "request", startCedar],
    ["Alder", "external", startAlder],
  ] as const)("%s takes a rough day of orders on its %s surface, each once", (_name, surface, start) =>
    expectRoughDay(surface, start),
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
