import { describe, expect, test } from "vitest";
import { isTerminal } from "../../../src/core/order-state.ts";
import { labCsv } from "../../support/lab-messages.ts";
import { type Limit, startElm } from "../../support/other-services/elm/service.ts";
import { UNDISTURBED } from "../../support/other-services/other-service.ts";
import { withOtherSite } from "../../support/with-other-service.ts";
import { readSettings } from "../settings.ts";

const { orders } = readSettings(process.env);
const LIMIT: Limit = { calls: 60, windowMs: 60_000, isShown: false, hasRetryAfter: false };
const WITHIN_MS = 3_500_000;
/** As a site has them that sets nothing. */
const USUAL = {
  maxRequestsPerSecond: undefined,
  polling: undefined,
  reconcile: undefined,
  timeout: undefined,
};

const WAYS: readonly (readonly [string, Limit, Readonly<Record<string, unknown>>])[] = [
  ["is set", LIMIT, { ...USUAL, maxRequestsPerMinute: LIMIT.calls }],
  ["is told by headers", { ...LIMIT, isShown: true }, USUAL],
  ["shows by refusals that say when to come again", { ...LIMIT, hasRetryAfter: true }, USUAL],
  ["shows by bare refusals", LIMIT, USUAL],
];

describe.concurrent("a service that takes 60 calls a minute", () => {
  test.each(WAYS)("carries out all orders, each once, where the limit %s", async (way, limit, service) => {
    const elm = await startElm(UNDISTURBED, { limit, stepMs: 5_000 });
    try {
      const options = {
        organization: "ours",
        surface: "external",
        knowledge: "configured",
        service,
      } as const;
      await withOtherSite(elm, options, async (site) => {
        const startedAt = Date.now();
        const list = Array.from({ length: orders }, (_, n) => ({ number: `B-${n}` }));
        await site.drop("csv", "orders.csv", labCsv(list));
        const ended = await site.ended(orders, WITHIN_MS);
        const minutes = (Date.now() - startedAt) / 60_000;
        const calls = [...elm.calls.values()].reduce((sum, count) => sum + count, 0);
        const late = elm.refusedAt.filter((at) => at > startedAt + limit.windowMs);
        console.log(
          `${way}: ${calls} calls of ${orders} orders in ${minutes.toFixed(1)} minutes, ` +
            `${((minutes * limit.calls) / calls).toFixed(2)} times calls by limit; ` +
            `${elm.refusedAt.length} refused, ${late.length} of them after the first minute`,
        );
        expect(ended.filter(({ state }) => !isTerminal(state))).toEqual([]);
        expect([...elm.made().values()].filter((times) => times !== 1)).toEqual([]);
        expect(elm.made().size).toBe(orders);
        expect(late).toEqual([]);
      });
    } finally {
      await elm.close();
    }
  });
});
