import { describe, expect, test } from "vitest";
import type { SimulatorOptions } from "../../src/simulator/options.ts";
import { labCsv, omlO33 } from "../support/lab-messages.ts";
import { type ConfigParts, withSite } from "../support/with-daemon.ts";

/** Services that follow the specification and decide what it leaves open in their own ways. */
const SERVICES: readonly (readonly [string, SimulatorOptions, ConfigParts])[] = [
  [
    "wraps lists in data, caps pages at 25, writes ids as text, ignores every filter and gives tokens for two seconds",
    {
      behaviour: {
        listEnvelope: "data",
        maxPerPage: 25,
        ids: "string",
        filters: "none",
        errorBody: "nested",
        extraFields: { tenant: "x" },
      },
      tokens: { lifetimeMs: 2_000, expiresIn: "string", methods: ["post"] },
    },
    { service: { auth: { method: "post" } } },
  ],
  [
    "wraps lists in items, honours the status filter alone, lists newest first and does not tell how long tokens last",
    {
      behaviour: {
        listEnvelope: "items",
        filters: ["status"],
        sort: "-id",
        errorBody: "problem",
        createdStatus: 200,
      },
      tokens: { lifetimeMs: 3_000, expiresIn: "absent" },
    },
    {},
  ],
  [
    "wraps lists with paging data, refuses large pages, lists in random order, lags behind and writes words its own way",
    {
      behaviour: {
        listEnvelope: "results",
        maxPerPage: 25,
        overPerPage: "refuse",
        sort: "random",
        listLagMs: 150,
        listedRequest: "short",
        words: { IN_PROGRESS: "In-Progress", COMPLETED: "completed" },
        errorBody: "html",
        validationStatus: 400,
      },
    },
    { service: { perPage: 25, listEnvelope: { key: "results" } } },
  ],
  [
    "takes a static API token and shifts its pages while they are read",
    { behaviour: { shiftingPages: true, maxPerPage: 10 } },
    { service: { auth: { apiToken: "simulator-api-token" } } },
  ],
];

describe.concurrent("a service that", () => {
  test.each(SERVICES)("%s works by configuration alone", (_words, simulator, parts) =>
    withSite({ simulator, config: parts }, async (site) => {
      await site.start();
      const stores = Array.from({ length: 30 }, (_, n) => ({ number: `B-${n}`, labels: [`V-${n}`] }));
      await site.drop("csv", "day.csv", labCsv(stores));
      await site.drop("hl7", "a.hl7", omlO33({ number: "A-1", subject: "S-A", labels: ["W-1", "W-2"] }));
      await site.drop(
        "hl7",
        "b.hl7",
        omlO33({ number: "A-2", subject: "S-A", labels: ["W-2"], operation: "CRYO-RETRIEVE" }),
      );
      const orders = await site.waitForOrders(32);
      expect(new Set(orders.map((order) => order.state))).toEqual(new Set(["completed"]));
      expect(
        orders.filter(
          (order) =>
            order.operation === "STORE" && !order.containers.every(({ location }) => location?.storageName),
        ),
      ).toEqual([]);
      const { doubled, journal } = site.simulator.tally();
      expect(doubled).toEqual([]);
      expect(journal).toHaveLength(32);
    }),
  );
});
