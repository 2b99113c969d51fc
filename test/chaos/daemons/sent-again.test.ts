import { describe, expect, test } from "vitest";
import { systemClock } from "../../../src/core/clock.ts";
import { listOpenTasks } from "../../../src/ledger/operator/tasks.ts";
import { findOrders, listEvents } from "../../../src/ledger/operator/views.ts";
import { eventually } from "../../support/eventually.ts";
import { omlO33 } from "../../support/lab-messages.ts";
import { type Site, withSite } from "../../support/with-daemon.ts";

const PATHS = { request: "/api/procedure-requests", external: "/api/v1/external/procedures" } as const;
type Surface = keyof typeof PATHS;
type Operation = "CRYO-STORE" | "CRYO-RETRIEVE";

/** The first call is carried out and its answer lost; the lists show it only once the order was sent again. */
async function sentAgain(
  surface: Surface,
  operation: Operation,
  given: { readonly correlation?: string; readonly isExecuted?: boolean },
  check: (site: Site) => Promise<void>,
): Promise<void> {
  const reconcile = { checks: ["50ms", "200ms"], giveUpAfter: "2s", recheck: "1h", retrievals: "retry" };
  const config = {
    service: { surface, timeout: "1s", reconcile, correlation: given.correlation ?? "token" },
  };
  const fault = given.isExecuted === false ? ({ before: "drop" } as const) : ({ after: "drop" } as const);
  const faults = [{ method: "POST", path: PATHS[surface], times: 1, ...fault }];
  // What was there an hour ago is listed; what is made now is not, however long the test takes.
  let aheadMs = -3_600_000;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs };
  const behaviour = { listLagMs: 1_800_000 };
  const simulator = { faults, clock, behaviour, staff: { auto: false } };
  await withSite({ config, simulator }, async (site) => {
    const subject = { facilityId: 12, code: "S-1", firstName: "Ada", lastName: "Example" };
    site.simulator.control.addSubject({ ...subject, dateOfBirth: "1990-01-31" });
    site.simulator.control.addContainer({ facilityId: 12, subjectCode: "S-1", name: "V-OLD" });
    aheadMs = 0;
    await site.start();
    const labels = [operation === "CRYO-STORE" ? "V-NEW" : "V-OLD"];
    await site.drop("hl7", "a.hl7", omlO33({ number: "A-1", subject: "S-1", operation, labels }));
    await site.waitForOrders(1, ["submitted"]);
    site.simulator.control.behave({ listLagMs: 0 });
    await site.pool.query("update calls set look_at = now() where look_at is not null");
    await check(site);
  });
}

const rechecked = (site: Site) =>
  eventually(async () => {
    const [order] = await findOrders(site.pool, "A-1");
    return order && (await listEvents(site.pool, order.id)).find(({ kind }) => kind === "rechecked");
  });

describe.concurrent("an order that was sent again because nothing was found", () => {
  test.each([
    ["request", "CRYO-STORE", "labels"],
    ["external", "CRYO-RETRIEVE", "token"],
  ] as const)(
    "opens a task with both ids when its first call shows late: %s %s %s",
    (surface, operation, correlation) =>
      sentAgain(surface, operation, { correlation }, async (site) => {
        await rechecked(site);
        const made = site.simulator
          .tally()
          .journal.map((each) => (surface === "request" ? each.requestId : each.procedureId));
        expect(made).toHaveLength(2);
        const tasks = await listOpenTasks(site.pool, 10);
        expect(tasks).toHaveLength(1);
        expect(tasks[0]).toMatchObject({ kind: "duplicate", placerOrderNumber: "A-1" });
        for (const id of made) expect(tasks[0]?.text).toContain(String(id));
        expect(tasks[0]?.text).toMatch(/cancelled$/);
      }),
  );

  test("needs nobody when its first call had no effect", () =>
    sentAgain("request", "CRYO-STORE", { isExecuted: false }, async (site) => {
      const event = await rechecked(site);
      expect(event.detail).toEqual({ found: "nothing else" });
      expect(await listOpenTasks(site.pool, 10)).toEqual([]);
      expect(site.simulator.tally().journal).toHaveLength(1);
      const { rows } = await site.pool.query("select distinct look_at from calls");
      expect(rows).toEqual([{ look_at: null }]);
    }));
});
