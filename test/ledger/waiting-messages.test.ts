import type pg from "pg";
import { describe, expect, test } from "vitest";
import { shownProblem } from "../../src/core/failures.ts";
import type { Order } from "../../src/core/order.ts";
import { phi } from "../../src/core/phi.ts";
import type { MessageRecord } from "../../src/ledger/messages/record.ts";
import {
  discardMessage,
  type Released,
  type ReleaseFilter,
  releaseMessages,
} from "../../src/ledger/messages/release.ts";
import { listMessages, type StoredMessage } from "../../src/ledger/messages/views.ts";
import { listWaitingCodes } from "../../src/ledger/messages/waiting.ts";
import { listOrders } from "../../src/ledger/operator/views.ts";
import { forgetOld } from "../../src/ledger/prune.ts";
import { listOpenOutcomes } from "../../src/ledger/results/outcomes.ts";
import { waitForLockWaiter } from "../support/lock-waiters.ts";
import { aMessage, anOrder, aRecord, commit } from "../support/orders.ts";
import { at } from "../support/places.ts";
import { withLedger } from "../support/with-ledger.ts";

const ACT = { actor: "ada", reason: "sent anew" };

/** A message that asks for an order at a facility that no table knows. */
function waiting(n: number, code: string, unknownCode = "WEST"): MessageRecord {
  return aRecord(n, [], {
    verdict: "waiting",
    problems: [
      { code: "MAPPING_FACILITY_UNKNOWN", place: at(`message ${n}, MSH-4`), message: "unknown", unknownCode },
    ],
    subjectCodes: [phi(code)],
    orderNumbers: [`A-${n}`],
  });
}

/** A message with an order that maps. */
function mapped(n: number, code: string, parts: Partial<Order> = {}): MessageRecord {
  return aRecord(n, [anOrder({ placerOrderNumber: `A-${n}`, code, ...parts })]);
}

/** A mapping that knows these facilities: what the text of a message asks for is its number, its subject and a facility. */
function mapKnowing(facilities: Readonly<Record<string, string>>, records: readonly MessageRecord[]) {
  return (stored: StoredMessage): MessageRecord => {
    const record = records.find(({ messageControlId }) => messageControlId === stored.messageControlId);
    if (!record) throw new Error(`no record for ${stored.messageControlId}`);
    const unknown = record.problems[0]?.unknownCode;
    if (record.verdict !== "waiting" || unknown === undefined || facilities[unknown] === undefined)
      return record;
    const number = record.orderNumbers?.[0] as string;
    return aRecord(stored.ordinal, [
      anOrder({ placerOrderNumber: number, code: record.subjectCodes?.[0]?.reveal() ?? "" }),
    ]);
  };
}

async function release(
  pool: pg.Pool,
  records: readonly MessageRecord[],
  knows: readonly string[],
  filter?: ReleaseFilter,
): Promise<Released[]> {
  const released: Released[] = [];
  const map = mapKnowing(Object.fromEntries(knows.map((each) => [each, each])), records);
  await releaseMessages(pool, map, filter, (message) => released.push(message));
  return released;
}

const numbersOf = async (pool: pg.Pool) =>
  (await listOrders(pool, { limit: 100 })).toReversed().map(({ placerOrderNumber }) => placerOrderNumber);
const verdictsOf = async (pool: pg.Pool) =>
  (await listMessages(pool, { limit: 100 })).toReversed().map(({ verdict }) => verdict);

describe("a message with an unknown code", () => {
  test("is kept waiting, makes no order, and the lab is told so", () =>
    withLedger(async ({ pool }) => {
      expect(await commit(pool, [waiting(1, "S-1")])).toEqual([]);
      expect(await verdictsOf(pool)).toEqual(["waiting"]);
      const [open] = await listOpenOutcomes(pool, "lims", 10);
      expect(open?.outcome).toMatchObject({ kind: "waiting", problems: [{ unknownCode: "WEST" }] });
    }));

  test("is listed by its code, with how many wait and since when", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [waiting(1, "S-1"), waiting(2, "S-2"), waiting(3, "S-3", "EAST"), mapped(4, "S-1")]);
      expect(await listWaitingCodes(pool)).toEqual([
        { kind: "earlier", code: "WEST", connector: "lims", messages: 1, since: expect.any(Date) },
        { kind: "facility", code: "EAST", connector: "lims", messages: 1, since: expect.any(Date) },
        { kind: "facility", code: "WEST", connector: "lims", messages: 2, since: expect.any(Date) },
      ]);
    }));

  test("keeps its text however old it is", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [waiting(1, "S-1"), aRecord(2, [], { verdict: "ignored" })]);
      await pool.query("update messages set received_at = now() - interval '900 days'");
      await pool.query("update outcomes set is_composed = true");
      await forgetOld(pool, { messagesMs: 86_400_000, ordersMs: 86_400_000 }, 10);
      const { rows } = await pool.query(
        "select verdict, raw is not null as has_text from messages order by id",
      );
      expect(rows).toEqual([
        { verdict: "waiting", has_text: true },
        { verdict: "ignored", has_text: false },
      ]);
    }));
});

describe("a later message", () => {
  test("of the same subject waits behind it", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [waiting(1, "S-1")]);
      await commit(pool, [mapped(2, "S-1")]);
      expect(await verdictsOf(pool)).toEqual(["waiting", "waiting"]);
      const [held] = await listMessages(pool, { limit: 1 });
      expect(held?.problems.map(shownProblem)).toMatchObject([
        {
          code: "MAPPING_EARLIER_WAITS",
          place: "message 2",
          message: expect.stringMatching(
            /^message C1, which came first and is about the same subject or order, waits for code "WEST", which is not known yet$/,
          ),
          unknownCode: "WEST",
          hint: expect.stringMatching(/^The earlier message is m\d+: `cryobridge messages show m\d+`\.$/),
        },
      ]);
    }));

  test("says which code it waits for, the place to add it and what to do, as does one behind that, and never to discard itself", () =>
    withLedger(async ({ pool }) => {
      const known = { table: "facility.table", hint: "Add it, or `cryobridge messages discard ID`." };
      const first = waiting(1, "S-1");
      const problems = first.problems.map((problem) => ({ ...problem, ...known }));
      const cancel = aRecord(3, [], {
        controlRequests: [{ control: "cancel", placerOrderNumber: "A-2" }],
        orderNumbers: ["A-2"],
      });
      await commit(pool, [{ ...first, problems }, mapped(2, "S-1")]);
      await commit(pool, [cancel]);
      const [last, middle, root] = await listMessages(pool, { limit: 3 });
      const behind = (messageId = "", controlId = "") => [
        {
          ...{ code: "MAPPING_EARLIER_WAITS", unknownCode: "WEST", table: known.table },
          hint: `Add it, or \`cryobridge messages discard ${root?.messageId}\`. The earlier message is ${messageId}: \`cryobridge messages show ${messageId}\`.`,
          place: expect.any(String),
          message: expect.stringMatching(
            `^message ${controlId}, which came first .*, waits for code "WEST", which is not known yet`,
          ),
        },
      ];
      expect(middle?.problems.map(shownProblem)).toMatchObject(behind(root?.messageId, "C1"));
      expect(last?.problems.map(shownProblem)).toMatchObject(behind(middle?.messageId, "C2"));
      expect(
        (await listWaitingCodes(pool)).map(({ kind, code, messages, hint }) => [kind, code, messages, hint]),
      ).toEqual([
        ["earlier", "WEST", 2, undefined],
        ["facility", "WEST", 1, known.hint],
      ]);
    }));

  test("of the same file waits behind it too, and so does one behind that", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [waiting(1, "S-1"), mapped(2, "S-1"), mapped(3, "S-2"), mapped(4, "S-1")]);
      expect(await verdictsOf(pool)).toEqual(["waiting", "waiting", "accepted", "waiting"]);
    }));

  test("that names the same order number for another subject waits behind it", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [waiting(1, "S-1")]);
      await commit(pool, [mapped(2, "S-OTHER", { placerOrderNumber: "A-1" })]);
      expect(await verdictsOf(pool)).toEqual(["waiting", "waiting"]);
    }));

  test("that cancels the order is answered that nothing of it is sent meanwhile", () =>
    withLedger(async ({ pool }) => {
      const controlRequests = [{ control: "cancel", placerOrderNumber: "A-1" }] as const;
      await commit(pool, [waiting(1, "S-1"), aRecord(2, [], { controlRequests })]);
      const [cancel] = await listMessages(pool, { limit: 1 });
      expect(cancel?.problems[0]?.message).toMatch(
        /waits for code "WEST", which is not known yet; nothing of the order is sent before it can be cancelled$/,
      );
    }));

  test("that cancels the order waits behind it, and cancels it once it is one", () =>
    withLedger(async ({ pool }) => {
      const records = [
        waiting(1, "S-1"),
        aRecord(2, [], { controlRequests: [{ control: "cancel", placerOrderNumber: "A-1" }] }),
      ];
      await commit(pool, records);
      expect(await verdictsOf(pool)).toEqual(["waiting", "waiting"]);
      await release(pool, records, ["WEST"]);
      const [order] = await listOrders(pool, { limit: 1 });
      expect([order?.placerOrderNumber, order?.state]).toEqual(["A-1", "cancelled"]);
    }));

  test("through another connector goes on", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [waiting(1, "S-1")], "lims");
      await commit(pool, [mapped(2, "S-1")], "bench");
      expect(await verdictsOf(pool)).toEqual(["waiting", "accepted"]);
    }));

  test("that only repeats an order which came before is answered as a repeat", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [mapped(1, "S-1")]);
      await commit(pool, [waiting(2, "S-1")]);
      await commit(pool, [{ ...mapped(3, "S-1", { placerOrderNumber: "A-1" }) }]);
      expect(await verdictsOf(pool)).toEqual(["accepted", "waiting", "duplicate"]);
    }));
});

describe("a release", () => {
  test("makes an order and cancels it in one transaction, however many messages wait between the two", () =>
    withLedger(async ({ pool }) => {
      const between = Array.from({ length: 200 }, (_, i) => waiting(i + 2, `S-${i + 2}`));
      const change = mapped(202, "S-1");
      const cancels = ["A-1", "A-202"].map((placerOrderNumber, i) =>
        aRecord(203 + i, [], { controlRequests: [{ control: "cancel", placerOrderNumber }] }),
      );
      const records = [waiting(1, "S-1"), ...between, change, ...cancels];
      await commit(pool, records);
      const seen: number[] = [];
      const map = mapKnowing({ WEST: "WEST" }, records);
      await releaseMessages(pool, (stored) => {
        seen.push(stored.ordinal);
        return map(stored);
      });
      // The first batch has the oldest 200, and what cancels one of them.
      expect(seen).toEqual([...Array.from({ length: 200 }, (_, i) => i + 1), 203, 201, 202, 204]);
      const cancelled = (await listOrders(pool, { limit: 500 })).filter(({ state }) => state === "cancelled");
      expect(cancelled.map(({ placerOrderNumber }) => placerOrderNumber).sort()).toEqual(["A-1", "A-202"]);
      expect(new Set(await verdictsOf(pool))).toEqual(new Set(["accepted"]));
    }));

  test("makes orders of all that map now, in the order in which they came, and answers them", () =>
    withLedger(async ({ pool }) => {
      const records = [waiting(1, "S-1"), waiting(2, "S-2"), mapped(3, "S-1"), waiting(4, "S-1")];
      await commit(pool, records);
      const released = await release(pool, records, ["WEST"]);
      expect(released.map(({ verdict }) => verdict)).toEqual([
        "accepted",
        "accepted",
        "accepted",
        "accepted",
      ]);
      expect(await numbersOf(pool)).toEqual(["A-1", "A-2", "A-3", "A-4"]);
      const outcomes = await listOpenOutcomes(pool, "lims", 20);
      expect(outcomes.map(({ outcome }) => outcome.kind)).toEqual([
        ...Array(4).fill("waiting"),
        ...Array(4).fill("acknowledged"),
      ]);
      expect(await listWaitingCodes(pool)).toEqual([]);
    }));

  test("leaves waiting what doesn't map yet, and what came after it for the same subject", () =>
    withLedger(async ({ pool }) => {
      const records = [waiting(1, "S-1", "EAST"), waiting(2, "S-1"), waiting(3, "S-2")];
      await commit(pool, records);
      await release(pool, records, ["WEST"]);
      expect(await verdictsOf(pool)).toEqual(["waiting", "waiting", "accepted"]);
      await release(pool, records, ["WEST", "EAST"]);
      expect(await numbersOf(pool)).toEqual(["A-3", "A-1", "A-2"]);
    }));

  test("tells the lab nothing of what goes on waiting", () =>
    withLedger(async ({ pool }) => {
      const records = [waiting(1, "S-1")];
      await commit(pool, records);
      await release(pool, records, []);
      expect(await listOpenOutcomes(pool, "lims", 20)).toHaveLength(1);
    }));

  test("of one code leaves those of another code", () =>
    withLedger(async ({ pool }) => {
      const records = [waiting(1, "S-1", "EAST"), waiting(2, "S-2")];
      await commit(pool, records);
      await release(pool, records, ["WEST", "EAST"], { code: "WEST" });
      expect(await verdictsOf(pool)).toEqual(["waiting", "accepted"]);
    }));

  test("of one connector leaves those of another", () =>
    withLedger(async ({ pool }) => {
      const records = [waiting(1, "S-1"), waiting(2, "S-2")];
      await commit(pool, records.slice(0, 1), "lims");
      await commit(pool, records.slice(1), "bench");
      await release(pool, records, ["WEST"], { connector: "bench" });
      expect(await verdictsOf(pool)).toEqual(["waiting", "accepted"]);
    }));

  test("refuses what has another mistake by now, and tells the lab", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [waiting(1, "S-1")]);
      const problem = {
        code: "MAPPING_NO_CONTAINER",
        place: at("message 1"),
        message: "no container",
      } as const;
      await releaseMessages(pool, (stored) =>
        aRecord(stored.ordinal, [], { verdict: "refused", problems: [problem] }),
      );
      expect(await verdictsOf(pool)).toEqual(["refused"]);
      const outcomes = await listOpenOutcomes(pool, "lims", 20);
      expect(outcomes.at(-1)?.outcome).toMatchObject({ kind: "refused", problems: [problem] });
    }));

  test("makes one order of a message that waits twice", () =>
    withLedger(async ({ pool }) => {
      const twin = { ...waiting(1, "S-1"), message: aMessage(1) };
      await commit(pool, [twin]);
      await commit(pool, [twin]);
      const released = await release(pool, [twin], ["WEST"]);
      expect(released.map(({ verdict }) => verdict)).toEqual(["accepted", "duplicate"]);
      expect(await numbersOf(pool)).toEqual(["A-1"]);
    }));

  test("that is run by eight connections at once makes each order once", () =>
    withLedger(async ({ pool }) => {
      const records = Array.from({ length: 30 }, (_, n) => waiting(n + 1, `S-${n % 7}`));
      await commit(pool, records);
      const all = await Promise.all(Array.from({ length: 8 }, () => release(pool, records, ["WEST"])));
      expect(all.flat()).toHaveLength(30);
      expect(await numbersOf(pool)).toEqual(records.map(({ orderNumbers }) => orderNumbers?.[0]));
    }));

  test("that is cut off in the middle loses and doubles nothing when it is run again", () =>
    withLedger(async ({ pool }) => {
      const records = Array.from({ length: 450 }, (_, n) => waiting(n + 1, `S-${n % 5}`));
      await commit(pool, records);
      const know = mapKnowing({ WEST: "WEST" }, records);
      let seen = 0;
      const dying = (stored: StoredMessage) => {
        seen += 1;
        if (seen === 300) throw new Error("cut off");
        return know(stored);
      };
      await expect(releaseMessages(pool, dying)).rejects.toThrow("cut off");
      expect(await numbersOf(pool)).toHaveLength(100);
      expect(await listOrders(pool, { limit: 1_000 })).toHaveLength(200);
      await release(pool, records, ["WEST"]);
      const orders = (await listOrders(pool, { limit: 1_000 })).toReversed();
      expect(orders.map(({ placerOrderNumber }) => placerOrderNumber)).toEqual(
        records.map(({ orderNumbers }) => orderNumbers?.[0]),
      );
    }));

  test("lets a message that comes at that moment see how it ends, so that it isn't left waiting", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [waiting(1, "S-1")]);
      const releasing = await pool.connect();
      try {
        await releasing.query("begin");
        await releasing.query("select 1 from waiting_keys for update");
        const coming = commit(pool, [mapped(2, "S-1")]);
        await waitForLockWaiter(pool);
        await releasing.query("delete from waiting_keys");
        await releasing.query("commit");
        expect(await coming).toHaveLength(1);
      } finally {
        releasing.release(true);
      }
    }));
});

describe("a message that a person discards", () => {
  test("is refused to the lab, and what waited behind it goes on", () =>
    withLedger(async ({ pool }) => {
      const records = [waiting(1, "S-1"), mapped(2, "S-1")];
      await commit(pool, records);
      const [, first] = await listMessages(pool, { limit: 2 });
      const id = Number(first?.messageId.slice(1));
      expect(await discardMessage(pool, id, ACT)).toBe(true);
      await release(pool, records, [], { isEarlierOnly: true });
      expect(await verdictsOf(pool)).toEqual(["refused", "accepted"]);
      const { rows } = await pool.query("select actor, action, target, detail from audit");
      expect(rows).toEqual([
        { actor: "ada", action: "discard", target: first?.messageId, detail: { reason: "sent anew" } },
      ]);
    }));

  test("says that another order has its number, and is refused without it", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [mapped(1, "S-1")]);
      const [{ number }] = (await pool.query("select placer_order_number as number from orders")).rows;
      await commit(pool, [{ ...waiting(2, "S-2"), placerOrderNumber: number }]);
      const [message] = await listMessages(pool, { limit: 1 });
      await discardMessage(pool, Number(message?.messageId.slice(1)), ACT);
      expect(message?.problems.at(-1)).toMatchObject({
        code: "ORDER_NUMBER_REUSED",
        message:
          "another order with this number exists; a second one is refused in the end, unless it asks for the same",
      });
      const { rows } = await pool.query(
        `select payload ->> 'placerOrderNumber' as number, payload -> 'problems' @> '[{"code": "ORDER_NUMBER_REUSED"}]' as taken
           from outcomes where kind = 'refused'`,
      );
      expect(rows).toEqual([{ number: null, taken: true }]);
    }));

  test("can't be discarded when it doesn't wait", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [mapped(1, "S-1")]);
      const [message] = await listMessages(pool, { limit: 1 });
      expect(await discardMessage(pool, Number(message?.messageId.slice(1)), ACT)).toBe(false);
    }));
});
