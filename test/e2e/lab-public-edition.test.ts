import { parse } from "csv-parse/sync";
import { describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { readLab } from "./example-lab.ts";

const lab = await readLab("public-edition");
const BASE = "/api/v1/external";

/** A site of the lab beside a service of the public edition. */
function withClinic(run: (site: Site) => Promise<void>): Promise<void> {
  const service = { polling: { first: "2s", max: "4s", factor: 1.5 } };
  const connector = { directory: "csv", stableFor: "50ms", scanInterval: "500ms", resultsEvery: "50ms" };
  const config = lab.config({ service, connector });
  return withSite({ simulator: { edition: "public" }, config }, async (site) => {
    await site.start();
    await run(site);
  });
}

/** The rows of the results that say that an order is completed. */
async function completedRows(site: Site): Promise<Record<string, string>[]> {
  const results = await site.results("csv").catch(() => new Map<string, string>());
  const rows = [...results.values()].flatMap(
    (text) => parse(text, { columns: true }) as Record<string, string>[],
  );
  return rows.filter(({ status }) => status === "completed");
}

describe("the example lab public-edition", () => {
  test("registers, stores and thaws at a service of the public edition, each once, and learns the places", () =>
    withClinic(async (site) => {
      await site.drop("csv", "freeze.csv", await lab.sample("freeze.csv"));
      const stored = await site.waitForOrders(2, ["completed"]);
      const rows = await eventually(
        async () => {
          const found = await completedRows(site);
          return found.length === 3 ? found : undefined;
        },
        { what: "a row for each straw" },
      );
      const expected = stored.flatMap((order) =>
        order.containers.map(({ label, location }) => ({
          order: order.placerOrderNumber,
          straw: label,
          tank: location?.storageName,
          canister: location?.canister,
          cane: location?.cane,
        })),
      );
      expect(rows).toEqual(expect.arrayContaining(expected.map((row) => expect.objectContaining(row))));
      for (const { tank, canister, cane } of rows) expect([tank, canister, cane]).not.toContain("");

      await site.drop("csv", "thaw.csv", await lab.sample("thaw.csv"));
      await site.waitForOrders(3, ["completed"]);

      const { doubled, journal, subjectsCreated, routes } = site.simulator.tally();
      expect(doubled).toEqual([]);
      expect(journal.map(({ type }) => type)).toEqual(["STORE", "STORE", "RETRIEVAL"]);
      expect(subjectsCreated.map(({ code }) => code).sort()).toEqual(["P-3301", "P-3302"]);
      const elsewhere = Object.keys(routes).filter((route) => !route.includes(BASE));
      expect(elsewhere).toEqual(["POST /oauth/token"]);
      const answered = Object.values(routes).flatMap((route) => Object.keys(route.answered));
      // At the usual 20 a second most of them would have been refused.
      expect(answered).not.toContain("429");
    }));
});
