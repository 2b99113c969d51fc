import { readFile, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33 } from "../support/lab-messages.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

const COLUMNS =
  "order_number,operation,subject_code,container_label,status,request_id,procedure_id,procedure_code,storage,canister,cane,position,stored_at,error,updated_at".split(
    ",",
  );

/** The rows of the CSV results that tell an order's end, by order number. */
async function lastRows(site: Site, count: number): Promise<Map<string, Record<string, string>>> {
  return await eventually(async () => {
    const text = [...(await site.results("csv")).values()].join("");
    const rows = text
      .split("\r\n")
      .map((line) => Object.fromEntries(line.split(",").map((cell, at) => [COLUMNS[at] ?? "", cell])))
      .filter(({ status }) => status === "completed");
    return rows.length === count && new Map(rows.map((row) => [row.order_number ?? "", row]));
  });
}

test("one daemon serves a facility by the request surface and another by the external one", () =>
  withSite({ config: { facilities: { SOUTH: { id: 13, surface: "external" } } } }, async (site) => {
    await site.start();
    await site.drop("csv", "day.csv", labCsv([{ number: "B-1" }, { number: "B-2", facility: "SOUTH" }]));
    await site.drop("hl7", "n.hl7", omlO33({ number: "A-1", subject: "S-A", labels: ["W-1", "W-2"] }));
    const south = { subject: "S-B", facility: "SOUTH" };
    const store = omlO33({ ...south, number: "A-2", labels: ["X-1", "X-2"] });
    const retrieve = omlO33({ ...south, number: "A-3", labels: ["X-2"], operation: "CRYO-RETRIEVE" });
    await site.drop("hl7", "s.hl7", store + retrieve);
    const orders = await site.waitForOrders(5);
    expect(new Set(orders.map(({ state }) => state))).toEqual(new Set(["completed"]));

    const { journal, doubled } = site.simulator.tally();
    expect(doubled).toEqual([]);
    expect(journal.map(({ facilityId, surface }) => `${facilityId} ${surface}`).sort()).toEqual([
      "12 request",
      "12 request",
      "13 external",
      "13 external",
      "13 external",
    ]);
    for (const { operation, containers } of orders) {
      if (operation !== "STORE") continue;
      expect(containers.every(({ location }) => location?.storageName !== undefined)).toBe(true);
    }

    const rows = await lastRows(site, 2);
    expect(rows.get("B-1")).toMatchObject({
      request_id: expect.stringMatching(/^\d+$/),
      procedure_id: expect.stringMatching(/^\d+$/),
      position: expect.stringMatching(/Canister/),
    });
    expect(rows.get("B-2")).toMatchObject({
      request_id: "",
      procedure_id: expect.stringMatching(/^\d+$/),
      procedure_code: expect.stringMatching(/^PR-/),
      storage: expect.stringMatching(/./),
      canister: expect.stringMatching(/^\d+$/),
      cane: expect.stringMatching(/^[A-Z]$/),
      stored_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    });

    const fillers = await eventually(async () => {
      const texts = [...(await site.results("hl7"))].filter(([, text]) => text.includes("|CM|"));
      const found = texts.map(
        ([name, text]) => `${name.split("_")[0]} ${/ORC\|[^|]*\|[^|]*\|([A-Z])/.exec(text)?.[1]}`,
      );
      return found.length === 3 && found.sort();
    });
    expect(fillers).toEqual(["A-1 R", "A-2 P", "A-3 P"]);
  }));

test("a site on the external surface that registers no subjects of its own calls nothing of the other surface", () =>
  withSite({ config: { service: { surface: "external", subjects: "none" } } }, async (site) => {
    const person = { firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };
    site.simulator.control.addSubject({ facilityId: 12, code: "S-1", ...person });
    await site.start();
    const store = omlO33({ number: "A-1", subject: "S-1", labels: ["V-1"] });
    const retrieve = omlO33({ number: "A-2", subject: "S-1", labels: ["V-1"], operation: "CRYO-RETRIEVE" });
    const unknown = omlO33({ number: "A-3", subject: "S-2", labels: ["V-2"] });
    await site.drop("hl7", "a.hl7", store + retrieve + unknown);
    const orders = await site.waitForOrders(3, ["completed", "parked"]);
    expect(orders.map(({ placerOrderNumber, state }) => `${placerOrderNumber} ${state}`).sort()).toEqual([
      "A-1 completed",
      "A-2 completed",
      "A-3 parked",
    ]);
    const routes = Object.keys(site.simulator.tally().routes);
    expect(routes.filter((route) => route.includes("/api/") && !route.includes("/v1/external/"))).toEqual([]);
  }));

test("an order that was lost on one surface is looked for there after its facility has moved to the other", () =>
  withSite(
    {
      config: { service: { surface: "external", reconcile: { checks: ["3s"], giveUpAfter: "6s" } } },
      simulator: {
        faults: [{ method: "POST", path: "/api/v1/external/procedures", times: 1, after: "drop" }],
      },
    },
    async (site) => {
      const daemon = await site.start();
      await site.drop("hl7", "a.hl7", omlO33({ number: "A-1" }));
      await eventually(async () => (await site.orders())[0]?.failure !== undefined);
      await daemon.stop();
      const text = await readFile(site.configFile, "utf8");
      await writeFile(site.configFile, text.replace("surface: external", "surface: request"));
      await site.start();
      const [order] = await site.waitForOrders(1);
      expect(order).toMatchObject({ state: "completed", surface: "external", requestId: undefined });
      expect(site.simulator.tally().journal).toHaveLength(1);
    },
  ));
