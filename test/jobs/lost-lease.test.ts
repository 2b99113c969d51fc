import type pg from "pg";
import { expect, test } from "vitest";
import type { SubmitDeps } from "../../src/jobs/submit/deps.ts";
import { submitDue } from "../../src/jobs/submit/submit.ts";
import { findOrders, listEvents } from "../../src/ledger/operator/views.ts";
import { openOrderWriter } from "../../src/ledger/order-writer.ts";
import { withStub } from "../service/with-client.ts";
import { ME, UNCOUNTED } from "../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { SUBMIT_SETTINGS, submitDeps } from "../support/submit.ts";
import { withLedger } from "../support/with-ledger.ts";

const CALLS = [
  { call: "registration", subjects: "register" },
  { call: "creation", subjects: "none" },
] as const;

interface Submitted {
  readonly subjects: "register" | "none";
  /** What happens right before the intent is written, and right after it. */
  readonly before?: (pool: pg.Pool) => Promise<unknown>;
  readonly after?: (worker: { isSure: boolean }) => void;
}

/** Submits an order; gives how many calls left that change something, and what the ledger has of it. */
const submitted = ({ subjects, before, after }: Submitted) =>
  withLedger(({ pool }) =>
    withStub(async (stub, service) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      const worker = { id: ME, isSure: true };
      const writer = openOrderWriter(pool, UNCOUNTED);
      const deps: SubmitDeps = {
        ...submitDeps(pool, { matches: [], candidates: [] }),
        ...{ service, worker },
        writer: {
          ...writer,
          intend: async (...given) => {
            await before?.(pool);
            const result = await writer.intend(...given);
            after?.(worker);
            return result;
          },
        },
        settings: { ...SUBMIT_SETTINGS, wayOf: () => ({ surface: "request", subjects }) },
      };
      await submitDue(10, deps, new AbortController().signal);
      const [order] = await findOrders(pool, "A-1");
      const events = (await listEvents(pool, order?.id ?? 0)).map(({ kind }) => kind);
      return { sent: stub.count("POST"), order, events };
    }),
  );

test.each(CALLS)(
  "a worker that may have been taken for dead since its intent was written sends no $call",
  async ({ subjects }) => {
    const after = (worker: { isSure: boolean }) => {
      worker.isSure = false;
    };
    const { sent, order, events } = await submitted({ subjects, after });
    expect(sent).toBe(0);
    expect(order).toMatchObject({ state: "received", failure: { code: "ORDER_LEASE_LOST" } });
    expect(events).toContain("again");
  },
);

test.each(CALLS)(
  "a worker that is sure of itself sends no $call for an order that another one has taken over",
  async ({ subjects }) => {
    const before = (pool: pg.Pool) => pool.query("update orders set owner = 2, fence = new_fence()");
    const { sent, order } = await submitted({ subjects, before });
    expect(sent).toBe(0);
    expect(order).toMatchObject({ state: "submitting", failure: undefined, calls: [] });
  },
);
