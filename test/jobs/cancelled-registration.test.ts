import type pg from "pg";
import { expect, test } from "vitest";
import { Failure } from "../../src/core/failures.ts";
import type { LookDeps } from "../../src/jobs/calls/deps.ts";
import type { SubmitDeps } from "../../src/jobs/submit/deps.ts";
import { submitDue } from "../../src/jobs/submit/submit.ts";
import { findOrders, listEvents } from "../../src/ledger/operator/views.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import { agedBy } from "../support/calls.ts";
import { aCancel, answers, reportedKinds } from "../support/order-control.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { lookNow, submitDeps } from "../support/submit.ts";
import { byRequest } from "../support/ways.ts";
import { withLedger } from "../support/with-ledger.ts";

const never = new AbortController().signal;

/** A service that registers a subject, while the lab cancels the order that asks for that; its answer may be lost. */
function whileCancelled(pool: pg.Pool, { isLost }: { readonly isLost: boolean }): SubmitDeps & LookDeps {
  let isThere = false;
  const service: Partial<ServiceClient> = {
    findSubject: async () => (isThere ? { id: 7 } : undefined),
    registerSubject: async (_facilityId, _subject, _signal, beforeSend) => {
      beforeSend?.();
      isThere = true;
      await commit(pool, [aCancel(2, [{ placerOrderNumber: "A-1" }])]);
      if (isLost) throw new Failure("SERVICE_NO_ANSWER", "invented");
      return { id: 7 };
    },
  };
  const deps = submitDeps(pool, {});
  return { ...deps, service: service as ServiceClient, settings: { ...deps.settings, wayOf: byRequest } };
}

test.each([
  ["is answered", false],
  ["was lost, and is found", true],
])("a registration that the lab cancels while its call is under way was done, once that %s", (_, isLost) =>
  withLedger(async ({ pool }) => {
    const [orderId] = await commit(pool, [aRecord(1, [anOrder({ operation: "REGISTER", containers: [] })])]);
    const deps = whileCancelled(pool, { isLost });
    await submitDue(10, deps, never);
    if (isLost) {
      await agedBy(pool, "1 minute");
      await lookNow(deps);
    }
    expect((await findOrders(pool, "A-1")).map(({ state }) => state)).toEqual(["completed"]);
    expect(await answers(pool)).toEqual([["CANCEL_TOO_LATE"]]);
    expect(await reportedKinds(pool)).toContain("changed completed");
    const kinds = (await listEvents(pool, orderId as number)).map(({ kind }) => kind);
    expect(kinds).toContain("registered");
    expect(kinds).toContain(isLost ? "reconciled" : "subject_registered");
  }),
);
