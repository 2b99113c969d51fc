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

test.each([
  { call: "registration", subjects: "register" },
  { call: "creation", subjects: "none" },
] as const)(
  "a worker that may have been taken for dead since its intent was written sends no $call",
  ({ subjects }) =>
    withLedger(({ pool }) =>
      withStub(async (stub, service) => {
        await commit(pool, [aRecord(1, [anOrder()])]);
        const worker = { id: ME, isSure: true };
        const writer = openOrderWriter(pool, UNCOUNTED);
        const deps: SubmitDeps = {
          ...submitDeps(pool, { matches: [], candidates: [] }),
          service,
          worker,
          writer: {
            ...writer,
            intend: async (intent, after) => {
              const result = await writer.intend(intent, after);
              worker.isSure = false;
              return result;
            },
          },
          settings: {
            ...SUBMIT_SETTINGS,
            wayOf: () => ({ surface: "request", subjects }),
          },
        };
        await submitDue(10, deps, new AbortController().signal);
        expect(stub.count("POST")).toBe(0);
        const [order] = await findOrders(pool, "A-1");
        expect(order).toMatchObject({ state: "received", failure: { code: "ORDER_LEASE_LOST" } });
        expect((await listEvents(pool, order?.id ?? 0)).map(({ kind }) => kind)).toContain("again");
      }),
    ),
);
