import { expect, test } from "vitest";
import { Failure } from "../../../src/core/failures.ts";
import { countOpenTasks } from "../../../src/ledger/operator/tasks.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { lookNow, submitDeps } from "../../support/submit.ts";
import { withLedger } from "../../support/with-ledger.ts";

test("a look for what a call to cancel did that the service puts off is repeated when the service says", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    await pool.query("update orders set state = 'submitted', request_id = 17");
    await pool.query(
      `insert into calls (order_id, kind, surface, mark, service_id, worker_id, look_at)
       select id, 'cancel', 'request', mark, 17, 1, now() from orders`,
    );
    const deps = submitDeps(pool, {});
    const busy = new Failure("SERVICE_BUSY", { message: "503", retryAfterMs: 60_000 });
    const lookForCancel = () => Promise.reject(busy);
    expect(await lookNow({ ...deps, service: { ...deps.service, lookForCancel } })).toBe(1);
    const { rows } = await pool.query(
      "select failed_checks, extract(epoch from look_at - now()) > 50 as is_late from calls",
    );
    expect(rows).toEqual([{ failed_checks: 1, is_late: true }]);
  }));

test("a look for what a call to cancel did that is refused for good is made again, and asks nobody: the order goes on", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    await pool.query("update orders set state = 'submitted', request_id = 17");
    await pool.query(
      `insert into calls (order_id, kind, surface, mark, service_id, worker_id, look_at)
       select id, 'cancel', 'request', mark, 17, 1, now() from orders`,
    );
    const deps = submitDeps(pool, {});
    const lookForCancel = () => Promise.reject(new Failure("SERVICE_REFUSED", "status 403"));
    await lookNow({ ...deps, service: { ...deps.service, lookForCancel } });
    const { rows } = await pool.query(
      "select o.state, k.outcome, k.failed_checks, k.look_at is not null as is_due from orders o join calls k on k.order_id = o.id",
    );
    expect(rows).toEqual([{ state: "submitted", outcome: null, failed_checks: 1, is_due: true }]);
    expect(await countOpenTasks(pool)).toEqual([]);
  }));
