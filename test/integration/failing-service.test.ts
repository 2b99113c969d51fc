import { expect, test } from "vitest";
import type { OrderState } from "../../src/core/order-state.ts";
import { retryOrder } from "../../src/ledger/orders/acts.ts";
import type { FaultRule } from "../../src/simulator/faults.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { withSite } from "../support/with-daemon.ts";

const ORDERS = 24;

/** On both legs of each exchange: a quarter of the calls fails, and a fifth of the answers of the others is lost. */
const FAULTS: readonly FaultRule[] = [
  { name: "failed call", path: "/api/**", probability: 0.25, status: 503 },
  { name: "lost answer", path: "/api/**", probability: 0.2, after: "drop" },
];

test("submits each order once at a service that fails a quarter of its calls and loses a fifth of its answers", () =>
  withSite(
    {
      config: {
        service: { timeout: "2s", reconcile: { checks: ["200ms", "600ms"], giveUpAfter: "2500ms" } },
      },
      simulator: { faults: FAULTS },
    },
    async (site) => {
      await site.start();
      for (let index = 1; index <= ORDERS; index += 1) {
        await site.drop("hl7", `${index}.hl7`, omlO33({ number: `A-${index}` }));
      }
      const taken: readonly OrderState[] = ["submitted", "accepted", "in_progress", "completed"];
      let orders = await site.waitForOrders(ORDERS, [...taken, "parked"]);
      // Five calls in a row that failed are for a person, who has the order tried again.
      for (const order of orders.filter(({ state }) => state === "parked")) {
        expect(order.failure?.code).toBe("SUBMIT_UNCERTAIN");
        await retryOrder(site.pool, order, { actor: "test" });
      }
      orders = await site.waitForOrders(ORDERS, taken);
      const { doubled, journal, faults } = site.simulator.tally();
      expect(doubled).toEqual([]);
      expect(journal).toHaveLength(ORDERS);
      expect(new Set(orders.map(({ requestId }) => requestId)).size).toBe(ORDERS);
      expect(faults).toMatchObject({ "failed call": expect.any(Number), "lost answer": expect.any(Number) });
    },
  ));
