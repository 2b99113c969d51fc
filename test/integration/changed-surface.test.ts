import { expect, test } from "vitest";
import { openCalls } from "../support/calls.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withSite } from "../support/with-daemon.ts";

const SUBJECT = { code: "SUBJ-1", firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };

test("an order whose registration of its subject got lost goes on where subjects are not to be asked for any more", () =>
  withSite(
    {
      config: { service: { surface: "external", subjects: "none" } },
      simulator: { faults: [{ path: "/api/subjects", status: 403 }] },
    },
    async (site) => {
      site.simulator.control.addSubject({ facilityId: 12, ...SUBJECT });
      const [id] = await commit(site.pool, [aRecord(1, [anOrder()])], "hl7");
      await site.pool.query("update orders set state = 'submitting', owner = 999, fence = 1 where id = $1", [
        id,
      ]);
      await openCalls(site.pool, { set: "kind = 'subject', surface = null" });
      await site.start();
      const [order] = await site.waitForOrders(1, ["completed", "parked"]);
      expect(order).toMatchObject({ state: "completed", surface: "external" });
    },
  ));
