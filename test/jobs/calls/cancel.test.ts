import type pg from "pg";
import { describe, expect, test } from "vitest";
import { Failure } from "../../../src/core/failures.ts";
import type { LookDeps } from "../../../src/jobs/calls/deps.ts";
import { cancelOrder } from "../../../src/ledger/orders/cancellations.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { lookNow, submitDeps } from "../../support/submit.ts";
import { withLedger } from "../../support/with-ledger.ts";

const BOTH = new Set(["request", "external"] as const);
const BY = { actor: "test", reason: "the patient moved" };
const LISTED = { isCancelled: false, status: "PENDING" } as const;
const CANCELLED = { isCancelled: true, status: "CANCELLED" } as const;

/** An order that the service has as request 17, and that is to be cancelled there. */
async function toCancel(pool: pg.Pool): Promise<number> {
  const [orderId] = await commit(pool, [aRecord(1, [anOrder()])]);
  await pool.query("update orders set state = 'submitted', request_id = 17");
  expect(await cancelOrder(pool, orderId as number, BY, BOTH)).toEqual({ kind: "asked" });
  return orderId as number;
}

/** A service whose cancel call and looks for it have these results, in their sequence; both are counted. */
function service(
  pool: pg.Pool,
  calls: readonly (typeof LISTED | typeof CANCELLED | Failure | undefined)[],
  looks: readonly (typeof LISTED | typeof CANCELLED | "gone")[] = [],
) {
  const made = { calls: 0, looks: 0 };
  const deps = submitDeps(pool, {});
  const given: LookDeps = {
    ...deps,
    submitting: {
      cancelAtService: async () => {
        const result = calls[made.calls++];
        if (result instanceof Failure) throw result;
        return result;
      },
    },
    service: { ...deps.service, lookForCancel: async () => looks[made.looks++] ?? LISTED },
  };
  return { deps: given, made };
}

const calls = async (pool: pg.Pool) => {
  const { rows } = await pool.query(
    `select outcome, answer, worker_id is null as "isPlanned", extract(epoch from look_at - now())::integer as "inS"
       from calls where kind = 'cancel' order by id`,
  );
  return rows;
};
const state = async (pool: pg.Pool) => (await pool.query("select state from orders")).rows[0].state;

describe("a planned call to cancel", () => {
  test("leaves without a look, and what its answer shows as cancelled is", () =>
    withLedger(async ({ pool }) => {
      await toCancel(pool);
      const { deps, made } = service(pool, [CANCELLED]);
      expect(await lookNow(deps)).toBe(1);
      expect(await state(pool)).toBe("cancelled");
      expect(await calls(pool)).toMatchObject([{ outcome: "made" }]);
      expect(await lookNow(deps)).toBe(0);
      expect(made).toEqual({ calls: 1, looks: 0 });
    }));

  test("is not refused for what the order was linked to before a person linked it to another request", () =>
    withLedger(async ({ pool }) => {
      await toCancel(pool);
      const { deps } = service(pool, [new Failure("SERVICE_REFUSED", "no")]);
      await lookNow(deps);
      expect(await calls(pool)).toMatchObject([{ outcome: null, answer: "refused" }]);
      const lookForCancel = async () => {
        await pool.query("update orders set request_id = 31");
        return LISTED;
      };
      await lookNow({ ...deps, service: { ...deps.service, lookForCancel } });
      const open = async () => (await pool.query("select state from control_requests")).rows;
      expect(await open()).toEqual([{ state: "open" }]);
      await lookNow(deps);
      expect(await calls(pool)).toMatchObject([{ outcome: "nothing" }]);
      expect(await open()).toEqual([{ state: "open" }]);
    }));

  test("is looked for at once where its answer says no more than that it was taken", () =>
    withLedger(async ({ pool }) => {
      await toCancel(pool);
      const { deps, made } = service(pool, [undefined], [LISTED, CANCELLED]);
      await lookNow(deps);
      expect(await calls(pool)).toMatchObject([{ outcome: null, answer: "taken", inS: 0 }]);
      await lookNow(deps);
      expect(await state(pool)).toBe("submitted");
      await lookNow(deps);
      expect(await state(pool)).toBe("cancelled");
      expect(made).toEqual({ calls: 1, looks: 2 });
    }));

  test.each(["SERVICE_BUSY", "SERVICE_UNREACHABLE", "SERVICE_CREDENTIALS_REFUSED"] as const)(
    "is followed by another one later after %s, which says that nothing was done",
    (code) =>
      withLedger(async ({ pool }) => {
        await toCancel(pool);
        const { deps, made } = service(pool, [
          new Failure(code, { message: "", retryAfterMs: 60_000 }),
          CANCELLED,
        ]);
        await lookNow(deps);
        expect(await calls(pool)).toMatchObject([
          { isPlanned: false },
          { outcome: null, isPlanned: true, inS: 60 },
        ]);
        expect(["refused", "not_sent"]).toContain((await calls(pool))[0].outcome);
        await lookNow(deps);
        expect(await state(pool)).toBe("cancelled");
        expect(made).toEqual({ calls: 2, looks: 0 });
      }),
  );

  test.each([
    ["when nobody knows what it did", "SERVICE_NO_ANSWER", null],
    ["when it was refused, since an earlier one may have worked", "SERVICE_REFUSED", "refused"],
  ] as const)("is looked for at once %s", (_words, code, answer) =>
    withLedger(async ({ pool }) => {
      await toCancel(pool);
      const { deps } = service(pool, [new Failure(code, "status 409")]);
      await lookNow(deps);
      expect(await calls(pool)).toMatchObject([{ outcome: null, answer, inS: 0, isPlanned: false }]);
    }),
  );

  test("is made again where nothing was found of it for long enough, and then a third time at most", () =>
    withLedger(async ({ pool }) => {
      await toCancel(pool);
      const lost = new Failure("SERVICE_NO_ANSWER", "no whole answer in time");
      const { deps, made } = service(pool, [lost, lost, lost]);
      for (let step = 0; step < 20; step += 1) await lookNow(deps);
      expect(made).toEqual({ calls: 3, looks: 9 });
      expect(await calls(pool)).toMatchObject([
        { outcome: "nothing" },
        { outcome: "nothing" },
        { outcome: "nothing" },
      ]);
      const { rows } = await pool.query("select state, failure_code from control_requests");
      expect(rows).toEqual([{ state: "unable", failure_code: "CANCEL_WITHOUT_EFFECT" }]);
      expect(await state(pool)).toBe("submitted");
    }));

  test("that is offered no more is refused, and never leaves", () =>
    withLedger(async ({ pool }) => {
      await toCancel(pool);
      const { deps, made } = service(pool, []);
      await lookNow({ ...deps, offered: new Set() });
      expect(await calls(pool)).toMatchObject([{ outcome: "not_sent" }]);
      expect((await pool.query("select failure_code from control_requests")).rows).toEqual([
        { failure_code: "CANCEL_NOT_OFFERED" },
      ]);
      expect(made).toEqual({ calls: 0, looks: 0 });
    }));

  test("never leaves where the order ends first", () =>
    withLedger(async ({ pool }) => {
      const orderId = await toCancel(pool);
      const { changeOrders } = await import("../../../src/ledger/orders/change.ts");
      await changeOrders(pool, [{ orderId, to: "completed", isReported: true }]);
      expect(await calls(pool)).toMatchObject([{ outcome: "not_sent", inS: null }]);
    }));
});
