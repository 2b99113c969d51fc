import type pg from "pg";
import { describe, expect, test } from "vitest";
import type { Accepted } from "../../src/core/intake.ts";
import { type CutWay, holdFirstCommit, isAwaited, withCutWay } from "../support/cut-way.ts";
import { adt, omlO33, ormCancel, ormControl } from "../support/lab-messages.ts";
import { type Intakes, type TestIntake, withIntakes } from "../support/with-intakes.ts";

const order = (number: string, label = `V-${number}`) => omlO33({ number, labels: [label] });

async function column(pool: pg.Pool, statement: string): Promise<unknown[]> {
  const { rows } = await pool.query<Record<string, unknown>>(statement);
  return rows.flatMap((row) => Object.values(row));
}

const count = async (pool: pg.Pool, rows: string) =>
  (await column(pool, `select count(*)::integer from ${rows}`))[0];

const unavailable = { code: "LEDGER_UNAVAILABLE" };

const withBoth = (run: (intakes: Intakes, way: CutWay) => Promise<void>) =>
  withIntakes((intakes) => withCutWay(intakes, (way) => run(intakes, way)));

/**
 * Takes a message whose commit is held back, behind a connection that is cut; what it gives lets the commit come about, and
 * resolves when it is over.
 */
async function loseHeld(pool: pg.Pool, way: CutWay, take: () => Promise<unknown>) {
  const held = await holdFirstCommit(pool, "messages");
  const cut = way.cutAt("commit\0", "server", "insert into messages ");
  await expect(take()).rejects.toMatchObject(unavailable);
  await held.isHeld();
  return async () => {
    await held.letGo();
    await (await cut).isDone;
  };
}

describe("a plain message whose commit nobody was told of is taken once, and answered the same each time", () => {
  const A1 = order("A-1");

  /** What the sender was told of its second try, and of its third. */
  const expectOnce = async (pool: pg.Pool, second: readonly Accepted[], third: readonly Accepted[]) => {
    expect(third[0]?.reply).toEqual(second[0]?.reply);
    expect(await count(pool, "messages where verdict = 'accepted' and message_control_id = 'MSG-A-1'")).toBe(
      1,
    );
    expect(await column(pool, "select placer_order_number from orders")).toEqual(["A-1"]);
  };

  test("when the commit comes about before it is sent again", () =>
    withBoth(async ({ pool, open }, way) => {
      const intake = await open({}, way.pool);
      const cut = way.cutAt("commit\0", "server", "insert into messages ");
      await expect(intake.take(A1)).rejects.toMatchObject(unavailable);
      await (await cut).isDone;
      await expectOnce(pool, await intake.take(A1), await intake.take(A1));
    }));

  test("when it comes about while it is sent again", () =>
    withBoth(async ({ pool, open }, way) => {
      const intake = await open({}, way.pool);
      const letGo = await loseHeld(pool, way, () => intake.take(A1));
      const second = intake.take(A1);
      await Promise.race([second, isAwaited(pool)]);
      await letGo();
      await expectOnce(pool, await second, await intake.take(A1));
    }));

  test("when another daemon gets it the second time", () =>
    withBoth(async ({ pool, open }, way) => {
      const [intake, other] = [await open({}, way.pool), await open()];
      const letGo = await loseHeld(pool, way, () => intake.take(A1));
      const second = other.take(A1);
      await Promise.race([second, isAwaited(pool)]);
      await letGo();
      await expectOnce(pool, await second, await intake.take(A1));
    }));

  test("when the second time it comes beside a message that is not plain", () =>
    withBoth(async ({ pool, open }, way) => {
      const intake = await open({}, way.pool);
      const letGo = await loseHeld(pool, way, () => intake.take(A1));
      const second = intake.take(A1);
      const beside = intake.take(ormCancel({ number: "A-0" }));
      await Promise.race([second, isAwaited(pool)]);
      await letGo();
      await beside;
      await expectOnce(pool, await second, await intake.take(A1));
    }));
});

test("one order comes of it when the sender gives the message another control id the second time", () =>
  withBoth(async ({ pool, open }, way) => {
    const intake = await open({}, way.pool);
    const letGo = await loseHeld(pool, way, () => intake.take(order("A-1")));
    const second = intake.take(order("A-1").replace("|MSG-A-1|", "|MSG-A-1b|"));
    await Promise.race([second, isAwaited(pool)]);
    await letGo();
    await second;
    // Whatever is about orders has those that came before it made.
    await intake.take(ormCancel({ number: "A-0" }));
    expect(await column(pool, "select placer_order_number from orders")).toEqual(["A-1"]);
  }));

test("another message under its control id is refused where the site says so, also while its commit comes about", () =>
  withBoth(async ({ pool, open }, way) => {
    const intake = await open({ reusedControlId: "refuse" }, way.pool);
    const letGo = await loseHeld(pool, way, () => intake.take(order("A-1")));
    const other = intake.take(order("A-2").replace("|MSG-A-2|", "|MSG-A-1|"));
    await Promise.race([other, isAwaited(pool)]);
    await letGo();
    expect(await other).toMatchObject([
      { verdict: "refused", problems: [{ code: "HL7_CONTROL_ID_REUSED" }] },
    ]);
  }));

/** Messages that are decided about in the commit that precedes the answer, and what there is of them in the ledger. */
const DECIDED = [
  [
    "an order that contradicts an earlier one",
    order("A-1", "V-other").replace("MSG-", "XXX-"),
    "orders where state = 'parked'",
  ],
  [
    "a registration, which has no order number",
    adt("A28", { code: "S-9" }),
    "orders where operation = 'REGISTER'",
  ],
  ["a cancellation", ormCancel({ number: "A-1" }), "control_requests where placer_order_number = 'A-1'"],
  ["a hold", ormControl("HD", { number: "A-1" }), "control_requests where placer_order_number = 'A-1'"],
  [
    "a change",
    ormControl("XO", { number: "A-1", labels: ["V-2"] }),
    "control_requests where placer_order_number = 'A-1'",
  ],
] as const;

/** What an answer says: one that refuses is made anew, under a control id of its own. */
function said([result]: Awaited<ReturnType<TestIntake["take"]>>): string | undefined {
  return result?.reply?.toString().replace(/^MSH[^\r]*\r/, "");
}

describe.each(DECIDED)("%s", (_, text, rows) => {
  const begin = async ({ open }: Intakes, way: CutWay, reach: "server" | "nobody") => {
    const intake = await open({}, way.pool);
    await intake.take(order("A-1"));
    const beside = ormControl("SC", { number: "A-0" });
    const take = async () => (await Promise.all([intake.take(text), intake.take(beside)]))[0];
    await (await open()).take(ormCancel({ number: "A-0" }));
    const cut = way.cutAt("commit\0", reach, "insert into messages ");
    await expect(take()).rejects.toMatchObject(unavailable);
    return { orphan: await cut, take };
  };

  test("is had once when its commit comes about before it is sent again", () =>
    withBoth(async (intakes, way) => {
      const { orphan, take } = await begin(intakes, way, "server");
      await orphan.isDone;
      const second = await take();
      expect(said(await take())).toEqual(said(second));
      expect(await count(intakes.pool, rows)).toBe(1);
    }));

  test("is had once when its commit comes about while it is sent again", () =>
    withBoth(async (intakes, way) => {
      const { orphan, take } = await begin(intakes, way, "nobody");
      const second = take();
      await Promise.race([second, isAwaited(intakes.pool)]);
      orphan.letGo();
      const told = await second;
      expect(said(await take())).toEqual(said(told));
      expect(await count(intakes.pool, rows)).toBe(1);
    }));

  test("is had once when its commit never comes about", () =>
    withBoth(async (intakes, way) => {
      const { orphan, take } = await begin(intakes, way, "nobody");
      const second = take();
      orphan.hangUp();
      const told = await second;
      expect(said(await take())).toEqual(said(told));
      expect(await count(intakes.pool, rows)).toBe(1);
    }));
});
