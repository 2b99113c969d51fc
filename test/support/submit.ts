import type pg from "pg";
import { systemClock } from "../../src/core/clock.ts";
import { noTracer } from "../../src/core/order-trace.ts";
import type { SubmitDeps, SubmitSettings } from "../../src/jobs/submit/deps.ts";
import { openOrderWriter } from "../../src/ledger/order-writer.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { claimBatch } from "../../src/ledger/orders/submission.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import type { ReconcileFindings } from "../../src/service/reconcile/find-request.ts";
import { handOverUnreconciled, ME, UNCOUNTED } from "./hand-over.ts";
import { silent } from "./with-ledger.ts";

/** By the request surface, without calls for subjects, and as quick as can be. */
export const SUBMIT_SETTINGS: SubmitSettings = {
  backoff: { firstMs: 1, maxMs: 2 },
  reconcile: { checksMs: [1], giveUpAfterMs: 1, recheckMs: 1_000, retrievals: "park" },
  firstPollMs: 60_000,
  subjectRequires: [],
  correlation: "token",
  sameContainer: "park",
  labelOfTwoSubjects: "park",
  wayOf: () => ({ surface: "request", subjects: "none" }),
};

/** What the submit job is given, with what a look at the service finds; it is asked nothing else. */
export function submitDeps(pool: pg.Pool, found: ReconcileFindings): SubmitDeps {
  const service: Partial<ServiceClient> = { findCreatedRequest: async () => found };
  return {
    pool,
    writer: openOrderWriter(pool, UNCOUNTED),
    service: service as ServiceClient,
    reconciling: service as ServiceClient,
    clock: systemClock,
    logger: silent,
    tracer: noTracer,
    random: () => 0,
    worker: { id: ME, isSure: true },
    requireNewestKnown: async () => undefined,
    abandoned: { fences: new Set(), claims: new Set() },
    settings: SUBMIT_SETTINGS,
  };
}

/** Hands over one order whose call is to be looked for, and takes it in hand. */
export async function claimUnreconciled(pool: pg.Pool): Promise<LedgerOrder> {
  await pool.query("update orders set handed_over_at = null");
  const due = await handOverUnreconciled(pool, 1);
  const [order] = due ? await claimBatch(pool, due.batch, ME) : [];
  if (!order) throw new Error("nothing to look for");
  return order;
}
