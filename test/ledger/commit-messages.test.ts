import { expect, test } from "vitest";
import { isNumberTaken } from "../../src/core/failures.ts";
import type { ReplyTo } from "../../src/core/mapped-message.ts";
import { commitMessages } from "../../src/ledger/messages/commit.ts";
import { goOnWithFile } from "../../src/ledger/messages/files.ts";
import { findMessage } from "../../src/ledger/messages/views.ts";
import { findOrders, listEvents, listOrders } from "../../src/ledger/operator/views.ts";
import { changeOrders, changeOrdersWithin } from "../../src/ledger/orders/change.ts";
import { listOpenOutcomes } from "../../src/ledger/results/outcomes.ts";
import { isAwaited } from "../support/cut-way.ts";
import { claimFile, closeFile, openFile } from "../support/files.ts";
import { reportedKinds } from "../support/order-control.ts";
import { aMessage, anOrder, aRecord, commit } from "../support/orders.ts";
import { at } from "../support/places.ts";
import { withLedger } from "../support/with-ledger.ts";

const FILE = { connector: "lims", fileName: "orders.hl7", sha256: "ab".repeat(32), sizeBytes: 10 };

test("keeps a message whole and makes its orders wait in the order in which they came", () =>
  withLedger(async ({ pool }) => {
    const first = anOrder({ placerOrderNumber: "A-1" });
    const second = anOrder({ placerOrderNumber: "A-2", operation: "RETRIEVAL" });
    const ids = await commit(pool, [aRecord(1, [first, second])]);
    const orders = await listOrders(pool, { limit: 10 });
    expect(orders.map((order) => [order.id, order.placerOrderNumber, order.state])).toEqual([
      [ids[1], "A-2", "received"],
      [ids[0], "A-1", "received"],
    ]);
    expect(orders[1]?.subject.lastName?.reveal()).toBe("Example");
    expect(orders[1]?.containers).toMatchObject([{ position: 1, label: "V-1", description: "vial" }]);
    const message = await findMessage(pool, orders[0]?.messageId as number);
    expect(message?.raw?.toString()).toBe("MSH|1");
  }));

test("gives the same verdicts when the same messages of a file are committed again", () =>
  withLedger(async ({ pool }) => {
    const records = [aRecord(1, [anOrder()]), aRecord(2, [anOrder({ code: "S-9" })])];
    const once = await openFile(pool, FILE, records);
    expect(once).toMatchObject({
      status: "new",
      verdicts: [{ verdict: "accepted" }, { verdict: "refused" }],
    });
    const verdicts = "verdicts" in once ? once.verdicts : [];
    const earlier = verdicts.map(({ reply: _, ...verdict }) => ({ ...verdict, isEarlier: true }));
    const { fileId } = once;
    expect(await openFile(pool, FILE, records)).toEqual({ status: "resumed", fileId, verdicts: earlier });
    const claimed = await claimFile(pool, FILE);
    expect(await goOnWithFile(pool, { connector: "lims", fileId }, claimed, records)).toEqual(earlier);
    expect(await listOrders(pool, { limit: 10 })).toHaveLength(2);
  }));

test("tells a cut-off file how far it got, and the same bytes as a duplicate once they were taken", () =>
  withLedger(async ({ pool }) => {
    const opening = await openFile(pool, FILE);
    const { fileId } = opening;
    const claimed = await claimFile(pool, FILE);
    await goOnWithFile(pool, { connector: "lims", fileId }, claimed, [aRecord(1, [anOrder()])]);
    expect(await openFile(pool, FILE)).toEqual({ status: "resumed", fileId, verdicts: [] });
    await closeFile(pool, opening.fileId, { status: "taken", problems: [] });
    expect(await openFile(pool, { ...FILE, fileName: "again.hl7" })).toMatchObject({
      status: "duplicate",
      firstFileName: "orders.hl7",
    });
  }));

test("takes a refused file again after a correction", () =>
  withLedger(async ({ pool }) => {
    const opening = await openFile(pool, FILE);
    await closeFile(pool, opening.fileId, { status: "refused", problems: [] });
    expect(await openFile(pool, FILE)).toMatchObject({ status: "new", verdicts: [] });
  }));

test("goes on with a file that changed while it was read, when it is there with the same bytes again", () =>
  withLedger(async ({ pool }) => {
    const { fileId } = await openFile(pool, FILE, [aRecord(1, [anOrder()])]);
    const problem = { code: "FILE_CHANGED", place: at("file"), message: "file changed" } as const;
    await closeFile(pool, fileId, { status: "taken", problems: [problem] });
    const resumed = { status: "resumed", fileId, verdicts: [] };
    expect(await openFile(pool, FILE)).toEqual(resumed);
    await closeFile(pool, fileId, { status: "taken", problems: [] });
    expect(await openFile(pool, FILE)).toMatchObject({ status: "duplicate" });
  }));

test("makes no second order of the same message in another file", () =>
  withLedger(async ({ pool }) => {
    const register = anOrder({ operation: "REGISTER", placerOrderNumber: undefined, containers: [] });
    const [id] = await commit(pool, [aRecord(1, [register])]);
    const again = await commit(pool, [{ ...aRecord(1, [register]), message: aMessage(1) }]);
    expect(again).toEqual([id]);
    expect(await listOrders(pool, { limit: 10 })).toHaveLength(1);
  }));

test("makes no second order of the same message twice in one file", () =>
  withLedger(async ({ pool }) => {
    const twin = { ...aRecord(2, [anOrder()]), messageControlId: "C1", message: aMessage(2, "MSH|1") };
    const [first, ...others] = await commit(pool, [aRecord(1, [anOrder()]), twin]);
    expect(others).toEqual([first]);
  }));

test("makes no second order of the same order number with the same content", () =>
  withLedger(async ({ pool }) => {
    const [id] = await commit(pool, [aRecord(1, [anOrder()])]);
    const again = await commit(pool, [aRecord(7, [anOrder()])]);
    expect(again).toEqual([id]);
    const outcomes = await listOpenOutcomes(pool, "lims", 10);
    expect(outcomes.map(({ outcome }) => outcome.kind === "acknowledged" && outcome.isDuplicate)).toEqual([
      false,
      true,
    ]);
  }));

test.each(["cancelled", "rejected", "failed", "discarded"] as const)(
  "tells once more that an order is %s when it is placed again, since nothing comes of it",
  (to) =>
    withLedger(async ({ pool }) => {
      const [orderId] = (await commit(pool, [aRecord(1, [anOrder()])])) as [number];
      await changeOrders(pool, [{ orderId, from: ["received"], to }]);
      await commit(pool, [aRecord(7, [anOrder()])]);
      expect(await reportedKinds(pool)).toEqual(["acknowledged", "acknowledged", `changed ${to}`]);
    }),
);

test("does not tell again of an order that is open or done when it is placed again, nor to a message that is sent again", () =>
  withLedger(async ({ pool }) => {
    const [orderId] = (await commit(pool, [aRecord(1, [anOrder()])])) as [number];
    await commit(pool, [aRecord(7, [anOrder()])]);
    await changeOrders(pool, [{ orderId, from: ["received"], to: "completed" }]);
    await commit(pool, [aRecord(8, [anOrder()])]);
    const [second] = (await commit(pool, [aRecord(9, [anOrder({ placerOrderNumber: "A-2" })])])) as [number];
    await changeOrders(pool, [{ orderId: second, from: ["received"], to: "cancelled" }]);
    await commit(pool, [aRecord(9, [anOrder({ placerOrderNumber: "A-2" })])]);
    expect(new Set(await reportedKinds(pool))).toEqual(new Set(["acknowledged"]));
  }));

test("answers an order that is placed again with the state to which a change brings it at this moment", () =>
  withLedger(async ({ pool }) => {
    const [orderId] = (await commit(pool, [aRecord(1, [anOrder()])])) as [number];
    const link = { surface: "request", requestId: 5 } as const;
    await changeOrders(pool, [{ orderId, from: ["received"], to: "submitted", request: link }]);
    const changing = await pool.connect();
    await changing.query("begin");
    await changeOrdersWithin(changing, [{ orderId, to: "completed", isReported: true }]);
    let isAnswered = false;
    const again = commit(pool, [aRecord(2, [anOrder()])]).then(() => {
      isAnswered = true;
    });
    await isAwaited(pool, () => isAnswered);
    await changing.query("commit");
    changing.release();
    await again;
    const { rows } = await pool.query(
      "select payload->'orders'->0->>'state' as state from outcomes where kind = 'acknowledged' order by id",
    );
    expect(rows).toEqual([{ state: "received" }, { state: "completed" }]);
  }));

test("notes in an order's timeline that it came once more", () =>
  withLedger(async ({ pool }) => {
    const [id] = await commit(pool, [aRecord(1, [anOrder()])]);
    await commit(pool, [aRecord(7, [anOrder()])]);
    const events = await listEvents(pool, id as number);
    expect(events.map(({ kind }) => kind)).toEqual(["received", "repeated"]);
  }));

test("refuses the message of an order whose number an earlier one has, and keeps the order for a person", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    await commit(pool, [aRecord(2, [anOrder({ containers: [{ label: "V-2", description: "" }] })])]);
    const orders = await findOrders(pool, "A-1");
    expect(orders.map((order) => [order.state, order.failure?.code])).toEqual([
      ["parked", "ORDER_NUMBER_REUSED"],
      ["received", undefined],
    ]);
    const outcomes = await listOpenOutcomes(pool, "lims", 10);
    expect(outcomes.map(({ outcome }) => outcome.kind)).toEqual(["acknowledged", "refused"]);
    expect(outcomes[1]?.outcome).toMatchObject({
      message: { messageControlId: "C2" },
      problems: [{ code: "ORDER_NUMBER_REUSED", place: at("message 2") }],
      placerOrderNumber: undefined,
    });
  }));

test("answers a message over its connection as refused whose order has another one's number, every time it comes", () =>
  withLedger(async ({ pool }) => {
    const replyTo: ReplyTo = {
      peer: "10.0.0.9",
      reusedControlId: "take",
      compose: ({ verdict, problems }) =>
        Buffer.from(`${verdict} ${problems.map(({ code }) => code).join()}`),
      isWhole: () => true,
    };
    await commit(pool, [aRecord(1, [anOrder()])]);
    const other = aRecord(2, [anOrder({ containers: [{ label: "V-2", description: "" }] })], { replyTo });
    for (const _time of [1, 2]) {
      const batch = { fileId: null, connector: "lims", records: [other] };
      const [received] = await commitMessages(pool, batch);
      expect(received?.reply?.toString()).toBe("refused ORDER_NUMBER_REUSED");
    }
    expect(await findOrders(pool, "A-1")).toHaveLength(2);
    expect(await reportedKinds(pool)).toEqual(["acknowledged"]);
  }));

test("takes nothing of a message with several orders of which one has another order's number", () =>
  withLedger(async ({ pool }) => {
    const other = anOrder({ containers: [{ label: "V-2", description: "" }] });
    await commit(pool, [aRecord(1, [anOrder()])]);
    await commit(pool, [aRecord(2, [anOrder({ placerOrderNumber: "A-9" }), other])]);
    expect((await listOrders(pool, { limit: 9 })).map(({ placerOrderNumber }) => placerOrderNumber)).toEqual([
      "A-1",
    ]);
    expect(await reportedKinds(pool)).toEqual(["acknowledged", "refused"]);
    const [, refused] = await listOpenOutcomes(pool, "lims", 10);
    expect(refused?.outcome).toMatchObject({
      problems: [{ hint: expect.stringContaining("No order of the message was kept") }],
    });
    await commit(pool, [aRecord(3, [anOrder({ placerOrderNumber: "A-9" })])]);
    expect(await findOrders(pool, "A-9")).toHaveLength(1);
  }));

test.each(["refused", "waiting"] as const)(
  "says of a message that is %s for something else that its number is another order's, and carries it no further",
  (verdict) =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(1, [anOrder()])]);
      const problem = { code: "MAPPING_FACILITY_UNKNOWN", place: at("MSH-4"), message: "unknown" } as const;
      const echoed = { placerOrderNumber: "A-1", echoedNumbers: ["A-0", "A-1"] };
      await commit(pool, [aRecord(2, [], { verdict, problems: [problem], ...echoed })]);
      const [, told] = await listOpenOutcomes(pool, "lims", 10);
      expect(told?.outcome).toMatchObject({
        kind: verdict,
        problems: [problem, { code: "ORDER_NUMBER_REUSED" }],
        placerOrderNumber: undefined,
      });
    }),
);

test("gives one reason for an order control code that is not taken, and no status of the order that it is about", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])]);
    const problem = {
      code: "MAPPING_ORDER_CONTROL_UNSUPPORTED",
      place: at("message 2, ORC-1"),
      message: "holds HD",
    } as const;
    const refused = { verdict: "refused", problems: [problem], echoedNumbers: ["A-1"] } as const;
    await commit(pool, [aRecord(2, [], refused)]);
    const [, reported] = await listOpenOutcomes(pool, "lims", 10);
    expect(reported?.outcome).toMatchObject({ kind: "refused", problems: [problem] });
    expect(reported?.outcome).toHaveProperty("problems.length", 1);
    expect(isNumberTaken(reported?.outcome.kind === "refused" ? reported.outcome.problems : [])).toBe(true);
  }));

test("leaves the number of a refused message alone that no order has", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()], {})], "bench");
    const problem = { code: "MAPPING_DATE_INVALID", place: at("PID-7"), message: "no date" } as const;
    const refused = {
      verdict: "refused",
      problems: [problem],
      placerOrderNumber: "A-1",
      echoedNumbers: ["A-1"],
    } as const;
    await commit(pool, [aRecord(2, [], refused)]);
    const [told] = await listOpenOutcomes(pool, "lims", 10);
    expect(told?.outcome).toMatchObject({ problems: [problem], placerOrderNumber: "A-1" });
  }));

test("takes a contradiction that comes again, as in a list that is sent each night, for the one that is parked", () =>
  withLedger(async ({ pool }) => {
    const other = anOrder({ containers: [{ label: "V-2", description: "" }] });
    await commit(pool, [aRecord(1, [anOrder()])]);
    await commit(pool, [aRecord(2, [other]), aRecord(3, [other])]);
    await commit(pool, [aRecord(4, [other])]);
    const [parked, first, ...more] = await findOrders(pool, "A-1");
    expect([parked?.state, first?.state, more]).toEqual(["parked", "received", []]);
    const kinds = (await listEvents(pool, parked?.id ?? 0)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "repeated")).toHaveLength(2);
    await commit(pool, [aRecord(5, [anOrder({ containers: [{ label: "V-3", description: "" }] })])]);
    expect(await findOrders(pool, "A-1")).toHaveLength(3);
  }));

test("lets two connectors use the same order number", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()])], "lims");
    await commit(pool, [aRecord(1, [anOrder({ code: "OTHER" })])], "bench");
    expect((await listOrders(pool, { limit: 10 })).map((order) => order.state)).toEqual([
      "received",
      "received",
    ]);
  }));

test("keeps a refused message with its problems, and answers it", () =>
  withLedger(async ({ pool }) => {
    const problem = {
      code: "UNCLASSIFIED",
      place: at("message 1, PID-7"),
      message: "expected a date",
    } as const;
    await commit(pool, [aRecord(1, [], { verdict: "refused", problems: [problem] })]);
    const [open] = await listOpenOutcomes(pool, "lims", 10);
    expect(open?.outcome).toMatchObject({ kind: "refused", problems: [problem] });
  }));

test("makes one order of the same order committed by eight connections at once", () =>
  withLedger(async ({ pool }) => {
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, n) => commit(pool, [aRecord(n + 10, [anOrder()])])),
    );
    expect(new Set(all.flat()).size).toBe(1);
  }));

test("makes one order of a message without order number that eight connections commit at once", () =>
  withLedger(async ({ pool }) => {
    const register = (n: number) =>
      aRecord(
        n,
        [anOrder({ operation: "REGISTER", placerOrderNumber: undefined, containers: [], code: `S-${n}` })],
        { message: aMessage(n) },
      );
    // Half of them hold the messages in the other order, which must not make two connections wait for each other.
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, n) =>
        commit(
          pool,
          n % 2 === 0 ? [register(1), register(2), register(3)] : [register(3), register(2), register(1)],
        ),
      ),
    );
    expect(new Set(all.flat()).size).toBe(3);
    expect(await listOrders(pool, { limit: 99 })).toHaveLength(3);
  }));

test("gives every outcome a control id of at most 20 characters that no other has", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()]), aRecord(2, [anOrder({ placerOrderNumber: "A-2" })])]);
    const ids = (await listOpenOutcomes(pool, "lims", 10)).map(({ outcome }) => outcome.controlId);
    expect(ids.every((id) => /^CB[0-9A-Z]{14}$/.test(id))).toBe(true);
    expect(new Set(ids).size).toBe(2);
  }));

test("answers a message that was refused, mapped anew by a person, and is sent once more", () =>
  withLedger(async ({ pool }) => {
    const replyTo: ReplyTo = {
      peer: "10.0.0.9",
      reusedControlId: "take",
      compose: ({ verdict }) => Buffer.from(verdict),
      isWhole: () => true,
    };
    const batch = { fileId: null, connector: "lims" } as const;
    await commitMessages(pool, { ...batch, records: [aRecord(1, [], { verdict: "refused", replyTo })] });
    await commitMessages(pool, { ...batch, replayOf: 1, records: [aRecord(1, [anOrder()])] });
    const [again] = await commitMessages(pool, { ...batch, records: [aRecord(1, [anOrder()], { replyTo })] });
    expect(again).toMatchObject({ verdict: "duplicate", reply: Buffer.from("duplicate") });
  }));
