import { describe, expect, test } from "vitest";
import { readAttention } from "../../src/ledger/operator/still-orders.ts";
import { findOrders, listEvents } from "../../src/ledger/operator/views.ts";
import { discardOrder, resolveOrder } from "../../src/ledger/orders/acts.ts";
import { readOrderDetails } from "../../src/operator/order-details.ts";
import type { FaultRule } from "../../src/simulator/faults.ts";
import type { CancelRoute, SimulatorOptions } from "../../src/simulator/options.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33, ormCancel } from "../support/lab-messages.ts";
import { type ConfigParts, type Site, sharedSite, withSite } from "../support/with-daemon.ts";

const PATH = "/api/procedure-requests/{id}";
const ROUTE: CancelRoute = { method: "DELETE", path: PATH, answer: "empty" };

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

/** Where nothing goes wrong but that it forgets. */
const common = sharedSite({ config: SOON, simulator: forgetting() });

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

// Of lost and refused calls: test/jobs/calls/cancel.test.ts, and `npm run test:chaos`.
describe.concurrent("a service that forgets what is cancelled", () => {
  test("has cancelled an order as soon as it takes the call and then knows the request no more", () =>
    withSite({ config: NEVER, simulator: forgetting() }, async (site) => {
      const daemon = await site.start();
      await orderedAndCancelled(site);
      expect(await answer(site)).toMatchObject({ 1: "CR", 2: "A-1^LIMS", 5: "CA" });
      const [order] = await site.waitForOrders(1, ["cancelled"]);
      expect(order).toMatchObject({ failure: { code: "ORDER_CANCELLED" }, remoteStatus: "PENDING" });
      expect(order?.failure?.text).toContain("keeps nothing of the order");
      expect(calls(daemon)).toBe(1);
    }));

  test("has cancelled one on the external surface just so", () => {
    const path = "/api/v1/external/procedures/{id}";
    const { service } = NEVER as { service: object };
    const config = { service: { ...service, surface: "external", cancel: { method: "DELETE", path } } };
    const simulator = { ...forgetting(), cancelRoute: { ...ROUTE, path, surface: "external" } } as const;
    return withSite({ config, simulator }, async (site) => {
      await site.start();
      await orderedAndCancelled(site);
      expect(await answer(site)).toMatchObject({ 1: "CR" });
    });
  });

  test("is not believed where it refuses the only call, and the order is followed on", async () => {
    const site = common();
    await site.drop("hl7", "refused.hl7", omlO33({ number: "REFUSED" }));
    const { requestId } = await site.waitForOrder("REFUSED", ["submitted"]);
    site.simulator.control.cancelRequest(requestId ?? 0);
    await site.drop("hl7", "cancel.hl7", ormCancel({ number: "REFUSED" }));
    const orc = await answer(site, "REFUSED");
    expect(orc[1]).toBe("UC");
    expect(orc[16]).toMatch(/^CANCEL_REFUSED\^.*shows no such request any more.*404/);
    const [order] = await findOrders(site.pool, "REFUSED");
    expect(order?.state).toBe("submitted");
    expect(order?.calls.filter(({ kind }) => kind === "cancel")).toHaveLength(1);
  });

  test("is only missed where nobody here asked it to cancel", async () => {
    const site = common();
    await site.drop("hl7", "missed.hl7", omlO33({ number: "MISSED" }));
    const { id, requestId } = await site.waitForOrder("MISSED", ["submitted"]);
    site.simulator.control.cancelRequest(requestId ?? 0);
    await eventually(async () => (await listEvents(site.pool, id)).some(({ kind }) => kind === "missing"));
    expect((await findOrders(site.pool, "MISSED"))[0]).toMatchObject({
      state: "submitted",
      failure: undefined,
    });
    const { orders } = await readAttention(site.pool);
    expect(orders).toMatchObject([{ kind: "missing", code: "REQUEST_GONE" }]);
    expect(orders[0]?.text?.split(", ")).toContain(`o${id}`);
  });

  test("leaves an order at once to the person who links it to what it is now, or gives it up", async () => {
    const site = common();
    const act = { actor: "kim", reason: "the service lost it" };
    const missing = async (number: string) => {
      await site.drop("hl7", `${number}.hl7`, omlO33({ number }));
      const order = await site.waitForOrder(number, ["submitted"]);
      site.simulator.control.cancelRequest(order.requestId ?? 0);
      return eventually(async () =>
        (await findOrders(site.pool, number)).find(({ missingSince }) => missingSince !== undefined),
      );
    };
    const lost = await missing("LOST");
    const { why } = await readOrderDetails(
      { pool: site.pool, nowMs: Date.now(), config: { lanes: { parkedBlocks: false } } },
      lost,
    );
    expect(why).toContain(`\`cryobridge orders resolve o${lost.id} --request-id N\``);
    expect(why).toContain(`\`cryobridge orders discard o${lost.id} --reason TEXT\``);
    expect(await discardOrder(site.pool, lost, { actor: "kim" })).toBe("reason wanted");
    expect((await findOrders(site.pool, "LOST"))[0]?.state).toBe("submitted");
    expect(await discardOrder(site.pool, lost, act)).toBe("done");
    expect((await findOrders(site.pool, "LOST"))[0]).toMatchObject({
      state: "discarded",
      failure: { text: expect.stringContaining("does not know the request any more") },
    });
    const moved = await missing("MOVED");
    expect(await resolveOrder(site.pool, moved, { surface: "request", requestId: 9_999 }, act)).toBe("done");
    expect((await findOrders(site.pool, "MOVED"))[0]).toMatchObject({ state: "submitted", requestId: 9_999 });
  });
});
