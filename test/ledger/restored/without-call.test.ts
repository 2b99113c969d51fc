import type pg from "pg";
import { describe, expect, test } from "vitest";
import { phi } from "../../../src/core/phi.ts";
import { enterRestored } from "../../../src/ledger/restored/restore.ts";
import { findLastCall, findWithoutCall } from "../../../src/ledger/restored/without-call.ts";
import { A_REQUEST, claimNext, recordCall } from "../../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { withLedger } from "../../support/with-ledger.ts";

const WHERE = { facilityId: 12, surface: "request", hasMarks: true } as const;

/** Takes orders of one subject in; gives their ids. */
const take = (pool: pg.Pool, operation: "STORE" | "RETRIEVAL", numbers: readonly string[] = ["A-1"]) =>
  commit(
    pool,
    numbers.map((number, n) => {
      const containers = [{ label: number, description: "" }];
      return aRecord(n + 1, [anOrder({ operation, placerOrderNumber: number, code: "S-1", containers })]);
    }),
  );

/** What the service made, a minute from now where nothing else is said. */
const made = (parts: Partial<Parameters<typeof findWithoutCall>[2][number]> = {}) => ({
  ...{ id: 17, subjectCode: phi("S-1"), type: "RETRIEVAL" as const, marks: [] },
  madeAt: new Date(Date.now() + 60_000),
  ...parts,
});

const find = (pool: pg.Pool, parts: Parameters<typeof made>[0] = {}, where = {}) =>
  findWithoutCall(pool, { ...WHERE, ...where }, [made(parts)]);

/** Writes a call for the next order down. */
async function call(pool: pg.Pool): Promise<void> {
  const { id: orderId, fence } = await claimNext(pool);
  await recordCall(pool, { ...A_REQUEST, orderId, fence });
}

const link = (pool: pg.Pool, orderId: number | undefined, requestId: number) =>
  pool.query("update orders set state = 'submitted', owner = null, request_id = $2 where id = $1", [
    orderId,
    requestId,
  ]);

describe("what was made for a subject without a mark", () => {
  test("since an order of it came that has no call, is a forgotten call's", () =>
    withLedger(async ({ pool }) => {
      await take(pool, "RETRIEVAL");
      expect(await find(pool)).toEqual({ id: 17, why: "made for the subject of o1 since that order came" });
    }));

  test.each<[string, Parameters<typeof made>[0], object?]>([
    ["that was made before the order came", { madeAt: new Date(Date.now() - 60_000) }],
    ["that is of unknown age", { madeAt: undefined }],
    ["that is for another operation", { type: "STORE" }, { hasMarks: false }],
    ["that is for another subject", { subjectCode: phi("S-2") }],
    ["that is at another facility", {}, { facilityId: 13 }],
  ])("says nothing of one %s", (_words, parts, where) =>
    withLedger(async ({ pool }) => {
      await take(pool, "RETRIEVAL");
      expect(await find(pool, parts, where)).toBeUndefined();
    }),
  );

  test("says nothing once the order has a call", () =>
    withLedger(async ({ pool }) => {
      await take(pool, "RETRIEVAL");
      await call(pool);
      expect(await find(pool)).toBeUndefined();
    }));

  test("may be of a neighbour's call while nobody knows what that one made, and not once it is known", () =>
    withLedger(async ({ pool }) => {
      const [first] = await take(pool, "RETRIEVAL", ["A-1", "A-2"]);
      await call(pool);
      expect(await find(pool)).toBeUndefined();
      await link(pool, first, 17);
      expect(await find(pool)).toBeUndefined();
      expect(await find(pool, { id: 18 })).toMatchObject({ id: 18 });
    }));

  test("is of no order that is followed already", () =>
    withLedger(async ({ pool }) => {
      const [id] = await take(pool, "RETRIEVAL");
      await link(pool, id, 16);
      expect(await find(pool)).toBeUndefined();
    }));

  test("counts for a STORE where the site uses no marks, and only there", () =>
    withLedger(async ({ pool }) => {
      await take(pool, "STORE");
      expect(await find(pool, { type: "STORE" })).toBeUndefined();
      expect(await find(pool, { type: "STORE" }, { hasMarks: false })).toMatchObject({ id: 17 });
    }));

  test("was there already when a restore was noticed, unless it was made since", () =>
    withLedger(async ({ pool }) => {
      await take(pool, "RETRIEVAL");
      await pool.query("update orders set received_at = received_at - interval '1 hour'");
      await enterRestored(pool, { text: "put back by the test", epoch: 0, restores: 0, after: 0 });
      expect(await find(pool, { madeAt: new Date(Date.now() - 60_000) })).toBeUndefined();
      expect(await find(pool)).toMatchObject({ id: 17 });
    }));
});

describe("a mark at the service", () => {
  const marksOf = async (pool: pg.Pool) => {
    const { rows } = await pool.query("select o.mark, l.mark_prefix as prefix from ledger l, orders o");
    return rows[0] as { readonly mark: string; readonly prefix: string };
  };
  const store = { type: "STORE" } as const;

  test("of an order that has no call shows a forgotten one, and of one that has a call shows none", () =>
    withLedger(async ({ pool }) => {
      await take(pool, "STORE");
      const { mark } = await marksOf(pool);
      expect(await find(pool, { ...store, marks: [mark] })).toEqual({
        id: 17,
        why: `with the mark [ref ${mark}]`,
      });
      await call(pool);
      expect(await find(pool, { ...store, marks: [mark] })).toBeUndefined();
    }));

  test("that this ledger gave and no order has shows a forgotten order; one of another ledger shows nothing", () =>
    withLedger(async ({ pool }) => {
      await take(pool, "STORE");
      const { prefix } = await marksOf(pool);
      expect(await find(pool, { ...store, marks: [`${prefix}-0000000000`] })).toMatchObject({ id: 17 });
      expect(await find(pool, { ...store, marks: ["????-0000000000"] })).toBeUndefined();
      // One from before is no sign of another restore.
      await enterRestored(pool, { text: "put back by the test", epoch: 0, restores: 0, after: 0 });
      expect(await find(pool, { ...store, marks: [`${prefix}-0000000000`] })).toBeUndefined();
    }));
});

test("the newest call is the last that is known to have been written down, not one that a restore presumes", () =>
  withLedger(async ({ pool }) => {
    const [ledger] = (await pool.query("select created_at as at from ledger")).rows;
    expect(await findLastCall(pool)).toEqual(ledger.at);
    await take(pool, "RETRIEVAL", ["A-1", "A-2"]);
    await call(pool);
    const { rows } = await pool.query("select at from calls");
    await enterRestored(pool, { text: "put back by the test", epoch: 0, restores: 0, after: 0 });
    expect((await pool.query("select from calls where is_presumed")).rowCount).toBe(1);
    expect(await findLastCall(pool)).toEqual(rows[0].at);
  }));
