import { expect, test } from "vitest";
import { listEvents } from "../../src/ledger/operator/views.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33 } from "../support/lab-messages.ts";
import { withSite } from "../support/with-daemon.ts";

test.each([
  [
    "hl7",
    "order.hl7",
    omlO33({ number: "P-1" }).replace("|19900131|", "||"),
    omlO33({ number: "P-1" }).replace("MSG-P-1", "MSG-P-1-again"),
    /\|CM/,
  ],
  [
    "csv",
    "order.csv",
    labCsv([{ number: "P-1" }]).replace("1990-01-31", ""),
    labCsv([{ number: "P-1" }]),
    /^P-1,STORE,.*,completed,/m,
  ],
] as const)(
  "an order without a birth date goes on once the lab sends it again, in %s",
  (connector, name, bare, whole, done) =>
    withSite({}, async (site) => {
      await site.start();
      await site.drop(connector, name, bare);
      const [parked] = await site.waitForOrders(1, ["parked"]);
      expect(parked?.failure?.code).toBe("SUBJECT_INCOMPLETE");
      await site.drop(connector, name, whole);
      const [order, ...others] = await site.waitForOrders(1);
      expect(others).toEqual([]);
      expect(order?.id).toBe(parked?.id);
      expect((await listEvents(site.pool, order?.id ?? 0)).map(({ kind }) => kind)).toContain("corrected");
      await eventually(async () =>
        [...(await site.results(connector)).values()].some((text) => done.test(text)),
      );
      expect(site.simulator.tally().subjectsCreated).toHaveLength(1);
    }),
);
