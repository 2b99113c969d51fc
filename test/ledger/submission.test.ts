import fc from "fast-check";
import type pg from "pg";
import { describe, expect, test } from "vitest";
import { listEvents } from "../../src/ledger/operator/views.ts";
import { discardOrder, resolveOrder, retryOrder } from "../../src/ledger/orders/acts.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { findLaneHolders } from "../../src/ledger/orders/claiming.ts";
import { findDueLooks } from "../../src/ledger/orders/looks.ts";
import { releaseAbandoned } from "../../src/ledger/orders/submission.ts";
import { openCalls, presumeAll } from "../support/calls.ts";
import { isAwaited } from "../support/cut-way.ts";
import { A_REQUEST, claimNext, loseWorker, recordCall, takeDue } from "../support/hand-over.ts";
import { aControl } from "../support/order-control.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";
import { standIn } from "../support/worker.ts";
import { commitOrders, only } from "./submitted-orders.ts";

const DEAD = 7;

const atRequest = (requestId: number) => ({ surface: "request", requestId }) as const;

const OPERATOR = { actor: "test" };

const intend = (pool: pg.Pool, orderId: number, fence: number) =>
  recordCall(pool, { ...A_REQUEST, orderId, fence });

describe("a lane", () => {
  test("gives one order of a subject at a time, the oldest first", () =>
    withLedger(async ({ pool }) => {
      const ids = await commitOrders(pool, ["S", "S", "T", "S"]);
      expect((await takeDue(pool)).map((due) => due.orderId)).toEqual([ids[0], ids[2]]);
      expect(await takeDue(pool)).toEqual([]);
    }));

  test("goes on once the order ahead is submitted", () =>
    withLedger(async ({ pool }) => {
      const [first, second] = await commitOrders(pool, ["S", "S"]);
      const { fence } = await claimNext(pool);
      await changeOrders(pool, [
        {
          orderId: first as number,
          fence,
          to: "submitted",
          request: { surface: "request", requestId: 5 },
          isReleased: true,
        },
      ]);
      expect((await takeDue(pool)).map((due) => due.orderId)).toEqual([second]);
    }));

  test("waits behind an order that waits for its next try", () =>
    withLedger(async ({ pool }) => {
      const [first] = await commitOrders(pool, ["S", "S"]);
      const { fence } = await claimNext(pool);
      await changeOrders(pool, [
        { orderId: first as number, fence, to: "received", nextInMs: 60_000, isReleased: true },
      ]);
      expect(await takeDue(pool)).toEqual([]);
    }));

  test("waits while a later order that overtook it may have a call under way", () =>
    withLedger(async ({ pool }) => {
      const [first, second] = await commitOrders(pool, ["S", "S"]);
      const failure = { code: "SUBJECT_UNKNOWN", text: "" } as const;
      await changeOrders(pool, [{ orderId: first as number, to: "parked", failure }]);
      const { fence } = await claimNext(pool);
      await intend(pool, second as number, fence);
      await retryOrder(pool, await only(pool, "A-1"), OPERATOR);
      expect(await takeDue(pool)).toEqual([]);
      const waiting = [first] as number[];
      const holder = { orderId: `o${second}`, state: "submitting", isLater: true };
      expect([...(await findLaneHolders(pool, waiting, false))]).toEqual([[first, holder]]);
    }));

  test("is held up by a parked order only where the site wants it", () =>
    withLedger(async ({ pool }) => {
      const [first, second] = await commitOrders(pool, ["S", "S"]);
      const failure = { code: "SUBJECT_UNKNOWN", text: "" } as const;
      await changeOrders(pool, [{ orderId: first as number, to: "parked", failure }]);
      expect(await takeDue(pool, { doesParkedBlock: true })).toEqual([]);
      expect((await takeDue(pool)).map((due) => due.orderId)).toEqual([second]);
    }));

  test("never has two orders before their submission, whatever happens to them", () =>
    withLedger(async ({ pool }) => {
      let round = 0;
      await fc.assert(
        fc.asyncProperty(
          fc.array(fc.constantFrom("S", "T", "U"), { minLength: 1, maxLength: 8 }),
          fc.infiniteStream(fc.boolean()),
          async (subjects, coins) => {
            round += 1;
            const orders = subjects.map((code, index) =>
              anOrder({ code: `${code}${round}`, placerOrderNumber: `${round}-${index}` }),
            );
            const ids = await commit(
              pool,
              orders.map((order, index) => aRecord(round * 100 + index, [order])),
            );
            const lane = (id: number) => subjects[ids.indexOf(id)];
            const done: number[] = [];
            while (done.length < ids.length) {
              const taken = await takeDue(pool);
              expect(new Set(taken.map(({ orderId }) => lane(orderId))).size).toBe(taken.length);
              for (const { orderId: id, fence } of taken) {
                const isDone = coins.next().value === true;
                if (isDone) done.push(id);
                await changeOrders(pool, [
                  {
                    orderId: id,
                    fence,
                    to: isDone ? "completed" : "received",
                    nextInMs: 0,
                    isReleased: true,
                  },
                ]);
              }
            }
            const bySubject = Map.groupBy(done, (id) => lane(id));
            for (const order of bySubject.values()) expect(order).toEqual([...order].sort((a, b) => a - b));
          },
        ),
        { numRuns: 8 },
      );
    }));
});

describe("a claim", () => {
  test("takes no order with a lost call", () =>
    withLedger(async ({ pool }) => {
      const [id] = await commitOrders(pool, ["S"]);
      const { fence } = await claimNext(pool, DEAD);
      await intend(pool, id as number, fence);
      await loseWorker(pool, DEAD);
      expect(await takeDue(pool)).toEqual([]);
      expect(await findDueLooks(pool, 10, "others")).toMatchObject([{ orderId: id }]);
    }));

  test("is given to one of many workers, and two of a lane never to two of them", () =>
    withLedger(async ({ pool }) => {
      await commitOrders(pool, ["S", "S", "T"]);
      const claims = await Promise.all(
        Array.from({ length: 8 }, (_, n) => takeDue(pool, { workerId: n + 1, limit: 1 })),
      );
      expect(claims.flat()).toHaveLength(2);
    }));

  test("takes nothing while the queue is paused, nor while a restored ledger has orders to look for", () =>
    withLedger(async ({ pool }) => {
      await commitOrders(pool, ["S", "T"]);
      await pool.query("insert into paused_queues (queue, actor) values ('submit', 'kim')");
      expect(await takeDue(pool)).toEqual([]);
      await pool.query("delete from paused_queues");
      await presumeAll(pool, "o.placer_order_number = 'A-1'");
      expect(await takeDue(pool)).toEqual([]);
    }));

  test("nor does one that nobody has in hand and nobody looks for, however that came about", () =>
    withLedger(async ({ pool }) => {
      const [first, second] = await commitOrders(pool, ["S-1", "S-2"]);
      await openCalls(pool, { where: `o.id = ${second}` });
      await pool.query("update orders set state = 'submitting', owner = null");
      expect(await loseWorker(pool)).toBe(2);
      expect(await takeDue(pool)).toMatchObject([{ orderId: first }]);
      expect(await findDueLooks(pool, 10, "others")).toMatchObject([{ orderId: second }]);
      expect(await loseWorker(pool, DEAD, [])).toBe(1);
    }));

  test("whose worker was taken for dead allows neither a call nor an outcome", () =>
    withLedger(async ({ pool }) => {
      const [id] = await commitOrders(pool, ["S"]);
      const { fence } = await claimNext(pool);
      expect(await loseWorker(pool)).toBe(1);
      expect(await intend(pool, id as number, fence)).toBeUndefined();
      const changed = await changeOrders(pool, [
        { orderId: id as number, fence, to: "parked", failure: { code: "SUBJECT_UNKNOWN", text: "" } },
      ]);
      expect(changed.size).toBe(0);
      expect((await only(pool)).state).toBe("received");
    }));

  test("that was given back and is taken again stays as it is when whoever gave it back says so once more", () =>
    withLedger(async ({ pool }) => {
      const [orderId] = (await commitOrders(pool, ["S"])) as [number];
      const { fence } = await claimNext(pool);
      const giveBack = {
        orderId,
        fence,
        to: "received",
        attempts: 1,
        nextInMs: 0,
        isReleased: true,
      } as const;
      expect((await changeOrders(pool, [giveBack])).size).toBe(1);
      const again = await claimNext(pool, 2);
      expect((await changeOrders(pool, [giveBack])).size).toBe(0);
      expect(await intend(pool, orderId, again.fence)).toBeDefined();
    }));

  test("that its worker gave up is taken back at once", () =>
    withLedger(async ({ pool }) => {
      await commitOrders(pool, ["S"]);
      const { id, leave } = await standIn(pool);
      const { fence } = await claimNext(pool, id);
      expect(await loseWorker(pool, id, [fence])).toBe(0);
      expect(await loseWorker(pool, id, [])).toBe(1);
      await leave();
    }));
});

describe("after a crash", () => {
  test("orders without a call wait for their turn again", () =>
    withLedger(async ({ pool }) => {
      await commitOrders(pool, ["S", "T"]);
      await claimNext(pool, DEAD);
      expect(await takeDue(pool)).toHaveLength(1);
      expect(await loseWorker(pool)).toBe(2);
      expect(await takeDue(pool)).toHaveLength(2);
    }));

  test("orders whose call may have left are looked for, and not sent", () =>
    withLedger(async ({ pool }) => {
      const [id] = await commitOrders(pool, ["S"]);
      const { fence } = await claimNext(pool, DEAD);
      await intend(pool, id as number, fence);
      expect(await loseWorker(pool, DEAD)).toBe(1);
      expect(await takeDue(pool)).toEqual([]);
      expect(await findDueLooks(pool, 10, "others")).toMatchObject([{ orderId: id }]);
    }));

  test("a later order of the same lane waits until the lost call is settled", () =>
    withLedger(async ({ pool }) => {
      const [id] = await commitOrders(pool, ["S", "S"]);
      const { fence } = await claimNext(pool, DEAD);
      await intend(pool, id as number, fence);
      await loseWorker(pool, DEAD);
      expect(await takeDue(pool)).toEqual([]);
    }));

  test.each([
    ["ends with a person", "parked", async () => undefined],
    [
      "goes on where one came to its end in between",
      "received",
      async (pool: pg.Pool) => {
        const { id: orderId, fence } = await claimNext(pool);
        const again = { to: "received", nextInMs: 0, isReleased: true, event: { kind: "again" } } as const;
        await changeOrders(pool, [{ orderId, fence, ...again }]);
      },
    ],
    [
      "goes on where the lab has it ask for something else in between",
      "received",
      (pool: pg.Pool) => {
        const content = anOrder({ code: "S", containers: [{ label: "V-2", description: "straw" }] });
        const its = { placerOrderNumber: "A-1", subjectCode: content.subject.code, content };
        return commit(pool, [aControl(2, "change", [its])]);
      },
    ],
  ] as const)("an order whose attempts are all interrupted %s", (_how, state, between) =>
    withLedger(async ({ pool }) => {
      const [orderId] = await commitOrders(pool, ["S"]);
      const interrupt = async (times: number) => {
        for (let n = 0; n < times; n += 1) {
          await claimNext(pool, DEAD);
          await loseWorker(pool, DEAD);
        }
      };
      await interrupt(19);
      await between(pool);
      await interrupt(1);
      const code = state === "parked" ? "ORDER_TRIED_TOO_OFTEN" : undefined;
      const order = await only(pool);
      expect({ ...order, code: order.failure?.code }).toMatchObject({ id: orderId, state, code });
      if (state !== "parked") await interrupt(19);
      expect((await only(pool)).state).toBe("parked");
    }),
  );

  test("two that take over at once count one interruption", () =>
    withLedger(async ({ pool }) => {
      const [id] = await commitOrders(pool, ["S"]);
      const { fence } = await claimNext(pool, DEAD);
      await intend(pool, id as number, fence);
      const first = await pool.connect();
      await first.query("begin");
      expect(await releaseAbandoned(first, DEAD)).toBe(1);
      const second = loseWorker(pool, DEAD);
      await isAwaited(pool);
      await first.query("commit");
      first.release();
      expect(await second).toBe(0);
      const { rowCount } = await pool.query("select from order_events where kind = 'interrupted'");
      expect(rowCount).toBe(1);
    }));
});

describe("a person", () => {
  test("has a parked order whose call may have left looked for before it is sent again", () =>
    withLedger(async ({ pool }) => {
      const [id] = await commitOrders(pool, ["S"]);
      const { fence } = await claimNext(pool);
      await intend(pool, id as number, fence);
      const failure = { code: "SUBMIT_UNCERTAIN", text: "" } as const;
      await changeOrders(pool, [{ orderId: id as number, fence, to: "parked", failure, isReleased: true }]);
      expect(await retryOrder(pool, await only(pool), OPERATOR)).toBe("done");
      expect(await only(pool)).toMatchObject({
        state: "submitting",
        calls: [{ kind: "request", surface: "request", outcome: undefined, isApproved: true }],
      });
      expect(await findDueLooks(pool, 10, "others")).toHaveLength(1);
    }));

  test("links a parked order to a request found by hand, which no other order may have", () =>
    withLedger(async ({ pool }) => {
      const ids = await commitOrders(pool, ["S", "T"]);
      const failure = { code: "SUBMIT_UNCERTAIN", text: "" } as const;
      await changeOrders(
        pool,
        ids.map((orderId) => ({ orderId, to: "parked" as const, failure })),
      );
      expect(await resolveOrder(pool, await only(pool, "A-1"), atRequest(77), OPERATOR)).toBe("done");
      expect(await only(pool, "A-1")).toMatchObject({
        state: "submitted",
        requestId: 77,
        failure: undefined,
      });
      await expect(
        resolveOrder(pool, await only(pool, "A-2"), atRequest(77), OPERATOR),
      ).rejects.toMatchObject({
        code: "REQUEST_CLAIMED",
      });
    }));

  test("links an order to what a call for something else made, of which the subject is asked for again", () =>
    withLedger(async ({ pool }) => {
      await commitOrders(pool, ["S"]);
      await openCalls(pool, { set: "mark = 'former', subject_id = 9" });
      await pool.query("update orders set state = 'parked', failure_code = 'SUBMIT_UNCERTAIN'");
      expect(await resolveOrder(pool, await only(pool), atRequest(77), OPERATOR)).toBe("done");
      expect(await only(pool)).toMatchObject({
        calls: [{ mark: "former", outcome: "made", serviceId: 77 }],
        submittedAt: expect.any(Date),
        subjectId: undefined,
      });
    }));

  test("can't discard an order that the service is working on", () =>
    withLedger(async ({ pool }) => {
      const [id] = await commitOrders(pool, ["S"]);
      const { fence } = await claimNext(pool);
      const request = { surface: "request", requestId: 5 } as const;
      await changeOrders(pool, [
        { orderId: id as number, fence, to: "submitted", request, isReleased: true },
      ]);
      expect(await discardOrder(pool, await only(pool), { ...OPERATOR, reason: "x" })).toBe("not applicable");
    }));

  test("is asked for a reason to discard an order that the service may have all the same", () =>
    withLedger(async ({ pool }) => {
      const [id] = await commitOrders(pool, ["S"]);
      const { fence } = await claimNext(pool);
      await intend(pool, id as number, fence);
      const failure = { code: "SUBMIT_UNCERTAIN", text: "" } as const;
      await changeOrders(pool, [{ orderId: id as number, fence, to: "parked", failure, isReleased: true }]);
      expect(await discardOrder(pool, await only(pool), OPERATOR)).toBe("reason wanted");
      expect(await discardOrder(pool, await only(pool), { ...OPERATOR, reason: "asked the facility" })).toBe(
        "done",
      );
    }));

  test("is asked for a reason as well where what it may have is of a call before the order was changed, or forgotten", () =>
    withLedger(async ({ pool }) => {
      const parked = (code: string) =>
        pool.query("update orders set state = 'parked', failure_code = $1", [code]);
      const standings: Record<string, () => Promise<unknown>> = {
        "reopened since": async () => {
          await openCalls(pool, { set: "mark = 'former'" });
          await parked("SUBMIT_UNCERTAIN");
        },
        forgotten: async () => {
          await presumeAll(pool);
          await parked("SUBMIT_FORGOTTEN_REQUEST");
        },
      };
      for (const [standing, enter] of Object.entries(standings)) {
        await pool.query("truncate messages, orders, outcomes restart identity cascade");
        await commitOrders(pool, ["S"]);
        await enter();
        expect(await discardOrder(pool, await only(pool), OPERATOR), standing).toBe("reason wanted");
        expect(await discardOrder(pool, await only(pool), { ...OPERATOR, reason: "asked" })).toBe("done");
        expect((await only(pool)).failure?.text).toContain("may have the request and do it anyway");
      }
    }));

  test("acts on the order as it is now, not as it was when it was looked at", () =>
    withLedger(async ({ pool }) => {
      const [id] = await commitOrders(pool, ["S"]);
      const failure = { code: "SUBMIT_UNCERTAIN", text: "" } as const;
      await changeOrders(pool, [{ orderId: id as number, to: "parked", failure }]);
      const seen = await only(pool);
      await retryOrder(pool, seen, OPERATOR);
      const { fence } = await claimNext(pool);
      await intend(pool, id as number, fence);
      await changeOrders(pool, [{ orderId: id as number, fence, to: "parked", failure, isReleased: true }]);
      await retryOrder(pool, seen, OPERATOR);
      expect(await only(pool)).toMatchObject({ state: "submitting", calls: [{ outcome: undefined }] });
    }));

  test("who links an order to another request has it followed by that one's procedure", () =>
    withLedger(async ({ pool }) => {
      const [id] = await commitOrders(pool, ["S"]);
      const { fence } = await claimNext(pool);
      const request = { surface: "request", requestId: 5 } as const;
      await changeOrders(pool, [
        { orderId: id as number, fence, to: "submitted", request, procedureId: 66, isReleased: true },
      ]);
      const failure = { code: "REQUEST_MISMATCH", text: "" } as const;
      await changeOrders(pool, [{ orderId: id as number, to: "parked", failure }]);
      await resolveOrder(pool, await only(pool), atRequest(4242), OPERATOR);
      expect(await only(pool)).toMatchObject({ requestId: 4242, procedureId: undefined });
    }));

  test("leaves a trace of each act in the timeline and the audit", () =>
    withLedger(async ({ pool }) => {
      const [id] = await commitOrders(pool, ["S"]);
      await discardOrder(pool, await only(pool), { actor: "kim", reason: "sent by mistake" });
      expect((await listEvents(pool, id as number)).map((event) => event.kind)).toEqual([
        "received",
        "discarded",
      ]);
      const { rows } = await pool.query("select actor, action, target from audit");
      expect(rows).toEqual([{ actor: "kim", action: "discard", target: `o${id}` }]);
    }));
});

test("history can't be rewritten", () =>
  withLedger(async ({ pool }) => {
    await commitOrders(pool, ["S"]);
    await expect(pool.query("update order_events set kind = 'x'")).rejects.toThrow("append-only");
  }));
