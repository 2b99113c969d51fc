import type pg from "pg";
import { describe, expect, test } from "vitest";
import type { ReplyTo } from "../../src/core/reply.ts";
import {
  countArrivals,
  insertArrivals,
  type TakeUpOptions,
  takeMessageIds,
  takeUpArrivals,
} from "../../src/ledger/arrivals.ts";
import { commitMessages } from "../../src/ledger/commit-messages.ts";
import { formatId } from "../../src/ledger/ids.ts";
import type { MessageRecord } from "../../src/ledger/message-record.ts";
import { digestOrder } from "../../src/ledger/order-content.ts";
import { listOpenOutcomes } from "../../src/ledger/outcomes.ts";
import { findMessage, listMessages, listOrders } from "../../src/ledger/views.ts";
import { eventually } from "../support/eventually.ts";
import { anOrder, aRecord } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

const replyTo: ReplyTo = {
  peer: "10.0.0.9",
  reusedControlId: "take",
  compose: ({ messageId }) => Buffer.from(`answer to ${messageId}`),
  isWhole: () => true,
};

/** A message with one order, as it comes over a connection. */
const mapped = (n: number, parts: Partial<MessageRecord> = {}): MessageRecord =>
  aRecord(n, [anOrder({ placerOrderNumber: `A-${n}`, code: `S-${n}` })], { replyTo, ...parts });

/** Commits messages as they arrive; gives their records, to be taken up. */
async function arrive(pool: pg.Pool, records: readonly MessageRecord[]): Promise<TakeUpOptions | undefined> {
  const ids = await takeMessageIds(pool, records.length);
  const arrivals = records.map((record, n) => {
    const messageId = ids[n] ?? 0;
    return { messageId, record, reply: Buffer.from(`answer to ${messageId}`), isTold: true };
  });
  if (!(await insertArrivals(pool, "lims", arrivals))) return undefined;
  return {
    most: { messages: 100, bytes: 1_000_000 },
    isEachAlone: false,
    recordsOf: async () => arrivals.map(({ record }) => record),
  };
}

const numbersOf = async (pool: pg.Pool) =>
  (await listOrders(pool, { limit: 100 })).toReversed().map(({ placerOrderNumber }) => placerOrderNumber);
const verdictsOf = async (pool: pg.Pool) =>
  (await listMessages(pool, { limit: 100 })).toReversed().map(({ verdict }) => verdict);

describe("a message that arrives", () => {
  test("is in the ledger with its bytes and its answer before its orders are", () =>
    withLedger(async ({ pool }) => {
      await arrive(pool, [mapped(1), mapped(2)]);
      expect(await verdictsOf(pool)).toEqual(["accepted", "accepted"]);
      expect(await numbersOf(pool)).toEqual([]);
      expect(await countArrivals(pool)).toMatchObject([{ connector: "lims", count: 2 }]);
      const { rows } = await pool.query(
        "select raw, reply, peer, sha256 = sha256(raw) as fits from messages order by id",
      );
      expect(rows).toEqual([
        { raw: Buffer.from("MSH|1"), reply: Buffer.from("answer to 1"), peer: "10.0.0.9", fits: true },
        { raw: Buffer.from("MSH|2"), reply: Buffer.from("answer to 2"), peer: "10.0.0.9", fits: true },
      ]);
    }));

  test("has its orders made once, in the order in which they came, and is forgotten as an arrival", () =>
    withLedger(async ({ pool }) => {
      const answered: ReplyTo = { ...replyTo, compose: () => expect.fail("it was answered when it came") };
      const options = await arrive(
        pool,
        [1, 2, 3].map((n) => mapped(n, { replyTo: answered })),
      );
      if (!options) throw new Error("not arrived");
      const taken = await takeUpArrivals(pool, "lims", options);
      expect(taken.messageIds).toEqual([1, 2, 3]);
      expect(await takeUpArrivals(pool, "lims", options)).toEqual({
        through: undefined,
        messageIds: [],
        received: [],
      });
      expect(await numbersOf(pool)).toEqual(["A-1", "A-2", "A-3"]);
      expect(await countArrivals(pool)).toEqual([]);
      // All was said on the connection.
      expect(await listOpenOutcomes(pool, "lims", 10)).toEqual([]);
    }));

  test("is still to be taken up when that could not be committed", () =>
    withLedger(async ({ pool }) => {
      const options = await arrive(pool, [mapped(1)]);
      if (!options) throw new Error("not arrived");
      const broken = { ...options, recordsOf: () => Promise.reject(new Error("killed")) };
      await expect(takeUpArrivals(pool, "lims", broken)).rejects.toThrow("killed");
      await takeUpArrivals(pool, "lims", options);
      expect(await numbersOf(pool)).toEqual(["A-1"]);
    }));

  test("with the number and the content of an earlier order becomes a repeat of it", () =>
    withLedger(async ({ pool }) => {
      const again = aRecord(2, [anOrder({ placerOrderNumber: "A-1", code: "S-1" })], { replyTo });
      const options = await arrive(pool, [mapped(1), again]);
      if (!options) throw new Error("not arrived");
      await takeUpArrivals(pool, "lims", options);
      expect(await verdictsOf(pool)).toEqual(["accepted", "duplicate"]);
      expect(await numbersOf(pool)).toEqual(["A-1"]);
    }));

  test("is no repeat of another with its control id, whatever another process let arrive", () =>
    withLedger(async ({ pool }) => {
      const options = await arrive(pool, [mapped(1), mapped(2)]);
      if (!options) throw new Error("not arrived");
      const recordsOf = async () => [mapped(1), mapped(2, { messageControlId: "C1" })];
      await takeUpArrivals(pool, "lims", { ...options, recordsOf });
      expect(await verdictsOf(pool)).toEqual(["accepted", "accepted"]);
      expect(await numbersOf(pool)).toEqual(["A-1", "A-2"]);
    }));

  test("is answered by what a repeat of it gets, before its orders are made and after", () =>
    withLedger(async ({ pool }) => {
      const options = await arrive(pool, [mapped(1)]);
      const repeat = () => commitMessages(pool, { fileId: null, connector: "lims", records: [mapped(1)] });
      expect(await repeat()).toMatchObject([{ verdict: "duplicate", reply: Buffer.from("answer to 1") }]);
      if (!options) throw new Error("not arrived");
      await takeUpArrivals(pool, "lims", options);
      expect(await repeat()).toMatchObject([
        { verdict: "duplicate", reply: Buffer.from("answer to 1"), orders: [{ placerOrderNumber: "A-1" }] },
      ]);
      expect(await numbersOf(pool)).toEqual(["A-1"]);
    }));

  test("has its turn by when it came, not by its number, which another process may have taken ahead", () =>
    withLedger(async ({ pool }) => {
      const [low = 0, high = 0] = await takeMessageIds(pool, 2);
      const records = new Map([
        [high, mapped(1)],
        [low, mapped(2)],
      ]);
      for (const [messageId, record] of records)
        await insertArrivals(pool, "lims", [{ messageId, record, reply: undefined, isTold: true }]);
      await takeUpArrivals(pool, "lims", {
        most: { messages: 100, bytes: 1_000_000 },
        isEachAlone: false,
        recordsOf: async (_client, arrived) =>
          arrived.map(({ messageId }) => records.get(messageId) ?? mapped(messageId)),
      });
      expect(await numbersOf(pool)).toEqual(["A-1", "A-2"]);
    }));

  test("and is taken up in groups of several commits, as many as fit", () =>
    withLedger(async ({ pool }) => {
      const groups = [[mapped(1), mapped(2)], [mapped(3)], [mapped(4), mapped(5), mapped(6)]];
      const records = new Map<number, MessageRecord>();
      for (const group of groups) {
        await arrive(pool, group);
        for (const record of group) records.set(records.size + 1, record);
      }
      const options: TakeUpOptions = {
        most: { messages: 3, bytes: 1_000_000 },
        isEachAlone: false,
        recordsOf: async (_client, arrived) =>
          arrived.map(({ messageId }) => records.get(messageId) ?? mapped(messageId)),
      };
      const taken: (readonly number[])[] = [];
      for (let n = 0; n < 3; n += 1) taken.push((await takeUpArrivals(pool, "lims", options)).messageIds);
      expect(taken).toEqual([[1, 2, 3], [4, 5, 6], []]);
      const few = { ...options, most: { messages: 3, bytes: 7 } };
      for (const number of [21, 22, 23]) await arrive(pool, [mapped(number)]);
      expect((await takeUpArrivals(pool, "lims", few)).messageIds).toHaveLength(1);
      expect((await takeUpArrivals(pool, "lims", options)).messageIds).toHaveLength(2);
      // A commit that has more than that is taken up whole.
      await arrive(pool, [mapped(7), mapped(8), mapped(9), mapped(10)]);
      const { messageIds } = await takeUpArrivals(pool, "lims", options);
      expect(messageIds).toHaveLength(4);
    }));
});

describe("a message about which there is more to decide doesn't arrive, nor does any beside it", () => {
  test("when its control id came before, whatever it had", () =>
    withLedger(async ({ pool }) => {
      await commitMessages(pool, {
        fileId: null,
        connector: "lims",
        records: [mapped(2, { verdict: "refused", orders: [] })],
      });
      expect(await arrive(pool, [mapped(1), mapped(2)])).toBeUndefined();
      expect(await countArrivals(pool)).toEqual([]);
      expect(await verdictsOf(pool)).toEqual(["refused"]);
    }));

  test("when a message of the connector waits for a code table", () =>
    withLedger(async ({ pool }) => {
      await commitMessages(pool, {
        fileId: null,
        connector: "lims",
        records: [mapped(1, { verdict: "waiting", orders: [], orderNumbers: ["A-1"] })],
      });
      expect(await arrive(pool, [mapped(2)])).toBeUndefined();
      expect(await verdictsOf(pool)).toEqual(["waiting"]);
    }));

  test("when the database can't hold one of its values", () =>
    withLedger(async ({ pool }) => {
      const long = Array.from({ length: 9_000 }, (_, n) => (n * 7919).toString(36)).join("");
      expect(await arrive(pool, [mapped(1), mapped(2, { messageControlId: long })])).toBeUndefined();
      expect(await verdictsOf(pool)).toEqual([]);
    }));
});

describe("a message that was answered as accepted and isn't any more", () => {
  test("for whatever reason its orders can't be made, is refused, told and seen; those beside it are made", () =>
    withLedger(async ({ pool }) => {
      const options = await arrive(pool, [mapped(1), mapped(2), mapped(3)]);
      if (!options) throw new Error("not arrived");
      // A state of affairs that no mapping of ours leads to: the operation is none.
      const bad = anOrder({ placerOrderNumber: "A-2", operation: "THAW" as "STORE" });
      const faulty: TakeUpOptions = {
        ...options,
        recordsOf: async (client, arrived) =>
          (await options.recordsOf(client, arrived)).map((record, n) =>
            n === 1 ? { ...record, orders: [bad] } : record,
          ),
      };
      await expect(takeUpArrivals(pool, "lims", faulty)).rejects.toThrow();
      expect(await numbersOf(pool)).toEqual([]);
      await takeUpArrivals(pool, "lims", { ...faulty, isEachAlone: true });
      expect(await numbersOf(pool)).toEqual(["A-1", "A-3"]);
      expect(await findMessage(pool, 2)).toMatchObject({
        verdict: "refused",
        problems: [{ code: "UNCLASSIFIED", place: "message 2" }],
      });
      const told = await listOpenOutcomes(pool, "lims", 10);
      expect(told.map(({ outcome }) => outcome)).toMatchObject([
        { kind: "refused", message: { messageId: formatId("m", 2) } },
      ]);
      expect(await countArrivals(pool)).toEqual([]);
    }));

  test("because an earlier message of its subject waits, waits behind it", () =>
    withLedger(async ({ pool }) => {
      const options = await arrive(pool, [mapped(2)]);
      if (!options) throw new Error("not arrived");
      await pool.query(
        `insert into messages (id, connector, ordinal, place, message_control_id, sha256, format, verdict)
         overriding system value values (0, 'lims', 1, 'message 1', 'W', '', 'hl7', 'waiting')`,
      );
      await pool.query("insert into waiting_keys (connector, message_id, key) values ('lims', 0, 's:S-2')");
      await takeUpArrivals(pool, "lims", options);
      expect(await findMessage(pool, 1)).toMatchObject({ verdict: "waiting" });
      expect(await numbersOf(pool)).toEqual([]);
      expect((await listOpenOutcomes(pool, "lims", 10)).map(({ outcome }) => outcome.kind)).toEqual([
        "waiting",
      ]);
    }));
});

test("a message that is taken up by itself while another process commits its order is a repeat of that", () =>
  withLedger(async ({ pool }) => {
    const options = await arrive(pool, [mapped(1)]);
    if (!options) throw new Error("not arrived");
    const other = await pool.connect();
    await other.query("begin");
    await other.query(
      `insert into messages (id, connector, ordinal, place, sha256, format, verdict)
       values (1000, 'lims', 1, 'message 1', '', 'hl7', 'accepted')`,
    );
    await other.query(
      `insert into orders (message_id, position, connector, business_key, operation, facility_code, facility_id,
                           subject_code, subject, sources, content_digest)
       values (1000, 1, 'lims', 'lims' || chr(10) || 'A-1', 'STORE', 'NORTH', 12, 'S-1', '{}', '{}', decode($1, 'hex'))`,
      [digestOrder(anOrder({ placerOrderNumber: "A-1", code: "S-1" }))],
    );
    const taking = takeUpArrivals(pool, "lims", { ...options, isEachAlone: true });
    await eventually(async () => {
      const { rows } = await pool.query(
        "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
      );
      return rows.length > 0;
    });
    await other.query("commit");
    other.release();
    expect((await taking).received).toMatchObject([{ verdict: "duplicate" }]);
  }));

test("two that take up the same arrivals at once make their orders once", () =>
  withLedger(async ({ pool }) => {
    const options = await arrive(pool, [mapped(1), mapped(2)]);
    if (!options) throw new Error("not arrived");
    const both = await Promise.all([
      takeUpArrivals(pool, "lims", options),
      takeUpArrivals(pool, "lims", options),
    ]);
    expect(both.map(({ messageIds }) => messageIds.length).sort()).toEqual([0, 2]);
    expect(await numbersOf(pool)).toEqual(["A-1", "A-2"]);
  }));
