import type pg from "pg";
import { describe, expect, test } from "vitest";
import { ledgerView } from "../../../src/app/console.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { Failure } from "../../../src/core/failures.ts";
import { submitDue } from "../../../src/jobs/submit/submit.ts";
import { findOrders } from "../../../src/ledger/operator/views.ts";
import { discardOrder, retryOrder } from "../../../src/ledger/orders/acts.ts";
import { cancelOrder } from "../../../src/ledger/orders/cancellations.ts";
import { recordCalls } from "../../../src/ledger/orders/new-calls.ts";
import { enterRestored, findRestored, liftRestored } from "../../../src/ledger/restored/restore.ts";
import type { MadeSearch } from "../../../src/service/reconcile/made.ts";
import { readStatus } from "../../../src/standing/status.ts";
import { logSink } from "../../service/with-client.ts";
import { dueCancels, presumeAll } from "../../support/calls.ts";
import { claimNext } from "../../support/hand-over.ts";
import { aControl, answers } from "../../support/order-control.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { lookNow, shows, submitDeps } from "../../support/submit.ts";
import { silent, withLedger } from "../../support/with-ledger.ts";

test("an order whose request another order has claimed is parked for a person, and holds up no other one; what was found is counted", () =>
  withLedger(async ({ pool }) => {
    const containers = [{ label: "V-1", description: "" }];
    const [holder] = await commit(
      pool,
      ["A-0", "A-1", "A-2", "A-3"].map((placerOrderNumber, n) =>
        aRecord(n + 1, [anOrder({ placerOrderNumber, code: `S-${n}`, containers })]),
      ),
    );
    await presumeAll(pool, `o.id <> ${holder}`);
    const { logger, text: logged } = logSink();
    const deps = submitDeps(pool, {});
    const listMade = async (search: MadeSearch) => {
      await pool.query("update orders set state = 'submitted', request_id = 17 where id = $1", [holder]);
      const matches = { "S-1": [17], "S-2": [18] }[search.subjectCode.reveal()] ?? [];
      return shows({ matches })(search);
    };
    expect(await lookNow({ ...deps, logger, service: { ...deps.service, listMade } })).toBe(3);
    expect(await findOrders(pool, "A-1")).toMatchObject([
      { state: "parked", failure: { code: "SUBMIT_UNCERTAIN" } },
    ]);
    expect(await findOrders(pool, "A-2")).toMatchObject([{ state: "submitted", requestId: 18 }]);
    expect(await findOrders(pool, "A-3")).toMatchObject([{ state: "received" }]);
    expect(await findRestored(pool)).toMatchObject({ uncompared: 0, adopted: 1, parked: 1, free: 1 });
    expect(logged()).toMatch(/"adopted":1,"parked":1,"free":1,"msg":"the open orders .* were compared/);
  }));

test("a parked order that can't be looked for holds up no other one after a restore, and is looked for before it is sent", () =>
  withLedger(async ({ pool }) => {
    const [id] = await commit(pool, [aRecord(1, [anOrder()])]);
    await pool.query(
      "update orders set state = 'parked', failure_code = 'SUBJECT_UNKNOWN', failure_text = ''",
    );
    await presumeAll(pool);
    const deps = submitDeps(pool, {});
    const listMade = () => Promise.reject(new Failure("SERVICE_REFUSED", "403"));
    expect(await lookNow({ ...deps, service: { ...deps.service, listMade } })).toBe(1);
    expect(await findRestored(pool)).toMatchObject({ uncompared: 0, parked: 1 });
    expect(await findOrders(pool, "A-1")).toMatchObject([
      { state: "parked", failure: { code: "SUBJECT_UNKNOWN" } },
    ]);
    expect(await retryOrder(pool, { id: id as number }, { actor: "test" })).toBe("done");
    expect(await lookNow(submitDeps(pool, { matches: [17] }))).toBe(1);
    expect(await findOrders(pool, "A-1")).toMatchObject([{ state: "submitted", requestId: 17 }]);
  }));

test("a retrieval is no matter for a person while nothing but the credentials keep its containers from being listed", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder({ operation: "RETRIEVAL" })])]);
    await presumeAll(pool);
    const deps = submitDeps(pool, { candidates: [17] });
    const listSubjectContainers = () => Promise.reject(new Failure("SERVICE_CREDENTIALS_REFUSED", "401"));
    expect(await lookNow({ ...deps, service: { ...deps.service, listSubjectContainers } })).toBe(1);
    expect(await findOrders(pool, "A-1")).toMatchObject([{ state: "submitting" }]);
    expect(await findRestored(pool)).toMatchObject({ uncompared: 1, parked: 0 });
  }));

const BY = { actor: "test", reason: "the patient moved" };
const FOR_A1 = [{ placerOrderNumber: "A-1" }] as const;

/** The lab has sent an order again that a restored ledger has forgotten. */
const sentAgain = async (pool: pg.Pool, order: Parameters<typeof anOrder>[0] = {}) => {
  await enterRestored(pool, { text: "put back", epoch: 0, restores: 0, after: 0 });
  const [id] = await commit(pool, [aRecord(1, [anOrder(order)])]);
  return { orderId: id as number };
};

describe("an order that the lab sent again after a restore", () => {
  test("is looked for before it is called, and becomes what the service has of it", () =>
    withLedger(async ({ pool }) => {
      await sentAgain(pool);
      const deps = submitDeps(pool, { matches: [17] });
      // Nothing but a look is made at this service.
      expect(await submitDue(10, deps, new AbortController().signal)).toBe(1);
      expect(await findOrders(pool, "A-1")).toMatchObject([
        { state: "submitting", failure: undefined, calls: [{ isPresumed: true, outcome: undefined }] },
      ]);
      expect(await lookNow(deps)).toBe(1);
      expect(await findOrders(pool, "A-1")).toMatchObject([{ state: "submitted", requestId: 17 }]);
    }));

  test("is changed or put on hold only once the service was looked at for it, which a request for that has done", () =>
    withLedger(async ({ pool }) => {
      await sentAgain(pool);
      const content = anOrder({ containers: [{ label: "V-2", description: "" }] });
      await commit(pool, [aControl(2, "change", [{ placerOrderNumber: "A-1", content }])]);
      await commit(pool, [aControl(3, "hold", FOR_A1)]);
      expect(await answers(pool)).toEqual([["CONTROL_UNDER_WAY"], ["CONTROL_UNDER_WAY"]]);
      expect(await findOrders(pool, "A-1")).toMatchObject([{ containers: [{ label: "V-1" }] }]);
      expect(await lookNow(submitDeps(pool, {}))).toBe(1);
      expect(await findOrders(pool, "A-1")).toMatchObject([{ state: "received", heldAt: undefined }]);
      await commit(pool, [aControl(4, "change", [{ placerOrderNumber: "A-1", content }])]);
      expect((await answers(pool)).at(-1)).toEqual(["CR"]);
      expect(await findOrders(pool, "A-1")).toMatchObject([{ containers: [{ label: "V-2" }] }]);
    }));

  test("is put on hold and released as any other once the look has shown that nothing is there", () =>
    withLedger(async ({ pool }) => {
      await sentAgain(pool);
      await commit(pool, [aControl(2, "hold", FOR_A1)]);
      await lookNow(submitDeps(pool, {}));
      await commit(pool, [aControl(3, "hold", FOR_A1), aControl(4, "release", FOR_A1)]);
      expect(await answers(pool)).toEqual([["CONTROL_UNDER_WAY"], ["CR"], ["CR"]]);
      expect(await findOrders(pool, "A-1")).toMatchObject([{ state: "received", heldAt: undefined }]);
    }));

  test.each([
    ["a lab", (pool: pg.Pool) => commit(pool, [aControl(2, "cancel", FOR_A1)])],
    ["a person", (pool: pg.Pool, id: number) => cancelOrder(pool, id, BY, new Set())],
  ])("is cancelled by %s only once the service was looked at for it", (_, cancel) =>
    withLedger(async ({ pool }) => {
      const { orderId } = await sentAgain(pool);
      await cancel(pool, orderId);
      expect(await findOrders(pool, "A-1")).toMatchObject([{ state: "submitting" }]);
      expect(await lookNow(submitDeps(pool, {}))).toBe(1);
      expect(await findOrders(pool, "A-1")).toMatchObject([{ state: "cancelled" }]);
    }),
  );

  test("and cancelled is linked to what the service has of it, whose cancel call is then made", () =>
    withLedger(async ({ pool }) => {
      const { orderId } = await sentAgain(pool);
      expect(await cancelOrder(pool, orderId, BY, new Set())).toEqual({ kind: "waits" });
      await lookNow(submitDeps(pool, { matches: [17] }));
      expect(await findOrders(pool, "A-1")).toMatchObject([{ state: "submitted", requestId: 17 }]);
      expect(await dueCancels(pool)).toMatchObject([{ orderId }]);
    }));

  test("and cancelled while a worker has it in hand is called by that one no more", () =>
    withLedger(async ({ pool }) => {
      const { orderId } = await sentAgain(pool);
      const { fence } = await claimNext(pool);
      await commit(pool, [aControl(2, "cancel", FOR_A1)]);
      const call = { orderId, fence, kind: "request", knownIds: [], body: {}, surface: "request" } as const;
      expect(await recordCalls(pool, [call])).toEqual(new Map());
    }));

  test("and cancelled is decided when a person lifts the restore", () =>
    withLedger(async ({ pool }) => {
      await sentAgain(pool);
      await commit(pool, [aControl(2, "cancel", FOR_A1)]);
      await liftRestored(pool, BY);
      expect(await findOrders(pool, "A-1")).toMatchObject([{ state: "cancelled" }]);
      expect(await answers(pool)).toEqual([["CR"]]);
    }));

  test("is discarded with a reason, and the lab hears that it may be done", () =>
    withLedger(async ({ pool }) => {
      const { orderId: id } = await sentAgain(pool);
      expect(await discardOrder(pool, { id }, { actor: "test" })).toBe("reason wanted");
      expect(await discardOrder(pool, { id }, BY)).toBe("done");
      const [order] = await findOrders(pool, "A-1");
      expect(order?.failure?.text).toContain("may have the request and do it anyway");
    }));
});

test("how far the comparing is stands in the status, and who ends it is recorded", () =>
  withLedger(async ({ pool }) => {
    const records = ["A-1", "A-2", "A-3"].map((placerOrderNumber, n) =>
      aRecord(n + 1, [anOrder({ placerOrderNumber, code: `S-${n}` })]),
    );
    await commit(pool, records);
    await enterRestored(pool, { text: "put back", epoch: 0, restores: 0, after: 0 });
    const view = ledgerView(
      pool,
      { connectors: [], lanes: { parkedBlocks: false }, refills: undefined },
      systemClock,
    );
    const lookAt = async () => {
      const own = () => [];
      const { attention } = await readStatus({ ...view, own, logger: silent, clock: systemClock }, "test");
      return attention.find(({ what }) => what.startsWith("the ledger is an older copy"));
    };
    const before = await lookAt();
    expect(before?.what).toMatch(
      /\(restored; .*: put back\); 0 of 3 open orders were compared with the service \(0 found there, 0 parked, 0 not there and sent as usual\), and nothing is submitted until all are$/,
    );
    expect(before?.hint).toContain("orders release-after-restore --reason");
    await pool.query("update orders set state = 'received'");
    await pool.query("update calls set outcome = 'nothing', ended_at = now(), look_at = null");
    await pool.query("update ledger set restored_free = 3");
    expect((await lookAt())?.what).toContain(
      "open orders were compared with the service (0 found there, 0 parked, 3 not there and sent as usual); what came since",
    );
    expect(await liftRestored(pool, { actor: "kim", reason: "nothing was sent since" })).toBe(0);
    expect(await liftRestored(pool, { actor: "kim", reason: "again" })).toBeUndefined();
    expect(await lookAt()).toBeUndefined();
    const { rows } = await pool.query("select actor, action, detail from audit order by id");
    expect(rows).toMatchObject([
      { actor: "cryobridge", action: "restore-noticed" },
      { actor: "kim", action: "release-after-restore", detail: { reason: "nothing was sent since" } },
    ]);
  }));
