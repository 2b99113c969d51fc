import { expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33 } from "../support/lab-messages.ts";
import { withSite } from "../support/with-daemon.ts";

test("takes an HL7 order to its completion and writes the answer and the result back", () =>
  withSite({ queues: "as configured" }, async (site) => {
    await site.start();
    await site.drop("hl7", "one.hl7", omlO33({ number: "A-1", labels: ["V-1", "V-2"] }));
    const [order] = await site.waitForOrders(1);
    expect(order?.state).toBe("completed");
    expect(order?.containers.map(({ location }) => typeof location?.storageName)).toEqual([
      "string",
      "string",
    ]);
    const results = await eventually(async () => {
      const files = await site.results("hl7");
      return files.size >= 2 ? [...files.values()] : undefined;
    });
    const types = results.map((text) => text.split("\r")[0]?.split("|")[8]);
    expect(types).toEqual(["ORL^O34^ORL_O34", "ORU^R01^ORU_R01"]);
  }));

test("takes the orders of a CSV file to their completion and writes one results file for many", () =>
  withSite({ queues: "as configured" }, async (site) => {
    await site.start();
    await site.drop("csv", "day.csv", labCsv([{ number: "B-1", labels: ["X-1", "X-2"] }, { number: "B-2" }]));
    const orders = await site.waitForOrders(2);
    expect(orders.map((order) => order.state)).toEqual(["completed", "completed"]);
    const rows = await eventually(async () => {
      const text = [...(await site.results("csv")).values()].join("");
      return text.split("completed").length === 4 ? text : undefined;
    });
    expect(rows.split("\r\n")[0]).toContain(
      "order_number,operation,subject_code,container_label,status,request_id",
    );
  }));

test("retrieves what an earlier order stored, once it is stored", () =>
  withSite({ queues: "as configured" }, async (site) => {
    await site.start();
    const store = omlO33({ number: "C-1", subject: "S-9", labels: ["V-9"] });
    const retrieve = omlO33({ number: "C-2", subject: "S-9", labels: ["V-9"], operation: "CRYO-RETRIEVE" });
    await site.drop("hl7", "both.hl7", store + retrieve);
    const orders = await site.waitForOrders(2);
    expect(orders.map((order) => [order.placerOrderNumber, order.state])).toEqual([
      ["C-2", "completed"],
      ["C-1", "completed"],
    ]);
  }));
