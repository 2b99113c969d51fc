import pg from "pg";
import { expect, test } from "vitest";
import { phi } from "../../../src/core/phi.ts";
import { GO_BY_INDEX } from "../../../src/ledger/database.ts";
import { FIND_DUE } from "../../../src/ledger/due.ts";
import { openOrderWriter } from "../../../src/ledger/order-writer.ts";
import { retryOrder } from "../../../src/ledger/orders/acts.ts";
import { answerCancel, cancelOrder, sendCancel } from "../../../src/ledger/orders/cancellations.ts";
import { changeOrders } from "../../../src/ledger/orders/change.ts";
import { CLAIM_DUE, LANE_HOLDERS } from "../../../src/ledger/orders/claiming.ts";
import { findClaimed, findKnownMarks, findLinkedOf } from "../../../src/ledger/orders/known-at-service.ts";
import { findLabelHolders } from "../../../src/ledger/orders/label-subjects.ts";
import {
  DUE_LOOKS,
  findDueLooks,
  findOtherCalls,
  postponeLook,
  recordLook,
} from "../../../src/ledger/orders/looks.ts";
import { type LedgerOrder, readOrders } from "../../../src/ledger/orders/row.ts";
import { findMatches, isEarlierStoreThere } from "../../../src/ledger/orders/same-containers.ts";
import { findCallInHand } from "../../../src/ledger/orders/submission.ts";
import { findDueTracked, postponeTracked, postponeUnread } from "../../../src/ledger/orders/tracking.ts";
import { findDueConnectors, findProbe, listDueDeliveries } from "../../../src/ledger/results/deliveries.ts";
import { findOpenConnectors, listOpenOutcomes } from "../../../src/ledger/results/outcomes.ts";
import { withSurroundings } from "../../../src/operator/surroundings.ts";
import { A_REQUEST, claimNext, loseWorker, UNCOUNTED } from "../../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../../support/orders.ts";
import { withLedger } from "../../support/with-ledger.ts";

/** Those that are asked with {@link GO_BY_INDEX}. */
const BY_INDEX = [CLAIM_DUE, DUE_LOOKS, LANE_HOLDERS];
const BY = { actor: "kim", reason: "the ward rang" };
/** More pages than any of these may read, and fewer than a table has rows. */
const MOST_PAGES = 500;

/** Twelve orders of as many subjects. */
const commitTwelve = (pool: pg.Pool) =>
  commit(
    pool,
    Array.from({ length: 12 }, (_, n) => {
      const containers = [{ label: `V-${n}`, description: "straw" }];
      return aRecord(n + 1, [anOrder({ code: `S-${n}`, placerOrderNumber: `A-${n}`, containers })]);
    }),
  );

/** What is asked of a ledger on the way of orders, of lost calls, of cancellations and of results: each statement with its values. */
async function gatherStatements(): Promise<ReadonlyMap<string, readonly unknown[]>> {
  const sent = new Map<string, readonly unknown[]>();
  const { prototype } = pg.Client;
  const { query } = prototype;
  const listen = (given: readonly unknown[]) => {
    const [first, second] = given;
    const { text, values } = (typeof first === "object" ? first : { text: first, values: second }) as {
      readonly text?: unknown;
      readonly values?: readonly unknown[];
    };
    if (typeof text === "string" && Array.isArray(values) && !sent.has(text)) sent.set(text, values);
  };
  await withLedger(async ({ pool }) => {
    const ids = await commitTwelve(pool);
    prototype.query = function (this: pg.Client, ...given: unknown[]) {
      listen(given);
      return Reflect.apply(query, this, given);
    } as typeof query;
    try {
      await goAllTheWay(pool, ids);
    } finally {
      prototype.query = query;
    }
  });
  return sent;
}

async function goAllTheWay(pool: pg.Pool, ids: readonly number[]): Promise<void> {
  const writer = openOrderWriter(pool, UNCOUNTED);
  const claim = () => claimNext(pool);
  const call = async (order: LedgerOrder & { fence: number }) => {
    const mine = { orderId: order.id, fence: order.fence };
    await writer.intend({ ...A_REQUEST, ...mine, needsFreeLabels: true });
    return mine;
  };
  await findMatches(pool, ids);
  await findLabelHolders(pool, ids);
  await isEarlierStoreThere(pool, ids[0] as number, ["V-0"], 0);
  const read = (await readOrders(pool, ids)).map((order) => ({ ...order, id: order.id }));
  await withSurroundings({ pool, nowMs: Date.now(), config: { lanes: { parkedBlocks: false } } }, read);
  for (const requestId of [101, 102]) {
    const mine = await call(await claim());
    await findCallInHand(pool, mine.orderId, mine.fence);
    await writer.change({
      ...{ ...mine, to: "submitted", request: { surface: "request", requestId }, call: { end: "made" } },
      ...{ nextInMs: 0, isReleased: true, isReported: true, event: { kind: "submitted" } },
      containers: [{ position: 1, containerId: 5 }],
    });
  }
  await call(await claim());
  await claim();
  await loseWorker(pool);
  const [due] = await findDueLooks(pool, 20, "others");
  if (due === undefined) throw new Error("no look is due");
  await postponeLook(pool, due.callId, { ms: 0, hasFailed: true });
  await findOtherCalls(pool, due.orderId, due.callId);
  await findClaimed(pool, "request", [5], 1);
  await findClaimed(pool, "external", [5], 1);
  await findKnownMarks(pool, ["M"]);
  await findLinkedOf(pool, { facilityId: 12, subject: { code: phi("S-1") } }, "request");
  const [lost] = (await readOrders(pool, [due.orderId])) as [LedgerOrder];
  const undone = { to: "received", call: { end: "nothing", lookInMs: 0 }, nextInMs: 0 } as const;
  await recordLook(pool, lost, { ...undone, event: { kind: "reconciled" } });
  await retryOrder(pool, lost, BY);
  const [first, second] = await findDueTracked(pool, { facilityId: 12, aheadMs: 0, limit: 10 });
  if (first === undefined || second === undefined) throw new Error("two orders are not due");
  await postponeTracked(pool, [{ orderId: first.id, intervalMs: 1_000 }]);
  await postponeUnread(pool, [first.id], 10);
  await changeOrders(pool, [{ orderId: first.id, to: "completed", isReported: true }]);
  await cancelOrder(pool, second.id, BY, new Set(["request"]));
  const [cancel] = await findDueLooks(pool, 20, "cancels");
  if (cancel === undefined) throw new Error("no call to cancel is planned");
  await sendCancel(pool, { ...cancel, workerId: 1 }, 5);
  const refused = { code: "SERVICE_REFUSED", text: "" } as const;
  await answerCancel(pool, cancel.orderId, { callId: cancel.callId, end: "refused", failure: refused });
  await findOpenConnectors(pool);
  await listOpenOutcomes(pool, "lims", 10);
  await findDueConnectors(pool, ["lims"]);
  await listDueDeliveries(pool, "lims", 10);
  await findProbe(pool, "lims");
}

/** Three thousand orders more, hardly any of which is in hand or waits for its lab. */
const FILL = [
  `insert into orders (message_id, position, connector, operation, facility_code, facility_id, subject_code, subject, sources,
                       content_digest, state, request_id)
   select o.message_id, n + 1, o.connector, o.operation, o.facility_code, o.facility_id, 'T-' || n, '{}', '{}', '',
          case when n % 100 = 0 then 'submitting' when n % 3 = 0 then 'received' else 'completed' end, case when n % 3 > 0 then 1000 + n end
     from (select * from orders order by id limit 1) o, generate_series(1, 3000) n`,
  `insert into order_containers (order_id, position, label, description, lane)
   select id, 1, 'W-' || id, 'straw', facility_id || '/' || subject_code from orders on conflict do nothing`,
  `insert into calls (order_id, kind, surface, mark, worker_id, body, outcome, ended_at, service_id, look_at)
   select id, 'request', 'request', mark, 1, '{}', case when state = 'completed' then 'made' end,
          case when state = 'completed' then now() end, request_id, case when state = 'submitting' then now() end
     from orders
    where state <> 'received'`,
  "insert into order_events (order_id, kind, to_state) select id, 'received', 'received' from orders, generate_series(1, 3)",
  `insert into outcomes (connector, message_id, order_id, kind, payload, is_composed)
   select connector, message_id, id, 'changed', '{}', id % 100 > 0 from orders`,
  `insert into deliveries (connector, file_name, bytes, state)
   select connector, id || '.hl7', 'x', case when id % 100 = 0 then 'pending' else 'dropped' end from orders`,
];

const literal = (value: unknown): string => {
  if (value === null || value === undefined) return "null";
  if (Array.isArray(value)) return pg.escapeLiteral(`{${value.map(String).join(",")}}`);
  return pg.escapeLiteral(typeof value === "object" ? JSON.stringify(value) : String(value));
};

test("what is asked on an order's way goes by keys where it was planned before there was anything to read", async () => {
  const statements = [...(await gatherStatements())];
  expect(statements.length).toBeGreaterThan(40);
  await withLedger(async ({ pool }) => {
    const client = await pool.connect();
    try {
      await client.query("set plan_cache_mode = force_generic_plan");
      const tryOut = async (text: string, statement: string) => {
        await client.query(BY_INDEX.includes(text) ? `begin; ${GO_BY_INDEX}` : "begin");
        // What a row of another test's values refuses is planned as well.
        const result = await client.query(statement).catch(() => undefined);
        await client.query("rollback");
        return result;
      };
      const executes = new Map<string, string>();
      for (const [n, [text, values]] of statements.entries()) {
        await client.query(`prepare s${n} as ${text}`);
        const execute = `execute s${n}${values.length === 0 ? "" : ` (${values.map(literal).join(", ")})`}`;
        await tryOut(text, execute);
        executes.set(text, execute);
      }
      await commitTwelve(pool);
      for (const statement of FILL) await pool.query(statement);
      const dear: unknown[] = [];
      for (const [text, execute] of executes) {
        const explained = await tryOut(text, `explain (analyze, buffers, format json) ${execute}`);
        const plan = explained?.rows[0]["QUERY PLAN"][0].Plan;
        const pages = plan === undefined ? 0 : plan["Shared Hit Blocks"] + plan["Shared Read Blocks"];
        if (pages > MOST_PAGES) dear.push({ text, pages });
      }
      expect(dear).toEqual([]);
    } finally {
      client.release(true);
    }
  });
}, 180_000);

/** Of a few rows for good, which change all the time. */
const SMALL = [
  ...["migrations", "ledger", "workers", "service_pause", "paused_queues", "result_numbers"],
  ...["alerts", "alert_silences", "alert_messages", "audit", "audit_chain"],
  ...["refill_subscriptions", "tanks", "refills", "refill_counts"],
];

test("no table that grows is counted before there is something in it, from when on it would be read whole", () =>
  withLedger(async ({ pool }) => {
    const { rows } = await pool.query<{ name: string }>(
      `select relname as name
         from pg_class
        where relnamespace = 'cryobridge'::regnamespace
          and relkind = 'r'
          and not coalesce(reloptions @> '{autovacuum_analyze_threshold=2000,autovacuum_vacuum_threshold=2000}', false)`,
    );
    expect(rows.map(({ name }) => name).sort()).toEqual([...SMALL].sort());
  }));

test("twenty thousand orders that are put off cost a look at what is due a part of an index, and none of their rows", () =>
  withLedger(async ({ pool }) => {
    await commitTwelve(pool);
    await pool.query(
      `insert into orders (message_id, position, connector, operation, facility_code, facility_id, subject_code, subject, sources,
                           content_digest, next_at)
       select o.message_id, n + 1, o.connector, o.operation, o.facility_code, o.facility_id, 'T-' || n, '{}', '{}', '',
              now() + interval '1 hour'
         from (select * from orders order by id limit 1) o, generate_series(1, 20000) n`,
    );
    for (const due of [0, 10]) {
      const highest = "(select max(id) from orders)";
      await pool.query(
        `update orders set next_at = now() + case when id > ${highest} - $1 then -1 else 1 end * interval '1 hour'
          where id < 13 or id > ${highest} - $1`,
        [due],
      );
      const { rows } = await pool.query(`explain (analyze, buffers, format json) ${FIND_DUE}`, [["lims"]]);
      const { Plan: plan } = rows[0]["QUERY PLAN"][0];
      expect(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]).toBeLessThan(300);
    }
  }));
