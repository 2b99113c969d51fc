import fc from "fast-check";
import type pg from "pg";
import { expect, test } from "vitest";
import { Failure, type FailureCode } from "../../src/core/failures.ts";
import { phi } from "../../src/core/phi.ts";
import type { LookDeps } from "../../src/jobs/calls/deps.ts";
import { lookDue } from "../../src/jobs/calls/look.ts";
import type { SubmitDeps } from "../../src/jobs/submit/deps.ts";
import { submitDue } from "../../src/jobs/submit/submit.ts";
import { listOpenTasks } from "../../src/ledger/operator/tasks.ts";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { discardOrder, releaseOrder, resolveOrder, retryOrder } from "../../src/ledger/orders/acts.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import type { MadeSearch } from "../../src/service/reconcile/made.ts";
import { agedBy } from "../support/calls.ts";
import { loseWorker, ME } from "../support/hand-over.ts";
import { aControl } from "../support/order-control.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { lookNow, SUBMIT_SETTINGS, submitDeps } from "../support/submit.ts";
import { withLedger } from "../support/with-ledger.ts";

const never = new AbortController().signal;
const KIM = { actor: "kim", reason: "seen" };
const order = (label: string) => anOrder({ containers: [{ label, description: "vial" }] });

/** How a call ends, and whether the service carried it out. */
const ENDS = {
  "is answered": [undefined, true],
  "is refused for now": ["SERVICE_BUSY", false],
  "is refused for now by a gateway": ["SERVICE_BUSY", true],
  "is refused for good": ["SERVICE_REFUSED", false],
  "is refused for good by a gateway": ["SERVICE_REFUSED", true],
  "gets no answer": ["SERVICE_NO_ANSWER", false],
  "loses its answer": ["SERVICE_NO_ANSWER", true],
  "never leaves": ["SERVICE_UNREACHABLE", false],
} as const satisfies Record<string, readonly [FailureCode | undefined, boolean]>;

const LAB = ["hold", "release", "cancel", "change to V-1", "change to V-2", "change to V-3"] as const;

/** What happens, and how often next to the others. */
const WEIGHTS = {
  works: 8,
  retry: 4,
  "change to V-1": 1,
  "change to V-2": 2,
  "change to V-3": 2,
  hold: 2,
  release: 2,
  fails: 2,
  cancel: 1,
  "let go": 1,
  discard: 1,
  resolve: 1,
};

/** Mostly nothing. */
const seldom = <T>(value: fc.Arbitrary<T>) =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 5 }, { arbitrary: value, weight: 1 });

const anyStep = fc.record({
  act: fc.oneof(...Object.entries(WEIGHTS).map(([act, weight]) => ({ arbitrary: fc.constant(act), weight }))),
  ends: fc.constantFrom(...(Object.keys(ENDS) as (keyof typeof ENDS)[])),
  /** What the lab asks for before the worker's call leaves, and while it is under way. */
  before: seldom(fc.constantFrom(...LAB)),
  during: seldom(fc.constantFrom(...LAB)),
  /** The worker is lost before it can record what became of its call. */
  isLost: seldom(fc.constant(true)),
});

const works = (ends: keyof typeof ENDS) => ({
  ...{ act: "works", ends, before: undefined, during: undefined, isLost: undefined },
});
const changes = { ...works("is answered"), act: "change to V-2" };

/** One order, its lab, its operator, and a service that lists what it has made at once, or only when it lags no more. */
function aSite(pool: pg.Pool, lists: { lag: boolean }) {
  const made: { readonly id: number; readonly ref: string | undefined; readonly labels: string }[] = [];
  /** Requests that a person has seen, or that the order was followed by before it failed. */
  const seen = new Set<number>();
  let messages = 1;
  let step: {
    ends: keyof typeof ENDS;
    before?: string | undefined;
    during?: string | undefined;
    isLost?: true | undefined;
  };
  const healthy = { ends: "is answered" } as const;
  step = healthy;
  const asks = async (what: string) => {
    messages += 1;
    const [control, label] = what.split(" to ");
    const content = label === undefined ? {} : { subjectCode: phi("SUBJ-1"), content: order(label) };
    await commit(pool, [aControl(messages, control as "hold", [{ placerOrderNumber: "A-1", ...content }])]);
  };
  const labelsOf = (containers: readonly { readonly label: string }[]) =>
    containers.map(({ label }) => label).join();
  let isAway = false;
  const service: Partial<ServiceClient> = {
    listSubjectContainers: async () => {
      const { before } = step;
      step = { ...step, before: undefined };
      if (before !== undefined) await asks(before);
      return [];
    },
    create: async (_surface, request, _signal, options) => {
      await options?.beforeSend?.();
      const { ends, during, isLost } = step;
      const [code, isExecuted] = ENDS[ends];
      const id = 100 + made.length;
      const labels = request.type === "STORE" ? labelsOf(request.containers) : "";
      if (isExecuted) made.push({ id, ref: request.ref, labels });
      if (during !== undefined) await asks(during);
      isAway = isLost === true;
      step = healthy;
      if (code === undefined) return { id, status: "PENDING" };
      const isAnswered = code === "SERVICE_BUSY" || code === "SERVICE_REFUSED";
      throw new Failure(code, { message: "invented", isAnswered });
    },
    listMade: async ({ mark, knownIds }: MadeSearch) => {
      const ours = (lists.lag ? [] : made).filter(({ id, ref }) => ref === mark && !knownIds.has(id));
      const common = { containerIds: undefined, age: "newer", isHidden: false } as const;
      const shown = ours.map(({ id, ref, labels }) => ({
        ...{ ...common, id, marks: ref === undefined ? [] : [ref] },
        labels: labels.split(",").map((label) => [label]),
      }));
      return { made: shown, traces: [] };
    },
  };
  const plain = submitDeps(pool, {});
  // However long the steps take: what is looked for once more is looked for when the list lags no more.
  const reconcile = { ...SUBMIT_SETTINGS.reconcile, recheckMs: 86_400_000 };
  const unlessAway =
    <A extends unknown[], R>(call: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      if (isAway) throw new Failure("LEDGER_UNAVAILABLE", "away");
      return call(...args);
    };
  const deps: SubmitDeps & LookDeps = {
    ...plain,
    settings: { ...SUBMIT_SETTINGS, reconcile },
    service: service as ServiceClient,
    writer: { change: unlessAway(plain.writer.change), intend: unlessAway(plain.writer.intend) },
  };
  const only = async () => (await findOrders(pool, "A-1"))[0] as LedgerOrder;
  const work = async () => {
    await pool.query("update orders set next_at = now()");
    await agedBy(pool, "1 hour");
    await submitDue(5, deps, never).catch((error: unknown) => {
      if (!(error instanceof Failure) || error.code !== "LEDGER_UNAVAILABLE") throw error;
    });
    isAway = false;
    await loseWorker(pool, ME, []);
    await pool.query("update calls set look_at = now() where outcome is null and look_at is not null");
    await lookDue(deps, "others", never);
  };
  const see = (ids: readonly number[] = lists.lag ? [] : made.map(({ id }) => id)) => {
    for (const id of ids) seen.add(id);
  };
  const acts: Record<string, () => Promise<unknown>> = {
    works: work,
    retry: async () => {
      const { failure, state } = await only();
      if (/^SUBMIT_/.test(failure?.code ?? "") && state === "parked") see();
      if (state === "failed") see();
      await retryOrder(pool, await only(), KIM);
    },
    "let go": async () => releaseOrder(pool, await only(), KIM),
    discard: async () => {
      const it = await only();
      if ((await discardOrder(pool, it, { actor: "kim" })) === "reason wanted") {
        // Whatever it may have: the lab hears of that.
        see(made.map(({ id }) => id));
        await discardOrder(pool, it, KIM);
      }
    },
    resolve: async () => {
      if ((await only()).state === "parked") see();
      const last = made.at(-1);
      if (last === undefined) return;
      if (
        (await resolveOrder(pool, await only(), { surface: "request", requestId: last.id }, KIM)) === "done"
      )
        see([last.id]);
    },
    fails: async () => {
      const { id, state } = await only();
      if (state === "submitted")
        await changeOrders(pool, [
          { orderId: id, to: "failed", failure: { code: "PROCEDURE_FAILED", text: "" } },
        ]);
    },
  };
  return {
    made,
    seen,
    work,
    only,
    deps,
    asks,
    acts: async (each: typeof step & { act: string }) => {
      step = each;
      await (acts[each.act] ?? (() => asks(each.act)))();
      step = healthy;
    },
  };
}

test("whatever a lab, a person and a gateway do: what the service has of an order is known, or a person's task", () =>
  fc.assert(
    fc.asyncProperty(fc.array(anyStep, { minLength: 2, maxLength: 10 }), fc.boolean(), (steps, isLagging) =>
      withLedger(async ({ pool }) => {
        const lists = { lag: isLagging };
        const { made, seen, work, only, deps, acts, asks } = aSite(pool, lists);
        await commit(pool, [aRecord(1, [order("V-1")])]);
        for (const each of steps) await acts(each);
        await asks("release");
        for (let round = 0; round < 8; round += 1) await work();
        lists.lag = false;
        await lookNow(deps);
        const { state, requestId, calls, failure } = await only();
        const tasks = (await listOpenTasks(pool, 20)).map(({ text }) => text).join();
        const isWithPerson = state === "parked" && /^SUBMIT_/.test(failure?.code ?? "");
        const unknown = made.filter(
          ({ id }) =>
            id !== requestId &&
            !calls.some(({ serviceId }) => serviceId === id) &&
            !seen.has(id) &&
            !isWithPerson &&
            !tasks.includes(`${id}`),
        );
        expect({ unknown, state, failure }).toEqual({ unknown: [], state, failure });
        expect(state).not.toBe("submitting");
      }),
    ),
    {
      numRuns: 8,
      examples: [[[works("is refused for good by a gateway"), changes], true]],
    },
  ));
