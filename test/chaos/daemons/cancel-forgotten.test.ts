import { describe, expect, test } from "vitest";
import type { FaultRule } from "../../../src/simulator/faults.ts";
import type { CancelRoute, SimulatorOptions } from "../../../src/simulator/options.ts";
import { eventually } from "../../support/eventually.ts";
import { omlO33, ormCancel } from "../../support/lab-messages.ts";
import { type ConfigParts, type Site, withSite } from "../../support/with-daemon.ts";

const PATH = "/api/procedure-requests/{id}";
const ROUTE: CancelRoute = { method: "DELETE", path: PATH, answer: "empty" };
const CALL = { method: "DELETE", path: "/api/procedure-requests/*", times: 1 } as const;
const LOST: FaultRule = { ...CALL, after: "drop" };

/** A service that deletes what is cancelled, and has nobody who reviews anything. */
const forgetting = (...faults: FaultRule[]): SimulatorOptions => ({
  staff: { auto: false },
  device: { auto: false },
  cancelRoute: ROUTE,
  behaviour: { cancelledRows: "gone" },
  faults,
});

function settling(after: string): ConfigParts {
  const reconcile = { checks: ["50ms", "200ms"], giveUpAfter: after };
  return { service: { timeout: "700ms", reconcile, cancel: { method: "DELETE", path: PATH } } };
}
/** Longer than any test: what is reported within it was not waited for. */
const NEVER = settling("1h");
const SOON = settling("1500ms");

async function orderedAndCancelled(site: Site): Promise<void> {
  await site.drop("hl7", "order.hl7", omlO33({ number: "A-1" }));
  await site.waitForOrders(1, ["submitted"]);
  await site.drop("hl7", "cancel.hl7", ormCancel({ number: "A-1" }));
}

/** ORC of the answer to the message that cancels. */
async function answer(site: Site, number = "A-1"): Promise<string[]> {
  const text = await eventually(async () =>
    [...(await site.results("hl7")).values()].find(
      (each) => each.includes(`|AA|CAN-${number}`) && /\rORC\|(CR|UC)\|/.test(each),
    ),
  );
  return (
    text
      .split("\r")
      .find((each) => each.startsWith("ORC|"))
      ?.split("|") ?? []
  );
}

const calls = (daemon: Awaited<ReturnType<Site["start"]>>) =>
  daemon.service?.requestCounts.get(`DELETE ${PATH}`);

describe.concurrent("a service that forgets what is cancelled", () => {
  test("has cancelled an order as soon as it is looked at, though the daemon was stopped after the call", () => {
    const hanging: FaultRule = { method: "GET", path: "/api/procedure-requests/*", before: "hang" };
    return withSite({ config: NEVER, simulator: forgetting(hanging) }, async (site) => {
      const first = await site.start();
      await orderedAndCancelled(site);
      const isTaken = "select from calls where kind = 'cancel' and answer = 'taken'";
      await eventually(async () => (await site.pool.query(isTaken)).rowCount === 1);
      await first.stop();
      expect((await site.orders())[0]?.state).toBe("submitted");
      site.simulator.control.setFaults([]);
      const second = await site.start();
      expect(await answer(site)).toMatchObject({ 1: "CR" });
      expect((await site.orders())[0]?.state).toBe("cancelled");
      expect([calls(first), calls(second)]).toEqual([1, undefined]);
    });
  });

  test("has cancelled an order without an answer only once it knows nothing for reconcile.giveUpAfter", () =>
    withSite({ config: SOON, simulator: forgetting(LOST) }, async (site) => {
      const daemon = await site.start();
      await orderedAndCancelled(site);
      expect(await answer(site)).toMatchObject({ 1: "CR" });
      const { rows } = await site.pool.query<{ ms: number }>(
        `select (extract(epoch from e.at - w.gone_since) * 1000)::integer as ms
           from calls w join order_events e on e.order_id = w.order_id and e.to_state = 'cancelled' where w.kind = 'cancel'`,
      );
      expect(rows[0]?.ms).toBeGreaterThanOrEqual(1_500);
      expect(calls(daemon)).toBe(1);
    }));

  test("has cancelled an order whose second call it refuses, since the first one may have worked", () =>
    withSite(
      {
        config: SOON,
        simulator: forgetting({ ...CALL, before: "drop" }, { ...CALL, skip: 1, status: 404, executed: true }),
      },
      async (site) => {
        const daemon = await site.start();
        await orderedAndCancelled(site);
        expect(await answer(site)).toMatchObject({ 1: "CR" });
        expect(calls(daemon)).toBe(2);
      },
    ));
});
