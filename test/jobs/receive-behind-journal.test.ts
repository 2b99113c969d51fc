import { describe, expect, test } from "vitest";
import { IdFilter } from "../../src/core/id-filter.ts";
import { FakeClock, StandingClock } from "../service/fake-clock.ts";
import { eventually } from "../support/eventually.ts";
import { holdCommit, withQuery } from "../support/journals.ts";
import { omlO33, ormCancel } from "../support/lab-messages.ts";
import { type Receptions, type TestReception, withReceptions } from "../support/with-receptions.ts";

const order = (number: string) => omlO33({ number });

/** What the ledger has, oldest first. */
async function ledgerOf(pool: Receptions["pool"]) {
  const column = async (statement: string) =>
    (await pool.query<{ value: string }>(statement)).rows.map(({ value }) => value);
  return {
    verdicts: await column("select verdict as value from messages order by id"),
    orders: await column("select placer_order_number as value from orders order by id"),
    /** The number that a message was given last. */
    number: (await column("select last_value as value from messages_id_seq"))[0],
  };
}

/** What is answered to one message. */
async function answer(reception: TestReception, text: string): Promise<string> {
  const [received] = await reception.take(text);
  return String(received?.reply);
}

/** A reception whose messages stay in the journal until something asks for them. */
async function openStanding({ pool, open }: Receptions): Promise<TestReception> {
  const reception = await open({}, pool, { hasJournal: true, clock: new StandingClock() });
  await reception.start();
  return reception;
}

describe("a message that repeats one that stands in the journal", () => {
  test("gets the first one's answer to the byte, and brings no second order", () =>
    withReceptions(async (receptions) => {
      const { pool } = receptions;
      const reception = await openStanding(receptions);
      const first = await answer(reception, order("A-1"));
      expect((await ledgerOf(pool)).verdicts).toEqual([]);
      expect(await answer(reception, order("A-1"))).toBe(first);
      expect(await answer(reception, order("A-1"))).toBe(first);
      await reception.stop();
      expect(await ledgerOf(pool)).toMatchObject({
        verdicts: ["accepted", "duplicate", "duplicate"],
        orders: ["A-1"],
      });
    }));

  test("does so in one group with new ones, which are taken", () =>
    withReceptions(async (receptions) => {
      const { pool } = receptions;
      const reception = await openStanding(receptions);
      const first = await answer(reception, order("A-1"));
      const [, again] = await Promise.all(
        ["B-1", "A-1", "B-2"].map((number) => answer(reception, order(number))),
      );
      expect(again).toBe(first);
      await reception.stop();
      expect((await ledgerOf(pool)).orders).toEqual(["A-1", "B-1", "B-2"]);
    }));

  test("does so when both come in one group", () =>
    withReceptions(async (receptions) => {
      const { pool } = receptions;
      const reception = await openStanding(receptions);
      const [first, again] = await Promise.all([
        answer(reception, order("A-1")),
        answer(reception, order("A-1")),
      ]);
      expect(again).toBe(first);
      await reception.stop();
      expect(await ledgerOf(pool)).toMatchObject({ verdicts: ["accepted", "duplicate"], orders: ["A-1"] });
    }));

  test.each(["asked for", "carried out"] as const)(
    "does so while that goes into the ledger, its commit %s and not answered yet",
    (when) =>
      withReceptions(async ({ pool, open }) => {
        const commit = holdCommit(pool, when);
        const clock = new FakeClock();
        const reception = await open({}, commit.pool, { hasJournal: true, clock });
        await reception.start();
        const first = await answer(reception, order("A-1"));
        await clock.advance(30);
        await commit.held;
        const { number } = await ledgerOf(pool);
        const again = answer(reception, order("A-1"));
        await eventually(async () => (await ledgerOf(pool)).number !== number);
        // By now it is as far as it gets without that commit.
        for (let n = 0; n < 10; n += 1) await ledgerOf(pool);
        commit.letGo();
        expect(await again).toBe(first);
        await reception.stop();
        expect(await ledgerOf(pool)).toMatchObject({ verdicts: ["accepted", "duplicate"], orders: ["A-1"] });
      }),
  );
});

test("a new message of which the control id's hash tells nothing comes behind those that stand in the journal", () =>
  withReceptions(async (receptions) => {
    const { pool } = receptions;
    const reception = await openStanding(receptions);
    const [one, other] = findAlike();
    await answer(reception, order(one));
    await answer(reception, order(other));
    expect((await ledgerOf(pool)).verdicts).toEqual(["accepted", "accepted"]);
    await answer(reception, order("A-1"));
    await reception.stop();
    expect(await ledgerOf(pool)).toMatchObject({
      verdicts: ["accepted", "accepted", "accepted"],
      orders: [one, other, "A-1"],
    });
  }));

test("a message that comes behind one that has waited for two seconds waits until the ledger has that and its orders", () =>
  withReceptions(async ({ pool, open }) => {
    const clock = new StandingClock();
    const reception = await open({}, pool, { hasJournal: true, clock });
    await reception.start();
    for (const number of ["A-1", "A-2", "A-3"]) {
      await answer(reception, order(number));
      await clock.advance(2_000);
    }
    expect(await ledgerOf(pool)).toMatchObject({
      verdicts: ["accepted", "accepted"],
      orders: ["A-1", "A-2"],
    });
  }));

test("messages are numbered as they come, whichever way they take", () =>
  withReceptions(async (receptions) => {
    const { pool } = receptions;
    const reception = await openStanding(receptions);
    const texts = [
      ...["A-1", "A-2"].map(order),
      ormCancel({ number: "A-1" }),
      ...["A-3", "A-4", "A-5"].map(order),
      ormCancel({ number: "A-2" }),
      order("A-6"),
    ];
    for (const text of texts) await answer(reception, text);
    await reception.stop();
    const { rows } = await pool.query<{ id: string }>(
      "select message_control_id as id from messages order by messages.id",
    );
    expect(rows.map(({ id }) => id)).toEqual(texts.map((text) => text.split("|")[9]));
  }));

describe("once the control ids are known", () => {
  async function openKnowing({ pool, open }: Receptions, own = pool, config = {}): Promise<TestReception> {
    const reception = await open({}, own, { hasJournal: true, clock: new StandingClock(), config });
    await reception.start();
    await eventually(() => pool.idleCount === pool.totalCount);
    return reception;
  }

  test("a message is put down without a question to the ledger, when numbers were taken ahead", () =>
    withReceptions(async (receptions) => {
      let questions = 0;
      const counting = withQuery(receptions.pool, async (...words) => {
        questions += 1;
        return await receptions.pool.query(...words);
      });
      const reception = await openKnowing(receptions, counting);
      for (const number of ["A-1", "A-2", "A-3"]) await answer(reception, order(number));
      questions = 0;
      await answer(reception, order("A-4"));
      expect(questions).toBe(0);
    }));

  test("a message that repeats one that was committed to the ledger itself is no second one", () =>
    withReceptions(async (receptions) => {
      const { pool } = receptions;
      const reception = await openKnowing(receptions);
      // In one group with what isn't plain.
      const [first] = await Promise.all([
        answer(reception, order("A-1")),
        answer(reception, ormCancel({ number: "X-1" })),
      ]);
      expect(await answer(reception, order("A-1"))).toBe(first);
      await reception.stop();
      expect((await ledgerOf(pool)).orders).toEqual(["A-1"]);
    }));

  test("a message of a subject of whom one waits is told to wait, too", () =>
    withReceptions(async (receptions) => {
      const reception = await openKnowing(receptions, undefined, { facilities: { NORTH: 12 } });
      const verdictOf = async (text: string) => (await reception.take(text))[0]?.verdict;
      expect(await verdictOf(omlO33({ number: "A-1", subject: "S-1", facility: "SOUTH" }))).toBe("waiting");
      expect(await verdictOf(omlO33({ number: "A-2", subject: "S-1" }))).toBe("waiting");
      expect(await verdictOf(omlO33({ number: "A-3", subject: "S-2" }))).toBe("accepted");
    }));
});

/** The numbers of two orders whose control ids a filter of hashes doesn't tell apart. */
function findAlike(): [string, string] {
  const mayHave = (numbers: readonly string[], number: string) => {
    const filter = new IdFilter();
    for (const each of numbers) filter.add(`MSG-${each}`);
    return filter.mayHave(`MSG-${number}`);
  };
  const seen = new IdFilter();
  let before: string[] = [];
  for (;;) {
    const number = `${before.length}`;
    if (seen.mayHave(`MSG-${number}`)) {
      while (before.length > 1) {
        const half = before.slice(0, before.length / 2);
        before = mayHave(half, number) ? half : before.slice(half.length);
      }
      return [before[0] ?? "", number];
    }
    seen.add(`MSG-${number}`);
    before.push(number);
  }
}
