import type pg from "pg";
import { describe, expect, test } from "vitest";
import { phi } from "../../src/core/phi.ts";
import { openOrderWriter } from "../../src/ledger/order-writer.ts";
import { FIND_LABEL_HOLDER, findLabelHolders } from "../../src/ledger/orders/label-subjects.ts";
import { openCalls } from "../support/calls.ts";
import { eventually } from "../support/eventually.ts";
import { A_REQUEST, UNCOUNTED } from "../support/hand-over.ts";
import { countLockWaiters, waitForLockWaiter } from "../support/lock-waiters.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

let messages = 0;

const findLabelHolder = async (pool: pg.Pool, id: number) => (await findLabelHolders(pool, [id])).get(id);

/** An order of a vial, in a state that it has had for some minutes. */
async function put(
  pool: pg.Pool,
  parts: Parameters<typeof anOrder>[0] = {},
  state = "received",
  minutesAgo = 0,
): Promise<number> {
  messages += 1;
  const [id] = await commit(pool, [
    aRecord(messages, [anOrder({ placerOrderNumber: `A-${messages}`, ...parts })]),
  ]);
  await pool.query(
    `update orders
        set state = $2,
            failure_code = case when $2 = 'parked' then 'UNCLASSIFIED' end,
            request_id = case when $2 in ('submitted', 'accepted', 'in_progress') then id end,
            changed_at = now() - $3 * interval '1 minute'
      where id = $1`,
    [id, state, minutesAgo],
  );
  return id as number;
}

const merge = (pool: pg.Pool, prior: string, into: string, state = "failed") =>
  put(pool, { operation: "MERGE", code: into, priorSubjectCode: phi(prior), containers: [] }, state);
const retrieval = (code: string) => ({ operation: "RETRIEVAL", code }) as const;

describe("a label of an order is another subject's", () => {
  test.each(["received", "submitting", "submitted", "accepted", "in_progress", "parked"])(
    "while an earlier order for it is %s",
    (state) =>
      withLedger(async ({ pool }) => {
        await put(pool, { code: "S-1", placerOrderNumber: "P-1" }, state);
        const mine = await put(pool, { code: "S-2" });
        const otherName = "order P-1";
        expect(await findLabelHolder(pool, mine)).toEqual({
          label: "V-1",
          otherName,
          operation: "STORE",
          state,
        });
      }),
  );

  test.each(["STORE", "RETRIEVAL"] as const)("once it was stored for it, when a %s comes", (operation) =>
    withLedger(async ({ pool }) => {
      await put(pool, { code: "S-1" }, "completed", 9);
      const mine = await put(pool, { code: "S-2", operation });
      expect(await findLabelHolder(pool, mine)).toMatchObject({ operation: "STORE", state: "completed" });
    }),
  );

  test("when it was stored again after its retrieval", () =>
    withLedger(async ({ pool }) => {
      await put(pool, { code: "S-1" }, "completed", 9);
      await put(pool, retrieval("S-1"), "completed", 8);
      await put(pool, { code: "S-1" }, "completed", 7);
      expect(await findLabelHolder(pool, await put(pool, { code: "S-2" }))).toMatchObject({
        state: "completed",
      });
    }));

  test("in whatever place of the orders it stands", () =>
    withLedger(async ({ pool }) => {
      const labels = (...texts: string[]) => texts.map((label) => ({ label, description: "" }));
      await put(pool, { code: "S-1", containers: labels("V-7", "V-8") }, "submitted");
      const mine = await put(pool, { code: "S-2", containers: labels("V-5", "V-6", "V-8") });
      expect(await findLabelHolder(pool, mine)).toMatchObject({ label: "V-8" });
    }));

  test("in a later order, as soon as the service may have that one", () =>
    withLedger(async ({ pool }) => {
      const mine = await put(pool, { code: "S-2" });
      const later = await put(pool, { code: "S-1" }, "submitting");
      expect(await findLabelHolder(pool, mine)).toBeUndefined();
      await openCalls(pool, { where: `o.id = ${later}` });
      expect(await findLabelHolder(pool, mine)).toMatchObject({ state: "submitting" });
    }));
});

describe("a label is free", () => {
  test.each(["rejected", "cancelled", "failed", "discarded"])(
    "once the other subject's order is %s",
    (state) =>
      withLedger(async ({ pool }) => {
        await put(pool, { code: "S-1" }, state);
        expect(await findLabelHolder(pool, await put(pool, { code: "S-2" }))).toBeUndefined();
      }),
  );

  test("once the other subject's container was retrieved", () =>
    withLedger(async ({ pool }) => {
      await put(pool, { code: "S-1" }, "completed", 9);
      await put(pool, retrieval("S-1"), "completed", 8);
      expect(await findLabelHolder(pool, await put(pool, { code: "S-2" }))).toBeUndefined();
    }));

  test("for the subject whose container it is, and at another facility", () =>
    withLedger(async ({ pool }) => {
      await put(pool, { code: "S-1" }, "completed", 9);
      expect(await findLabelHolder(pool, await put(pool, retrieval("S-1")))).toBeUndefined();
      expect(await findLabelHolder(pool, await put(pool, { code: "S-2", facilityId: 13 }))).toBeUndefined();
    }));

  test("for the subject whose container is in storage, whatever order of another one came for it since", () =>
    withLedger(async ({ pool }) => {
      await put(pool, { code: "S-1" }, "completed", 9);
      const wrong = await put(pool, { code: "S-2" });
      const mine = await put(pool, retrieval("S-1"));
      expect(await findLabelHolder(pool, mine)).toBeUndefined();
      await pool.query("update orders set state = 'submitted', request_id = 1 where id = $1", [wrong]);
      expect(await findLabelHolder(pool, mine)).toMatchObject({ state: "submitted" });
    }));

  test("of an order that is parked for that label itself", () =>
    withLedger(async ({ pool }) => {
      const first = await put(pool, { code: "S-1" }, "parked");
      const mine = await put(pool, { code: "S-2" });
      expect(await findLabelHolder(pool, mine)).toBeDefined();
      await pool.query("update orders set failure_code = 'ORDER_LABEL_OF_OTHER_SUBJECT' where id = $1", [
        first,
      ]);
      expect(await findLabelHolder(pool, mine)).toBeUndefined();
    }));

  test.each([
    ["into the order's subject", [["S-1", "S-2"]]],
    ["into the other one", [["S-2", "S-1"]]],
    [
      "by way of a third identifier",
      [
        ["S-1", "S-3"],
        ["S-3", "S-2"],
      ],
    ],
    [
      "both into a third identifier",
      [
        ["S-1", "S-3"],
        ["S-2", "S-3"],
      ],
    ],
  ])("where the lab has merged the subjects: %s", (_how, pairs) =>
    withLedger(async ({ pool }) => {
      await put(pool, { code: "S-1" }, "completed", 9);
      const mine = await put(pool, retrieval("S-2"));
      expect(await findLabelHolder(pool, mine)).toBeDefined();
      for (const [prior, into] of pairs) await merge(pool, prior as string, into as string);
      expect(await findLabelHolder(pool, mine)).toBeUndefined();
    }),
  );

  test("but not by a merge that was discarded, or that another facility's lab has told of", () =>
    withLedger(async ({ pool }) => {
      await put(pool, { code: "S-1" }, "completed", 9);
      await merge(pool, "S-1", "S-2", "discarded");
      const elsewhere = {
        operation: "MERGE",
        code: "S-2",
        priorSubjectCode: phi("S-1"),
        containers: [],
      } as const;
      await put(pool, { ...elsewhere, facilityId: 13 }, "failed");
      expect(await findLabelHolder(pool, await put(pool, { code: "S-2" }))).toBeDefined();
    }));

  test("once it was retrieved under the identifier that its subject was merged into", () =>
    withLedger(async ({ pool }) => {
      await put(pool, { code: "S-1" }, "completed", 9);
      await merge(pool, "S-1", "S-3");
      const mine = await put(pool, { code: "S-2" });
      expect(await findLabelHolder(pool, mine)).toBeDefined();
      await put(pool, retrieval("S-3"), "completed", 8);
      expect(await findLabelHolder(pool, mine)).toBeUndefined();
    }));
});

test("of two orders that are submitted at one moment one alone gets a label, though both found it free", () =>
  withLedger(async ({ pool }) => {
    const earlier = await put(pool, { code: "S-1" }, "cancelled");
    const later = await put(pool, { code: "S-2" });
    const takeInHand = (id: number) =>
      pool.query(`update orders set state = 'submitting', owner = 1, fence = id where id = $1`, [id]);
    await takeInHand(later);
    const call = A_REQUEST;
    const intend = (orderId: number) =>
      openOrderWriter(pool, UNCOUNTED).intend({ orderId, fence: orderId, ...call, needsFreeLabels: true });
    const other = await pool.connect();
    await other.query("begin");
    await other.query("select 1 from orders where id = $1 for update", [later]);
    const first = intend(later);
    await waitForLockWaiter(pool, "insert into calls");
    // The earlier one comes back only now, and to its call before the later one's intent is committed.
    await takeInHand(earlier);
    let hasEnded = false;
    const second = intend(earlier).finally(() => {
      hasEnded = true;
    });
    await eventually(async () => hasEnded || (await countLockWaiters(pool, "pg_advisory_xact_lock")) > 0);
    await other.query("commit");
    other.release();
    expect([await first, await second]).toMatchObject([{ kind: "recorded" }, { kind: "label taken" }]);
  }));

test("answers from its indexes among many orders of one label, and many labels of one subject", () =>
  withLedger(async ({ pool }) => {
    const [id] = await commit(pool, [aRecord(1, [anOrder({ code: "SUBJ-1" })])]);
    await pool.query(
      `insert into orders (message_id, position, connector, operation, facility_code, facility_id, subject_code, subject,
                           sources, content_digest, state)
       select message_id, n + 1, connector, operation, facility_code, facility_id,
              case when n % 2 = 0 then subject_code else 'S' || n end, '{}', '{}', '', 'completed'
         from orders, generate_series(1, 5000) n
        where id = $1`,
      [id],
    );
    await pool.query(
      `insert into order_containers (order_id, position, lane, label, description)
       select o.id, 1, o.facility_id || '/' || o.subject_code, 'L-' || (o.id / 4), ''
         from orders o
        where o.id <> $1`,
      [id],
    );
    await pool.query("update order_containers set label = 'L-500' where order_id = $1", [id]);
    await pool.query("analyze orders, order_containers");
    const { rows } = await pool.query(
      `explain (analyze, format json) ${FIND_LABEL_HOLDER.replaceAll("$1", String(id))}`,
    );
    const plan = JSON.stringify(rows[0]["QUERY PLAN"]);
    expect(plan).not.toContain("Seq Scan");
    const read = [...plan.matchAll(/"Actual Rows":([\d.]+)/g)].map((match) => Number(match[1]));
    expect(Math.max(...read)).toBeLessThan(100);
  }));
