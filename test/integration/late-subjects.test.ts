import { expect, test } from "vitest";
import { listEvents } from "../../src/ledger/operator/views.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv } from "../support/lab-messages.ts";
import { withSite } from "../support/with-daemon.ts";

test("a subject that was registered a moment ago isn't registered again because its list lags behind", () =>
  withSite({ simulator: { behaviour: { listLagMs: 3_600_000 } } }, async (site) => {
    await site.start();
    const orders = ["B-1", "B-2", "B-3"].map((number) => ({ number, subject: "S-1" }));
    await site.drop("csv", "day.csv", labCsv(orders));
    await eventually(async () => {
      const second = (await site.orders()).find(({ placerOrderNumber }) => placerOrderNumber === "B-2");
      const events = await listEvents(site.pool, second?.id ?? 0);
      return events.some(({ detail }) => detail?.code === "SUBJECT_NOT_LISTED_YET");
    });
    site.simulator.control.behave({ listLagMs: 0 });
    const ended = await site.waitForOrders(3);
    expect(ended.map(({ state }) => state)).toEqual(["completed", "completed", "completed"]);
    expect(site.simulator.tally().subjectsCreated).toHaveLength(1);
  }));
