import { describe, expect, test } from "vitest";
import { startCedar } from "../../support/other-services/cedar/service.ts";
import {
  dropDay,
  endsOf,
  expectedEnds,
  expectReported,
  expectRoughDay,
  OURS,
  ROUGH,
  ROUGH_SERVICE,
  SERVICES,
  withService,
} from "../../support/other-services/day.ts";
import { withOtherSite } from "../../support/with-other-service.ts";

describe.concurrent("a service that somebody else wrote", () => {
  test.each(SERVICES)(
    "%s takes a rough day of orders on its %s surface, each once",
    (_name, surface, start) => expectRoughDay(surface, start),
  );

  test("Cedar (a credential for each surface) takes the orders of two facilities on both surfaces at once", () =>
    withService(startCedar, ROUGH, (service) =>
      withOtherSite(
        service,
        { ...OURS, surface: "request", south: "external", service: ROUGH_SERVICE },
        async (site) => {
          const orders = await dropDay(site);
          expect(service.misshapen).toEqual([]);
          expect(endsOf(orders)).toEqual(expectedEnds("request"));
          await expectReported(site, "request");
          const surfaces = orders.map(({ facilityCode, surface }) => `${facilityCode} ${surface}`);
          expect(new Set(surfaces)).toEqual(new Set(["NORTH request", "SOUTH external"]));
          expect([...service.made()].filter(([, times]) => times !== 1)).toEqual([]);
        },
      ),
    ));
});
