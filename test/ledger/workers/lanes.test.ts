import fc from "fast-check";
import type pg from "pg";
import { expect, test } from "vitest";
import { inTransaction } from "../../../src/ledger/database.ts";
import { changeOrders } from "../../../src/ledger/orders/change.ts";
import { claimDue } from "../../../src/ledger/orders/claiming.ts";
import { recordCalls } from "../../../src/ledger/orders/new-calls.ts";
import type { LedgerOrder } from "../../../src/ledger/orders/row.ts";
import { releaseAbandoned } from "../../../src/ledger/orders/submission.ts";
import { A_REQUEST } from "../../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { withLedger } from "../../support/with-ledger.ts";

const WORKERS = [1, 2, 3];
const worker = fc.constantFrom(...WORKERS);
/** What may happen at any moment, in any sequence; `pick` chooses among what there is. */
const step = fc.oneof(
  // All take orders at the same moment, in which a person retries what is parked.
  fc.record({ kind: fc.constant("claim" as const), limit: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constant("intend" as const), worker, pick: fc.nat() }),
  fc.record({
    kind: fc.constant("finish" as const),
    worker,
    pick: fc.nat(),
    to: fc.constantFrom("completed" as const, "received" as const, "parked" as const),
  }),
  fc.record({ kind: fc.constant("lose" as const), worker }),
  // The worker has forgotten what it had in hand, as one whose claim was not answered.
  fc.record({ kind: fc.constant("sweep" as const), worker }),
);

const IN_HAND = `
select o.subject_code, count(*)::integer as orders
  from orders o
 where o.state = 'submitting'
   and o.owner is not null
 group by o.facility_id, o.subject_code
having count(*) > 1`;

test("whatever workers do and whoever is lost, a lane has one order in hand, and one worker an order", () =>
  withLedger(async ({ pool }) => {
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        round += 1;
        await pool.query(
          "update orders set state = 'discarded', owner = null where state not in ('completed', 'discarded')",
        );
        await commitLanes(pool, round);
        await pool.query("delete from workers");
        for (const id of WORKERS) await enter(pool, id);
        const inHand = new Map<number, LedgerOrder[]>(WORKERS.map((id) => [id, []]));
        for (const each of steps) {
          await act(pool, each, inHand);
          expect((await pool.query(IN_HAND)).rows).toEqual([]);
        }
      }),
      { numRuns: 12 },
    );
  }));

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function act(pool: pg.Pool, each: Step, inHand: Map<number, LedgerOrder[]>): Promise<void> {
  switch (each.kind) {
    case "claim": {
      const retry = () =>
        pool.query("update orders set state = 'received', failure_code = null where state = 'parked'");
      const take = async (workerId: number) => {
        const taken = await claimDue(pool, { workerId, limit: each.limit, doesParkedBlock: false });
        inHand.get(workerId)?.push(...taken);
      };
      await Promise.all([retry(), ...WORKERS.map(take)]);
      return;
    }
    case "intend": {
      const order = pick(inHand.get(each.worker), each.pick);
      if (!order) return;
      await recordCalls(pool, [{ ...A_REQUEST, orderId: order.id, fence: order.fence as number }]);
      return;
    }
    case "finish": {
      const mine = inHand.get(each.worker) ?? [];
      const order = pick(mine, each.pick);
      if (!order) return;
      mine.splice(mine.indexOf(order), 1);
      const common = {
        orderId: order.id,
        fence: order.fence,
        isReleased: true,
        call: { end: "nothing" },
      } as const;
      const failure = each.to === "parked" ? ({ code: "SUBJECT_UNKNOWN", text: "" } as const) : undefined;
      await changeOrders(pool, [{ ...common, to: each.to, failure, nextInMs: 0 }]);
      return;
    }
    case "lose":
      await pool.query("update workers set ended_at = now(), ended_as = 'lost' where id = $1", [each.worker]);
      await inTransaction(pool, (client) => releaseAbandoned(client, 0));
      await pool.query("update workers set ended_at = null, ended_as = null where id = $1", [each.worker]);
      return;
    case "sweep":
      inHand.set(each.worker, []);
      await inTransaction(pool, (client) => releaseAbandoned(client, each.worker, []));
  }
}

const pick = <T>(from: readonly T[] | undefined, nth: number): T | undefined =>
  from?.[nth % Math.max(1, from.length)];

/** Two subjects with three orders each. */
async function commitLanes(pool: pg.Pool, round: number): Promise<void> {
  const orders = Array.from({ length: 6 }, (_, n) =>
    anOrder({ code: `S${round}-${n % 2}`, placerOrderNumber: `${round}-${n}` }),
  );
  await commit(
    pool,
    orders.map((order, n) => aRecord(round * 100 + n, [order])),
  );
}

const enter = (pool: pg.Pool, id: number) =>
  pool.query(
    "insert into workers (id, name, host, pid, version, roles, connectors) values ($1, 'w', 'h', 1, '1', '{worker}', '{}')",
    [id],
  );
