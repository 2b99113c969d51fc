import type pg from "pg";
import { noTracer } from "../../src/core/order-step.ts";
import type { LookDeps } from "../../src/jobs/calls/deps.ts";
import { lookDue } from "../../src/jobs/calls/look.ts";
import type { SubmitDeps, SubmitSettings } from "../../src/jobs/submit/deps.ts";
import { InHand } from "../../src/jobs/submit/in-hand.ts";
import { openOrderWriter } from "../../src/ledger/order-writer.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import type { Made, MadeSearch, MadeThere } from "../../src/service/reconcile/made.ts";
import { ME, UNCOUNTED } from "./hand-over.ts";
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
  doesParkedBlock: false,
  wayOf: () => ({ surface: "request", subjects: "none" }),
};

/** What a service shows of a call: surely its own, or perhaps. */
export interface Shown {
  readonly matches?: readonly number[];
  readonly candidates?: readonly number[];
  /** Of the candidates: only listed by their status. */
  readonly hidden?: readonly number[];
}

/** A look at a service that shows these. */
export function shows({ matches = [], candidates = [], hidden = [] }: Shown) {
  return async ({ mark, labels = [], knownIds }: MadeSearch): Promise<MadeThere> => {
    const common = { containerIds: undefined, age: "unknown", isHidden: false } as const;
    const sure = matches.map(
      (id): Made => ({
        ...common,
        id,
        marks: mark === undefined ? [] : [mark],
        labels: labels.map((each) => [each]),
      }),
    );
    const unsure = candidates.map(
      (id): Made => ({ ...common, id, marks: [], labels: undefined, isHidden: hidden.includes(id) }),
    );
    return { made: [...sure, ...unsure].filter(({ id }) => !knownIds.has(id)), traces: [] };
  };
}

/** What the submit job and the looks are given, with what a look at the service finds; it is asked nothing else. */
export function submitDeps(pool: pg.Pool, found: Shown): SubmitDeps & LookDeps {
  const service: Partial<ServiceClient> = { listMade: shows(found) };
  return {
    pool,
    writer: openOrderWriter(pool, UNCOUNTED),
    service: service as ServiceClient,
    logger: silent,
    tracer: noTracer,
    random: () => 0,
    worker: { id: ME, isSure: true },
    requireNewestKnown: async () => undefined,
    inHand: new InHand(),
    isSent: () => true,
    submitting: { cancelAtService: () => Promise.reject(new Error("nothing is to be cancelled")) },
    offered: new Set(["request", "external"] as const),
    settings: SUBMIT_SETTINGS,
  };
}

const never = new AbortController().signal;

/** Makes all looks due, and looks; gives how many calls were looked for. */
export async function lookNow(deps: LookDeps): Promise<number> {
  await deps.pool.query("update calls set look_at = now() where look_at is not null");
  const cancels = await lookDue(deps, "cancels", never);
  return cancels + (await lookDue(deps, "others", never));
}
