import pg from "pg";
import { expect, test } from "vitest";
import { retryOrder } from "../../src/ledger/orders/acts.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { FORGET_SUBJECTS, forgetOld } from "../../src/ledger/prune.ts";
import { fillLedger } from "../bench/fill-ledger.ts";
import { A_REQUEST, claimNext, recordCall } from "../support/hand-over.ts";
import { waitForLockWaiter } from "../support/lock-waiters.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

const ENDED = 10_000;
const BATCH = 1_000;
const RETENTION = { messagesMs: 3_650 * 86_400_000, ordersMs: 1 };

test("what was pruned of orders is not read again each time", () =>
  withLedger(async ({ pool, connection }) => {
    const superuser = new pg.Client({ ...connection, user: "postgres" });
    await superuser.connect();
    await fillLedger(superuser, { ended: ENDED, open: 10 });
    await superuser.query("update cryobridge.orders set subject = null where id > $1", [BATCH]);
    await superuser.query("vacuum (analyze) cryobridge.orders");
    expect((await forgetOld(pool, RETENTION, BATCH)).orders).toBe(BATCH);
    await superuser.query("vacuum (analyze) cryobridge.orders");
    await superuser.end();
    const { rows } = await pool.query(`explain (analyze, buffers, format json) ${FORGET_SUBJECTS}`, [
      1,
      BATCH,
    ]);
    const { Plan: plan } = rows[0]["QUERY PLAN"][0];
    expect(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]).toBeLessThan(20);
  }));

test("an order that a person has go on at the moment when it is pruned is not waited for, and stays whole", () =>
  withLedger(async ({ pool }) => {
    const orders = [anOrder(), anOrder({ placerOrderNumber: "A-2" })];
    const [first, second] = await commit(pool, [aRecord(1, orders)]);
    await pool.query("update orders set state = 'failed', changed_at = now() - interval '1 hour'");
    const person = await pool.connect();
    await person.query("begin");
    await person.query("update orders set state = 'received', changed_at = now() where id = $1", [first]);
    const forgotten = await forgetOld(pool, RETENTION, BATCH);
    await person.query("commit");
    person.release();
    expect(forgotten).toMatchObject({ orders: 1 });
    const { rows } = await pool.query("select id from orders where subject is null");
    expect(rows).toEqual([{ id: second }]);
  }));

test("what was sent and answered of an order that a person has go on at the moment when it is pruned stays whole", () =>
  withLedger(async ({ pool }) => {
    const [orderId] = (await commit(pool, [aRecord(1, [anOrder()])])) as [number];
    const failure = { code: "SERVICE_REFUSED", text: "refused" } as const;
    const answer = { method: "POST", route: "/api/procedure-requests", status: 422, shape: "empty" } as const;
    const { fence } = await claimNext(pool);
    await recordCall(pool, { ...A_REQUEST, orderId, fence });
    await changeOrders(pool, [{ orderId, from: ["submitting"], failure, answer, call: { end: "refused" } }]);
    await pool.query("update calls set at = now() - interval '1 hour'");
    await pool.query(
      "update orders set state = 'failed', changed_at = now() - interval '1 hour', subject = null",
    );
    const person = await pool.connect();
    await person.query("begin");
    await person.query("update orders set state = 'received', changed_at = now()");
    const retention = { messagesMs: 86_400_000, ordersMs: 60_000 };
    const forgotten = await forgetOld(pool, retention, BATCH);
    await person.query("rollback");
    person.release();
    expect(forgotten).toMatchObject({ calls: 0, answers: 0 });
    expect(await forgetOld(pool, retention, BATCH)).toMatchObject({ calls: 1, answers: 1 });
  }));

test("the text of a message stays whose order a person has go on at the moment when it is pruned", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    await pool.query("update orders set state = 'failed', changed_at = now() - interval '1 hour'");
    await pool.query("update messages set received_at = now() - interval '1 hour'");
    await pool.query("update outcomes set is_composed = true");
    const person = await pool.connect();
    await person.query("begin");
    await person.query("update orders set state = 'received', changed_at = now()");
    const retention = { messagesMs: 60_000, ordersMs: 86_400_000 };
    const forgotten = await forgetOld(pool, retention, BATCH);
    await person.query("rollback");
    person.release();
    expect(forgotten.messages).toBe(0);
    expect((await forgetOld(pool, retention, BATCH)).messages).toBe(1);
  }));

test("a failed order is sent again by a person until its subject is pruned, also one that has only a code", () =>
  withLedger(async ({ pool }) => {
    const onlyCode = { firstName: undefined, lastName: undefined, dateOfBirth: undefined };
    const records = [anOrder(), anOrder({ placerOrderNumber: "A-2", code: "S-2" })].map((order, n) =>
      aRecord(n + 1, [n === 0 ? order : { ...order, subject: { ...order.subject, ...onlyCode } }]),
    );
    const ids = await commit(pool, records);
    const by = { actor: "kim" };
    const fail = () =>
      pool.query("update orders set state = 'failed', changed_at = now() - interval '1 hour'");
    await fail();
    for (const id of ids) expect(await retryOrder(pool, { id }, by)).toBe("done");
    await fail();
    expect((await forgetOld(pool, { messagesMs: 86_400_000, ordersMs: 60_000 }, BATCH)).orders).toBe(2);
    for (const id of ids) expect(await retryOrder(pool, { id }, by)).toBe("pruned");
    const { rows } = await pool.query("select distinct state from orders");
    expect(rows).toEqual([{ state: "failed" }]);
  }));

test("a result that a person has go on at the moment when it is pruned stays whole", () =>
  withLedger(async ({ pool }) => {
    await pool.query(
      `insert into deliveries (connector, file_name, bytes, state, created_at, delivered_at)
       values ('lims', 'a.hl7', 'MSH', 'delivered', now() - interval '1 hour', now())`,
    );
    const person = await pool.connect();
    await person.query("begin");
    await person.query("update deliveries set state = 'pending'");
    const forgetting = forgetOld(pool, { messagesMs: 60_000, ordersMs: 60_000 }, BATCH);
    await waitForLockWaiter(pool);
    await person.query("commit");
    person.release();
    expect((await forgetting).deliveries).toBe(0);
    const kept = await pool.query("select from deliveries where state = 'pending' and bytes is not null");
    expect(kept.rowCount).toBe(1);
  }));
