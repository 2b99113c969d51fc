import type pg from "pg";
import { describe, expect, test } from "vitest";
import type { KeptAnswer } from "../../src/core/failures.ts";
import { phi } from "../../src/core/phi.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { listOrderAnswers, MOST_ANSWERS } from "../../src/ledger/orders/service-answers.ts";
import { forgetOld } from "../../src/ledger/prune.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

const anAnswer = (body: string, parts: Partial<KeptAnswer> = {}): KeptAnswer => ({
  method: "POST",
  route: "/api/procedure-requests",
  status: 422,
  shape: "json",
  contentType: "application/json",
  errorCode: "CONFLICT",
  body: phi(body),
  ...parts,
});

async function commitOne(pool: pg.Pool): Promise<number> {
  const [id] = await commit(pool, [aRecord(1, [anOrder()])]);
  if (id === undefined) throw new Error("no order was committed");
  return id;
}

/** A step of the order that failed with this answer. */
const fail = (pool: pg.Pool, orderId: number, answer: KeptAnswer) =>
  changeOrders(pool, [
    { orderId, from: ["received"], failure: { code: "SERVICE_REFUSED", text: "refused" }, answer },
  ]);

describe("answers of the service", () => {
  test("are kept with their order, in the order in which they came", () =>
    withLedger(async ({ pool }) => {
      const id = await commitOne(pool);
      await fail(pool, id, anAnswer('{"a": 1}'));
      await fail(
        pool,
        id,
        anAnswer("", { status: 502, shape: "empty", errorCode: undefined, body: undefined }),
      );
      const answers = await listOrderAnswers(pool, id);
      expect(answers.map(({ body, ...answer }) => ({ ...answer, body: body?.reveal() }))).toEqual([
        {
          firstAt: expect.any(Date),
          lastAt: expect.any(Date),
          times: 1,
          method: "POST",
          route: "/api/procedure-requests",
          status: 422,
          shape: "json",
          contentType: "application/json",
          errorCode: "CONFLICT",
          failureCode: "SERVICE_REFUSED",
          body: '{"a": 1}',
        },
        expect.objectContaining({ status: 502, shape: "empty", errorCode: undefined, body: undefined }),
      ]);
    }));

  test("that come again in a row are counted, so that they don't push others out", () =>
    withLedger(async ({ pool }) => {
      const id = await commitOne(pool);
      await fail(pool, id, anAnswer("first"));
      for (let n = 10; n < 40; n += 1)
        await fail(
          pool,
          id,
          anAnswer(`again at 2026-11-28T10:00:${n}.5Z, trace 4bf92f3577b34da6a3ce929d0e0e47${n}`),
        );
      expect((await listOrderAnswers(pool, id)).map(({ body, times }) => [body?.reveal(), times])).toEqual([
        ["first", 1],
        [expect.stringContaining("10:00:39.5Z"), 30],
      ]);
    }));

  test("are bounded for each order: the newest stay", () =>
    withLedger(async ({ pool }) => {
      const id = await commitOne(pool);
      for (let n = 1; n <= MOST_ANSWERS + 3; n += 1) await fail(pool, id, anAnswer(`answer ${n}`));
      const bodies = (await listOrderAnswers(pool, id)).map(({ body }) => body?.reveal());
      expect(bodies).toHaveLength(MOST_ANSWERS);
      expect(bodies.at(0)).toBe("answer 4");
      expect(bodies.at(-1)).toBe(`answer ${MOST_ANSWERS + 3}`);
    }));

  test("are not kept when the change is refused because the order has moved on", () =>
    withLedger(async ({ pool }) => {
      const id = await commitOne(pool);
      const changed = await changeOrders(pool, [
        {
          orderId: id,
          from: ["submitting"],
          failure: { code: "SERVICE_REFUSED", text: "refused" },
          answer: anAnswer("late"),
        },
      ]);
      expect(changed.size).toBe(0);
      expect(await listOrderAnswers(pool, id)).toEqual([]);
    }));

  test("are forgotten with the patient's data of their order, never while it is open", () =>
    withLedger(async ({ pool }) => {
      const id = await commitOne(pool);
      await fail(pool, id, anAnswer("x"));
      await pool.query("update orders set changed_at = now() - interval '3 days' where id = $1", [id]);
      await forgetOld(pool, { messagesMs: 86_400_000, ordersMs: 86_400_000 }, 100);
      expect(await listOrderAnswers(pool, id)).toHaveLength(1);
      await pool.query("update orders set state = 'discarded' where id = $1", [id]);
      // By its count it is known whether there may be more.
      const pruned = await forgetOld(pool, { messagesMs: 86_400_000, ordersMs: 86_400_000 }, 100);
      expect(pruned).toMatchObject({ orders: 1, answers: 1 });
      expect(await listOrderAnswers(pool, id)).toEqual([]);
    }));
});
