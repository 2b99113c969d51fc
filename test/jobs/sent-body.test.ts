import { expect, test } from "vitest";
import { submitDue } from "../../src/jobs/submit/submit.ts";
import { findBodies } from "../../src/ledger/orders/calls.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { submitDeps } from "../support/submit.ts";
import { withLedger } from "../support/with-ledger.ts";

test("what leaves to create an order's request is what was written down before", () =>
  withLedger(async ({ pool }) => {
    const [orderId] = await commit(pool, [aRecord(1, [anOrder()])]);
    const sent: unknown[] = [];
    const service: Partial<ServiceClient> = {
      listSubjectContainers: async () => [],
      create: async (_surface, _request, _signal, options) => {
        sent.push(options?.body);
        return { id: 17, status: "PENDING" };
      },
    };
    const deps = { ...submitDeps(pool, {}), service: service as ServiceClient };
    await submitDue(10, deps, new AbortController().signal);
    expect(sent).toEqual([...(await findBodies(pool, orderId as number)).values()]);
    expect(sent).toMatchObject([{ type: "STORE" }]);
  }));
