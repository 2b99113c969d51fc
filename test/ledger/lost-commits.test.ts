import type pg from "pg";
import { describe, expect, test } from "vitest";
import { openFile, settleFile } from "../../src/ledger/messages/files.ts";
import { openOrderWriter } from "../../src/ledger/order-writer.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { claimDue } from "../../src/ledger/orders/claiming.ts";
import type { OpenOutcome } from "../../src/ledger/results/outcomes.ts";
import { type CutWay, holdFirstCommit, isAwaited, withCutWay } from "../support/cut-way.ts";
import { deliverTo } from "../support/deliver.ts";
import { claimFile, OWNER } from "../support/files.ts";
import { loseWorker, UNCOUNTED } from "../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { type TestLedger, withLedger } from "../support/with-ledger.ts";

/**
 * When what was lost comes about, compared with what is done next. What takes several statements comes about by its last,
 * and whoever wants the same waits for it until then.
 */
type Moment = "before" | "while" | "after";
const ALL: readonly Moment[] = ["before", "while", "after"];
const NOT_AFTER: readonly Moment[] = ["before", "while"];

interface Lost {
  readonly moment: Moment;
  /** Words of the statement at which the connection breaks. */
  readonly at: string;
  /** Words that went over the same connection by then. */
  readonly since?: string;
  /** A table that is written. */
  readonly table: string;
  readonly work: (pool: pg.Pool) => Promise<unknown>;
  /** What is done then; the same unless told otherwise. */
  readonly next?: (pool: pg.Pool) => Promise<unknown>;
}

/** Has work come about of which nobody is told; gives what came of what was done next, an error for one that failed. */
async function lose({ pool }: TestLedger, way: CutWay, lost: Lost): Promise<unknown> {
  const { moment, at, since, table, work, next = work } = lost;
  const held = moment === "while" ? await holdFirstCommit(pool, table) : undefined;
  const cut = way.cutAt(at, moment === "after" ? "nobody" : "server", since);
  await expect(work(way.pool)).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
  const orphan = await cut;
  if (moment === "before") await orphan.isDone;
  await held?.isHeld();
  let hasEnded = false;
  const trying = next(pool)
    .catch((error: unknown) => error)
    .finally(() => {
      hasEnded = true;
    });
  if (held) {
    await isAwaited(pool, () => hasEnded);
    await held.letGo();
  }
  const result = await trying;
  orphan.letGo();
  await orphan.isDone;
  return result;
}

const withBoth = (run: (ledger: TestLedger, way: CutWay) => Promise<void>) =>
  withLedger((ledger) => withCutWay(ledger, (way) => run(ledger, way)));

const all = async ({ pool }: TestLedger, statement: string) =>
  (await pool.query<Record<string, unknown>>(statement)).rows;

const FILE = { connector: "lims", fileName: "a.hl7", sha256: "ab".repeat(32), sizeBytes: 1 };
const COMMIT = "commit\0";

describe.each(NOT_AFTER)("a step of a dropped file that came about %s it was repeated", (moment) => {
  test("opens the file once", () =>
    withBoth(async (ledger, way) => {
      const claimed = await claimFile(ledger.pool, FILE);
      const work = (pool: pg.Pool) => openFile(pool, FILE, claimed, []);
      const again = await lose(ledger, way, { moment, at: COMMIT, since: "files", table: "files", work });
      expect(again).toMatchObject({ status: "new", fileId: "f1", verdicts: [] });
      expect(await all(ledger, "select status from files")).toEqual([{ status: "reading" }]);
    }));

  test("takes its messages once, with the same verdicts", () =>
    withBoth(async (ledger, way) => {
      const claimed = await claimFile(ledger.pool, FILE);
      const records = [
        aRecord(1, [anOrder({ placerOrderNumber: "A-1" })]),
        aRecord(2, [anOrder({ placerOrderNumber: undefined })]),
        aRecord(3, [anOrder({ placerOrderNumber: "A-1", code: "S-9" })]),
      ];
      const work = (pool: pg.Pool) => openFile(pool, FILE, claimed, records);
      const again = await lose(ledger, way, {
        moment,
        at: COMMIT,
        since: "messages",
        table: "messages",
        work,
      });
      const verdicts = [{ verdict: "accepted" }, { verdict: "accepted" }, { verdict: "refused" }];
      expect(again).toMatchObject({ status: "resumed", verdicts });
      expect(await all(ledger, "select ordinal from messages order by id")).toHaveLength(3);
      expect(await all(ledger, "select state from orders order by id")).toEqual([
        { state: "received" },
        { state: "received" },
        { state: "parked" },
      ]);
    }));

  test("closes the file once, with one answer", () =>
    withBoth(async (ledger, way) => {
      const claimed = await claimFile(ledger.pool, FILE);
      const { fileId } = await openFile(ledger.pool, FILE, claimed, []);
      const answer = { connector: "lims", fileName: "answer.hl7", bytes: Buffer.from("BHS") };
      const end = { status: "taken", problems: [] } as const;
      const work = (pool: pg.Pool) =>
        settleFile(pool, OWNER, { claimId: claimed.id, fileId }, { end, answer });
      const again = await lose(ledger, way, {
        moment,
        at: COMMIT,
        since: "update files",
        table: "files",
        work,
      });
      expect(again).toBeUndefined();
      expect(await all(ledger, "select file_name from deliveries")).toEqual([{ file_name: "answer.hl7" }]);
    }));
});

describe("a result", () => {
  /** A lab that takes everything, and composes differently each time unless the ledger says what was composed. */
  const aLab = () => {
    const got: string[] = [];
    let composed = 0;
    const compose = async (open: readonly OpenOutcome[]) => ({
      deliveries: open.map(({ id }) => {
        composed += 1;
        return { fileName: `${id}.hl7`, bytes: Buffer.from(`composed ${composed}`), outcomeIds: [id] };
      }),
      unreported: [],
      uncomposed: [],
    });
    const target = {
      composeAtOnce: 10,
      compose,
      deliver: async ({ bytes }: { readonly bytes: Buffer }) => {
        got.push(bytes.toString());
      },
    };
    const deliver = (pool: pg.Pool) => deliverTo(pool, target)();
    return { got, deliver };
  };

  test.each(NOT_AFTER)(
    "that was composed %s it is composed again leaves in the words that were kept",
    (moment) =>
      withBoth(async (ledger, way) => {
        await commit(ledger.pool, [aRecord(1, [anOrder()])]);
        const { got, deliver } = aLab();
        const lost = { moment, at: COMMIT, since: "into deliveries", table: "deliveries", work: deliver };
        await lose(ledger, way, lost);
        await deliver(ledger.pool);
        const [row] = await all(
          ledger,
          "select count(*)::integer as count, min(encode(bytes, 'escape')) as text from deliveries",
        );
        expect(row).toEqual({ count: 1, text: got[0] });
        expect(got).toHaveLength(1);
      }),
  );

  test.each(ALL)(
    "that the ledger comes to know as delivered %s the next round is told in the same words",
    (moment) =>
      withBoth(async (ledger, way) => {
        await ledger.pool.query(
          "insert into deliveries (connector, file_name, bytes) values ('lims', '1.hl7', 'composed')",
        );
        const { got, deliver } = aLab();
        await lose(ledger, way, { moment, at: "'delivered'", table: "deliveries", work: deliver });
        expect(new Set(got).size).toBe(1);
        expect(await all(ledger, "select state, attempts from deliveries")).toEqual([
          { state: "delivered", attempts: 1 },
        ]);
      }),
  );
});

const INTEND = "insert into calls";

describe("of an order's submission", () => {
  const OWNER = 1;
  const ANOTHER = 2;
  const begin = async ({ pool }: TestLedger) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    return {
      claim: async (by: pg.Pool, workerId = OWNER) =>
        (await claimDue(by, { workerId, limit: 1, doesParkedBlock: false }))[0],
    };
  };
  const claimed = async (ledger: TestLedger) => {
    const { claim } = await begin(ledger);
    const order = await claim(ledger.pool);
    const due = { orderId: order?.id ?? 0 };
    const fence = order?.fence ?? 0;
    const intend = (pool: pg.Pool) =>
      openOrderWriter(pool, UNCOUNTED).intend({
        ...due,
        fence,
        kind: "request",
        knownIds: [],
        body: {},
        surface: "request",
      });
    /** As the feeder does with what a worker could not bring to its end. */
    const giveBack = (pool: pg.Pool) => loseWorker(pool, OWNER, []);
    return { ...due, fence, intend, giveBack };
  };
  const state = (ledger: TestLedger) =>
    all(
      ledger,
      "select o.state, k.outcome, o.owner, o.request_id from orders o join calls k on k.order_id = o.id",
    );

  test.each(ALL)("a claim that comes about %s another one leaves the order in one hand", (moment) =>
    withBoth(async (ledger, way) => {
      const { claim } = await begin(ledger);
      const since = "set state = 'submitting'";
      const lost = { moment, at: COMMIT, since, table: "orders", work: claim };
      const again = await lose(ledger, way, { ...lost, next: (pool) => claim(pool, ANOTHER) });
      const [row] = await all(ledger, "select owner, fence from orders");
      if (moment === "after")
        expect(row).toEqual({ owner: ANOTHER, fence: (again as { fence: number }).fence });
      else expect([again, row]).toEqual([undefined, { owner: OWNER, fence: expect.anything() }]);
    }),
  );

  test.each(NOT_AFTER)("an intent that comes about %s the order is given back is looked for", (moment) =>
    withBoth(async (ledger, way) => {
      const { intend, giveBack } = await claimed(ledger);
      const lost = { moment, at: COMMIT, since: INTEND, table: "calls", work: intend, next: giveBack };
      await lose(ledger, way, lost);
      const open = { state: "submitting", outcome: null, owner: null, request_id: null };
      expect(await state(ledger)).toEqual([open]);
    }),
  );

  test.each(NOT_AFTER)(
    "what it became, and comes to be known %s the order is given back, is not looked for",
    (moment) =>
      withBoth(async (ledger, way) => {
        const { orderId, fence, intend, giveBack } = await claimed(ledger);
        await intend(ledger.pool);
        const request = { surface: "request", requestId: 77 } as const;
        const work = (pool: pg.Pool) =>
          changeOrders(pool, [
            {
              orderId,
              fence,
              to: "submitted",
              request,
              isReleased: true,
              call: { end: "made" },
              isReported: true,
            },
          ]);
        await lose(ledger, way, {
          moment,
          at: COMMIT,
          since: "update orders",
          table: "orders",
          work,
          next: giveBack,
        });
        expect(await state(ledger)).toEqual([
          { state: "submitted", outcome: "made", owner: null, request_id: 77 },
        ]);
        expect(await all(ledger, "select kind from outcomes where kind = 'changed'")).toHaveLength(1);
      }),
  );

  test("a note of what it became that reaches the server after the order was given back changes nothing", () =>
    withBoth(async (ledger, way) => {
      const { orderId, fence, intend, giveBack } = await claimed(ledger);
      await intend(ledger.pool);
      const request = { surface: "request", requestId: 77 } as const;
      const work = (pool: pg.Pool) =>
        changeOrders(pool, [
          { orderId, fence, to: "submitted", request, isReleased: true, call: { end: "made" } },
        ]);
      const cut = way.cutAt("update orders", "nobody");
      await expect(work(way.pool)).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
      await giveBack(ledger.pool);
      (await cut).letGo();
      (await cut).hangUp();
      expect(await state(ledger)).toEqual([
        { state: "submitting", outcome: null, owner: null, request_id: null },
      ]);
    }));
});
