import pg from "pg";
import { expect, test } from "vitest";
import { ledgerView } from "../../src/app/console.ts";
import { systemClock } from "../../src/core/clock.ts";
import { listMessages } from "../../src/ledger/messages/views.ts";
import { findLastMessages, findTakers, readActivity } from "../../src/ledger/operator/activity.ts";
import { countQueueWork } from "../../src/ledger/operator/queues.ts";
import { listOpenTasks, listOrderTasks } from "../../src/ledger/operator/tasks.ts";
import {
  listDeliveries,
  listOpenDeliveries,
  listOrders,
  listWaitingOrders,
  searchOrders,
} from "../../src/ledger/operator/views.ts";
import { readStatus } from "../../src/standing/status.ts";
import { fillLedger } from "../bench/fill-ledger.ts";
import { silent, type TestLedger, withLedger } from "../support/with-ledger.ts";

const OPEN = 300;
const FEW = 300;
const MANY = 15_000;
/** Indexes become a page or two deeper. */
const BLOCKS_BY_CHANCE = 60;

test("what an operator looks at reads no more of a ledger with many ended orders than of one with few", async () => {
  const few = await countBlocks(FEW);
  const many = await countBlocks(MANY);
  expect([...many.keys()].sort()).toEqual([...few.keys()].sort());
  const growing = [...many].filter(
    ([what, blocks]) => blocks > 1.5 * (few.get(what) ?? 0) + BLOCKS_BY_CHANCE,
  );
  expect(growing).toEqual([]);
});

/** A large file, messages of which there is no order, results of a connector that has had none lately, results that wait while a lab is away, and tasks that were done. */
const MORE = [
  "update messages set file_id = 1, ordinal = id where id <= (select max(id) / 2 from messages)",
  "update messages set names = jsonb_build_array('N-' || id, 'L-' || id) where id <= (select max(id) / 2 from messages)",
  "update deliveries set connector = 'former' where id <= (select max(id) / 2 from deliveries)",
  `insert into deliveries (connector, file_name, bytes, state)
   select 'hl7', 'open-' || n, 'x', case when n % 3 = 0 then 'parked' else 'pending' end from generate_series(1, ${OPEN}) n`,
  `insert into tasks (order_id, kind, text, closed_at, closed_by)
   select id, 'cancel', 'x', now(), 'kim' from orders where state = 'completed'`,
  "vacuum (analyze)",
];

/** How much each statement reads of a ledger with so many ended orders. */
function countBlocks(ended: number): Promise<Map<string, number>> {
  return withLedger(async (ledger) => {
    const superuser = new pg.Client({ ...ledger.connection, user: "postgres" });
    await superuser.connect();
    await fillLedger(superuser, { ended, open: OPEN });
    for (const statement of MORE) await superuser.query(statement);
    await superuser.end();
    const statements = await gatherStatements(ledger);
    const blocks = new Map<string, number>();
    for (const { what, text, values } of statements) {
      const { rows } = await ledger.pool.query(`explain (analyze, buffers, format json) ${text}`, values);
      const { Plan: plan } = rows[0]["QUERY PLAN"][0];
      blocks.set(`${what}: ${text.trim()}`, plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]);
    }
    return blocks;
  });
}

interface Statement {
  readonly what: string;
  readonly text: string;
  readonly values: unknown[];
}

/** Everything that is asked of the ledger for the status, the console and the lists. */
async function gatherStatements({ pool }: TestLedger): Promise<Statement[]> {
  const statements: Statement[] = [];
  const query = pool.query.bind(pool) as (text: string, values?: unknown[]) => Promise<unknown>;
  const limit = 50;
  const since = new Date();
  const looks: Readonly<Record<string, () => Promise<unknown>>> = {
    status: () => {
      // The connector of the orders is not configured.
      const view = ledgerView(
        pool,
        { connectors: [], lanes: { parkedBlocks: false }, refills: undefined },
        systemClock,
      );
      const own = () => [];
      return readStatus({ ...view, own, logger: silent, clock: systemClock }, "1");
    },
    queue: () => countQueueWork(pool),
    "queue: orders": () => listWaitingOrders(pool, limit),
    "queue: results": () => listOpenDeliveries(pool, limit),
    tasks: () => listOpenTasks(pool, limit),
    "tasks of an order": () => listOrderTasks(pool, 7),
    orders: () => listOrders(pool, { limit }),
    "parked orders": () => listOrders(pool, { limit, states: ["parked"] }),
    "orders with a rare failure, whatever became of them": () =>
      listOrders(pool, { limit, failureCode: "SUBJECT_UNKNOWN" }),
    "orders parked with a failure": () =>
      listOrders(pool, { limit, states: ["parked"], failureCode: "SUBMIT_UNCERTAIN" }),
    "failed orders": () => listOrders(pool, { limit, states: ["failed", "rejected"] }),
    "orders of a subject": () => listOrders(pool, { limit, subjectCode: "FILL-7" }),
    "orders by a word": async () => {
      const ids = await searchOrders(pool, "FILL-7", { connectors: ["hl7"], limit });
      return listOrders(pool, { limit, ids });
    },
    "orders of a large file": () => searchOrders(pool, "file-1.hl7", { connectors: ["hl7"], limit }),
    activity: () =>
      readActivity(pool, { from: new Date(Date.now() - 86_400_000), slots: 24, slotMs: 3_600_000 }),
    "last messages": () => findLastMessages(pool, ["hl7", "csv"]),
    "labs that took a result": () => findTakers(pool, ["hl7", "csv"]),
    "orders of another connector": () => listOrders(pool, { limit, connector: "csv" }),
    "orders since": () => listOrders(pool, { limit, since }),
    messages: () => listMessages(pool, { limit }),
    "refused messages": () => listMessages(pool, { limit, verdict: "refused" }),
    "messages of another connector": () => listMessages(pool, { limit, connector: "csv" }),
    "messages of files": () => listMessages(pool, { limit, word: "file-" }),
    "messages by an order number": () => listMessages(pool, { limit, word: "N-7" }),
    "messages since": () => listMessages(pool, { limit, since }),
    results: () => listDeliveries(pool, { limit }),
    "parked results": () => listDeliveries(pool, { limit, state: "parked" }),
    "dropped results": () => listDeliveries(pool, { limit, state: "dropped" }),
    "results of another connector": () => listDeliveries(pool, { limit, connector: "csv" }),
    "results of a former connector": () => listDeliveries(pool, { limit, connector: "former" }),
    "results since": () => listDeliveries(pool, { limit, since }),
    "results of an order": () => listDeliveries(pool, { limit, orderId: 7 }),
  };
  for (const [what, look] of Object.entries(looks)) {
    Object.assign(pool, {
      query: (asked: string | Omit<Statement, "what">, given: unknown[] = []) => {
        const { text, values } = typeof asked === "string" ? { text: asked, values: given } : asked;
        statements.push({ what, text, values });
        return query(text, values);
      },
    });
    await look();
  }
  Object.assign(pool, { query });
  return statements;
}
