import { expect, test } from "vitest";
import { Failure } from "../../../src/core/failures.ts";
import { submitDue } from "../../../src/jobs/submit/submit.ts";
import { findOrders } from "../../../src/ledger/operator/views.ts";
import { retryOrder } from "../../../src/ledger/orders/acts.ts";
import { enterRestored, findRestored } from "../../../src/ledger/restored/restore.ts";
import type { MadeSearch } from "../../../src/service/reconcile/made.ts";
import { logSink } from "../../service/with-client.ts";
import { presumeAll } from "../../support/calls.ts";
import { aControl, answers } from "../../support/order-control.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { lookNow, shows, submitDeps } from "../../support/submit.ts";
import { withLedger } from "../../support/with-ledger.ts";

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
      await pool.query(
        "update orders set state = 'submitted', surface = 'request', request_id = 17 where id = $1",
        [holder],
      );
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

test("an order that the lab sent again after a restore is changed only once the service was looked at for it as it was", () =>
  withLedger(async ({ pool }) => {
    await enterRestored(pool, { text: "put back", epoch: 0, restores: 0, after: 0 });
    await commit(pool, [aRecord(1, [anOrder()])]);
    const content = anOrder({ containers: [{ label: "V-2", description: "" }] });
    const changes = (ordinal: number) => aControl(ordinal, "change", [{ placerOrderNumber: "A-1", content }]);
    await commit(pool, [changes(2)]);
    expect(await answers(pool)).toEqual([["CONTROL_UNDER_WAY"]]);
    expect(await findOrders(pool, "A-1")).toMatchObject([{ containers: [{ label: "V-1" }] }]);
    const deps = submitDeps(pool, {});
    await submitDue(10, deps, new AbortController().signal);
    await lookNow(deps);
    expect(await findOrders(pool, "A-1")).toMatchObject([{ state: "received" }]);
    await commit(pool, [changes(3)]);
    expect(await answers(pool)).toEqual([["CONTROL_UNDER_WAY"], ["CR"]]);
    expect(await findOrders(pool, "A-1")).toMatchObject([{ containers: [{ label: "V-2" }] }]);
  }));
