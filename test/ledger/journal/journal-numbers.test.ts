import { cp } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { insertArrivals, takeMessageIds } from "../../../src/ledger/arrivals.ts";
import { anArrival, idsOf, type Journals, losingPool, TIMES, withJournals } from "../../support/journals.ts";

describe("the numbers of journaled messages", () => {
  test("are not given again by an older state of the ledger", () =>
    withJournals(async ({ pool, open, messages }) => {
      await (await open()).append([anArrival(50)], TIMES);
      // The ledger has given none yet.
      const journal = await open();
      const [next = 0] = await takeMessageIds(pool, 1);
      expect(next).toBeGreaterThan(50);
      await journal.append([anArrival(next)], TIMES);
      await journal.empty();
      expect(idsOf(await messages())).toEqual([50, next]);
    }));

  test("do not go back, or it would be thought that the ledger has the message", () =>
    withJournals(async ({ open }) => {
      const journal = await open();
      await journal.append([anArrival(10)], TIMES);
      expect(await journal.append([anArrival(9)], TIMES)).toBe(false);
      await journal.empty();
      expect(await journal.append([anArrival(10)], TIMES)).toBe(false);
      expect(await (await open()).append([anArrival(9)], TIMES)).toBe(false);
    }));
});

/** What is known of the messages of the journal's connector by their content, in their order. */
async function contents({ messages }: Journals): Promise<string[]> {
  return (await messages()).map(({ raw, reply }) => `${raw}, ${reply}`);
}

/** The content of a message as it was put down. */
const asPut = (id: number) => `MSH|${id}, answer to ${id}`;

describe("when a ledger that was restored has given the numbers of journaled messages to others", () => {
  /** Puts messages down and gives the number of the second one to another. */
  async function putAndGive({ pool, put }: Journals, journal: Awaited<ReturnType<Journals["open"]>>) {
    const ids = [...(await put(journal, 3)), ...(await put(journal, 1))];
    expect(await insertArrivals(pool, "bench", [anArrival(ids[1] ?? 0)])).toBe(true);
    return ids;
  }

  test("these come into the ledger whole and in their order, with higher numbers", () =>
    withJournals(async (journals) => {
      const { open, put, messages, due } = journals;
      const journal = await open();
      const ids = await putAndGive(journals, journal);
      const last = await journal.flush();
      const taken = idsOf(await messages());
      expect(Math.min(...taken)).toBeGreaterThan(Math.max(...ids));
      expect(await contents(journals)).toEqual(ids.map(asPut));
      expect(last?.lastId).toBe(taken.at(-1));
      expect(await due()).toEqual(taken);
      expect(idsOf(await messages("bench"))).toEqual([ids[1]]);
      // What comes next is as ever.
      const next = await put(journal, 1);
      await journal.empty();
      expect(idsOf(await messages())).toEqual([...taken, ...next]);
    }));

  test("these are not taken again after a crash before the files were wiped", () =>
    withJournals(async (journals) => {
      const { folder, open, put } = journals;
      const journal = await open();
      const ids = await putAndGive(journals, journal);
      const copy = `${folder}-as-it-was`;
      await cp(folder, copy, { recursive: true });
      await journal.empty();
      const next = await open({ folder: copy });
      expect(next.count).toBe(0);
      ids.push(...(await put(next, 1)));
      await next.empty();
      expect(await contents(journals)).toEqual(ids.map(asPut));
    }));

  test.each(["refused", "unanswered"] as const)(
    "these are taken once when their commit with other numbers is %s at first",
    (lost) =>
      withJournals(async (journals) => {
        const { pool, open } = journals;
        let commits = 0;
        // The first is that with the numbers of others.
        const losing = losingPool(pool, () => {
          commits += 1;
          return commits === 2 ? lost : undefined;
        });
        const journal = await open({ pool: losing });
        const ids = await putAndGive(journals, journal);
        await expect(journal.flush()).rejects.toMatchObject({ code: "LEDGER_UNAVAILABLE" });
        await journal.empty();
        expect(await contents(journals)).toEqual(ids.map(asPut));
      }),
  );
});
