import fc from "fast-check";
import type pg from "pg";
import { expect, test } from "vitest";
import { inTransaction } from "../../../src/ledger/database.ts";
import { recordCalls } from "../../../src/ledger/orders/calls.ts";
import { changeOrders } from "../../../src/ledger/orders/change.ts";
import { findHandedOver, putBack, takeWaiting } from "../../../src/ledger/orders/handing-over.ts";
import type { LedgerOrder } from "../../../src/ledger/orders/row.ts";
import { claimBatch, releaseAbandoned } from "../../../src/ledger/orders/submission.ts";
import { A_REQUEST, lead } from "../../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { withLedger } from "../../support/with-ledger.ts";

const WORKERS = [1, 2, 3];
const worker = fc.constantFrom(...WORKERS);
/** What may happen at any moment, in any sequence; `pick` chooses among what there is. */
const step = fc.oneof(
  fc.record({ kind: fc.constant("lead" as const), worker }),
  // Both believe to lead and hand over at the same moment, in which a person retries what is parked.
  fc.record({ kind: fc.constant("handOver" as const), first: worker, second: worker }),
  fc.record({ kind: fc.constant("claim" as const), worker, pick: fc.nat() }),
  fc.record({ kind: fc.constant("intend" as const), worker, pick: fc.nat() }),
  fc.record({
    kind: fc.constant("finish" as const),
    worker,
    pick: fc.nat(),
    to: fc.constantFrom("completed" as const, "received" as const, "parked" as const),
  }),
  fc.record({ kind: fc.constant("lose" as const), worker }),
  fc.constant({ kind: "loseJobs" as const }),
);

const IN_HAND = `
select o.lane, count(*)::integer as orders
  from orders o
 where o.state = 'queued'
    or (o.state = 'submitting' and o.owner is not null)
 group by o.lane
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
        const batches: number[] = [];
        const inHand = new Map<number, LedgerOrder[]>(WORKERS.map((id) => [id, []]));
        for (const each of steps) {
          await act(pool, each, batches, inHand);
          expect((await pool.query(IN_HAND)).rows).toEqual([]);
        }
      }),
      { numRuns: 25 },
    );
  }));

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function act(
  pool: pg.Pool,
  each: Step,
  batches: number[],
  inHand: Map<number, LedgerOrder[]>,
): Promise<void> {
  switch (each.kind) {
    case "lead":
      await lead(pool, each.worker);
      return;
    case "handOver": {
      const take = (leader: number) => takeWaiting(pool, { leader, limit: 2, doesParkedBlock: false });
      const retry = () =>
        pool.query("update orders set state = 'received', failure_code = null where state = 'parked'");
      const [, ...taken] = await Promise.all([retry(), take(each.first), take(each.second)]);
      batches.push(...taken.flatMap((batch) => (batch ? [batch.batch] : [])));
      return;
    }
    case "claim": {
      const batch = batches[each.pick % Math.max(1, batches.length)];
      if (batch !== undefined) inHand.get(each.worker)?.push(...(await claimBatch(pool, batch, each.worker)));
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
    case "loseJobs":
      await putBack(pool, await findHandedOver(pool, { olderThanMs: 0, limit: 100 }));
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
