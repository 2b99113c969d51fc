import { expect, test } from "vitest";
import { LABEL_LOCK } from "../../src/ledger/locks.ts";
import { findOrders, listEvents } from "../../src/ledger/operator/views.ts";
import { openOrderWriter } from "../../src/ledger/order-writer.ts";
import type { OrderChange } from "../../src/ledger/orders/change.ts";
import { isAwaited } from "../support/cut-way.ts";
import { takeDue, UNCOUNTED } from "../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { type TestLedger, withLedger } from "../support/with-ledger.ts";

/** Orders of different subjects, all in one worker's hands. */
async function inHand({ pool }: TestLedger, count: number) {
  const orders = Array.from({ length: count }, (_, n) =>
    anOrder({ code: `S-${n}`, placerOrderNumber: `A-${n}` }),
  );
  await commit(pool, [aRecord(1, orders)]);
  return takeDue(pool);
}

const submitted = (requestId: number): Omit<OrderChange, "orderId"> => ({
  to: "submitted",
  request: { surface: "request", requestId },
  isReleased: true,
  call: { end: "made" },
  event: { kind: "submitted" },
});

const CALL = {
  kind: "request",
  knownIds: [4],
  body: { type: "STORE" },
  surface: "request",
} as const;

test("steps of orders that are recorded at the same time share their transactions", () =>
  withLedger(async (ledger) => {
    const { pool } = ledger;
    const mine = await inHand(ledger, 40);
    const writer = openOrderWriter(pool, UNCOUNTED);
    await Promise.all(mine.map((each) => writer.intend({ ...each, ...CALL })));
    await Promise.all(mine.map((each, n) => writer.change({ ...each, ...submitted(n + 1) })));
    // xmin is the transaction that wrote a row: the first step goes alone, what comes meanwhile together.
    const { rows } = await pool.query("select distinct xmin::text, state from orders");
    expect(rows.length).toBeLessThanOrEqual(2);
    expect(new Set(rows.map(({ state }) => state))).toEqual(new Set(["submitted"]));
  }));

test("a step whose order is another's is refused alone, and the others of its transaction are recorded", () =>
  withLedger(async (ledger) => {
    const { pool } = ledger;
    const [first, second, third] = await inHand(ledger, 3);
    if (!first || !second || !third) throw new Error("three orders were claimed");
    const writer = openOrderWriter(pool, UNCOUNTED);
    const results = await Promise.allSettled([
      writer.change({ ...first, ...submitted(7) }),
      writer.change({ ...second, ...submitted(7) }),
      writer.change({ ...third, fence: third.fence + 99, ...submitted(8) }),
    ]);
    expect(results).toMatchObject([
      { status: "fulfilled", value: true },
      { status: "rejected", reason: { code: "REQUEST_CLAIMED" } },
      { status: "fulfilled", value: false },
    ]);
    const states = await Promise.all(["A-0", "A-1", "A-2"].map((number) => findOrders(pool, number)));
    expect(states.flat().map(({ state }) => state)).toEqual(["submitted", "submitting", "submitting"]);
  }));

test.each([
  ["before", (own: unknown, former: unknown) => [former, own]],
  ["after", (own: unknown, former: unknown) => [own, former]],
])(
  "a step of a former claim that comes right %s one of its own worker's new claim records nothing",
  (_, inTurn) =>
    withLedger(async (ledger) => {
      const { pool } = ledger;
      const [former] = await inHand(ledger, 1);
      await pool.query("update orders set state = 'received', owner = null, fence = new_fence()");
      const [own] = await takeDue(pool);
      if (!former || !own) throw new Error("the order was claimed twice");
      const writer = openOrderWriter(pool, UNCOUNTED);
      const intents = inTurn(own, former) as (typeof own)[];
      const results = await Promise.all(intents.map((each) => writer.intend({ ...each, ...CALL })));
      expect(results.map(({ kind }) => kind)).toEqual(inTurn("recorded", "not ours"));
      const ends = inTurn({ ...own, ...submitted(7) }, { ...former, ...submitted(8) }) as OrderChange[];
      const changed = await Promise.all(ends.map((each) => writer.change(each)));
      expect(changed).toEqual(inTurn(true, false));
      const { rows } = await pool.query("select service_id from calls");
      expect(rows).toEqual([{ service_id: 7 }]);
      const events = await listEvents(pool, own.orderId);
      expect(events.filter(({ kind }) => kind === "submitted")).toHaveLength(1);
    }),
);

test("a claim that the ledger forgot, put back to an older copy, records nothing of the order that came since under its id", () =>
  withLedger(async (ledger) => {
    const { pool } = ledger;
    const { rows: sequences } = await pool.query<{ name: string; last: string | null }>(
      "select quote_ident(sequencename) as name, last_value as last from pg_sequences where schemaname = current_schema()",
    );
    const [forgotten] = await inHand(ledger, 1);
    await pool.query("truncate messages cascade");
    for (const { name, last } of sequences)
      await pool.query("select setval($1, coalesce($2, 1), $2 is not null)", [name, last]);
    const [own] = await inHand(ledger, 1);
    if (!forgotten || !own) throw new Error("the order was claimed twice");
    expect(own.orderId).toBe(forgotten.orderId);
    const writer = openOrderWriter(pool, UNCOUNTED);
    expect((await writer.intend({ ...forgotten, ...CALL })).kind).toBe("not ours");
    expect((await writer.intend({ ...own, ...CALL })).kind).toBe("recorded");
  }));

test("an intent is written behind the change that comes with it, and not for an order in other hands", () =>
  withLedger(async (ledger) => {
    const { pool } = ledger;
    const [mine, lost] = await inHand(ledger, 2);
    if (!mine || !lost) throw new Error("two orders were claimed");
    await pool.query("update orders set fence = new_fence() where id = $1", [lost.orderId]);
    const writer = openOrderWriter(pool, UNCOUNTED);
    const registered = (orderId: number, fence: number) =>
      ({ orderId, fence, call: { end: "made" }, event: { kind: "subject_registered" } }) as const;
    const [at, none] = await Promise.all(
      [mine, lost].map((each) => writer.intend({ ...each, ...CALL }, registered(each.orderId, each.fence))),
    );
    expect(at).toMatchObject({ kind: "recorded", at: expect.any(Date) });
    expect(none).toEqual({ kind: "not ours" });
    expect((await findOrders(pool, "A-0"))[0]).toMatchObject({
      calls: [{ kind: "request", outcome: undefined, knownIds: [4] }],
    });
    expect((await findOrders(pool, "A-1"))[0]).toMatchObject({ calls: [] });
    const kinds = async (id: number) => (await listEvents(pool, id)).map(({ kind }) => kind);
    expect(await kinds(mine.orderId)).toContain("subject_registered");
    expect(await kinds(lost.orderId)).not.toContain("subject_registered");
  }));

test("labels of all steps of a commit are locked together, in order", () =>
  withLedger(async (ledger) => {
    const { pool } = ledger;
    const { rows: labels } = await pool.query<{ label: string; bucket: number }>(
      "select label, hashtext(label) & 63 as bucket from unnest($1::text[]) label order by bucket",
      [["V-1", "V-2"]],
    );
    const [low, high] = labels.map(({ bucket }) => bucket) as [number, number];
    const orders = labels.map(({ label }) =>
      anOrder({ code: label, placerOrderNumber: label, containers: [{ label, description: "vial" }] }),
    );
    await commit(pool, [aRecord(1, orders)]);
    const [first, second] = await takeDue(pool);
    if (!first || !second) throw new Error("two orders were claimed");
    const other = await pool.connect();
    const lock = async (bucket: number) =>
      (
        await other.query<{ is: boolean }>("select pg_try_advisory_xact_lock($1, $2) as is", [
          LABEL_LOCK,
          bucket,
        ])
      ).rows[0]?.is;
    await other.query("begin");
    expect(await lock(low)).toBe(true);
    const writer = openOrderWriter(pool, UNCOUNTED);
    const needsFreeLabels = true;
    const steps = [
      writer.change({ ...first, from: ["submitting"], attempts: 2 }),
      writer.intend({ ...second, ...CALL, needsFreeLabels }),
      writer.intend({ ...first, ...CALL, needsFreeLabels }),
    ] as const;
    await isAwaited(pool);
    const isFree = await lock(high);
    await other.query("commit");
    other.release();
    expect(isFree).toBe(true);
    expect(await Promise.all(steps)).toMatchObject([true, { kind: "recorded" }, { kind: "recorded" }]);
  }));
