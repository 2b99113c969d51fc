import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { phi } from "../../src/core/phi.ts";
import { parseId } from "../../src/ledger/ids.ts";
import { commitMessages } from "../../src/ledger/messages/commit.ts";
import type { MessageRecord } from "../../src/ledger/messages/record.ts";
import { findMessage, listMessages } from "../../src/ledger/messages/views.ts";
import { listOrders } from "../../src/ledger/operator/views.ts";
import { listOpenOutcomes } from "../../src/ledger/results/outcomes.ts";
import { openFile } from "../support/files.ts";
import { aMessage, anOrder, aRecord, commit } from "../support/orders.ts";
import { at } from "../support/places.ts";
import { withLedger } from "../support/with-ledger.ts";

/** Too long for any index, and nothing that a compression shortens. */
const ENDLESS = randomBytes(6_000).toString("base64");

const subject = { code: phi("SUBJ-1"), firstName: phi("Ada"), lastName: phi("Exa\0mple") };
const problem = { code: "UNCLASSIFIED", place: at("message 2, PID-7"), message: "holds \0" } as const;
const csv = phi([{ line: 2, values: new Map([["order_number", "A\0"]]) }]);

/** Records of which the database can't hold one value each. */
const SPOILT: readonly (readonly [string, MessageRecord])[] = [
  ["a NUL in a name", aRecord(2, [anOrder({ placerOrderNumber: "A-2", subject })])],
  [
    "half of a character in a label",
    aRecord(2, [anOrder({ containers: [{ label: "V-\ud800", description: "" }] })]),
  ],
  ["a NUL in the control id", aRecord(2, [anOrder()], { messageControlId: "C\x002" })],
  ["a NUL in the message type", aRecord(2, [], { verdict: "ignored", messageType: "ADT^\0" })],
  ["a NUL in a problem's words", aRecord(2, [], { verdict: "refused", problems: [problem] })],
  [
    "a NUL in the order number of a refused message",
    aRecord(2, [], { verdict: "refused", placerOrderNumber: "\0" }),
  ],
  ["a NUL in a cell", aRecord(2, [], { message: { ...aMessage(2), content: { kind: "csv", rows: csv } } })],
  ["an endless order number", aRecord(2, [anOrder({ placerOrderNumber: ENDLESS })])],
  ["an endless control id", aRecord(2, [anOrder()], { messageControlId: ENDLESS })],
  ["an endless label", aRecord(2, [anOrder({ containers: [{ label: ENDLESS, description: "" }] })])],
  ["an endless subject code", aRecord(2, [anOrder({ code: ENDLESS })])],
];

describe("a message with a value that the database can't hold", () => {
  test.each(SPOILT)("is kept as refused, and answered: %s", (_what, spoilt) =>
    withLedger(async ({ pool }) => {
      await commit(pool, [spoilt]);
      const [message] = await listMessages(pool, { limit: 10 });
      expect(message).toMatchObject({
        verdict: "refused",
        place: at("message 2"),
        messageControlId: undefined,
      });
      expect(message?.problems.map(({ code, place }) => [code, place])).toEqual([
        ["LEDGER_VALUE_UNSTORABLE", "message 2"],
      ]);
      const kept = await findMessage(pool, parseId("m", message?.messageId ?? "") as number);
      expect(kept?.raw?.toString()).toBe("MSH|2");
      const [open] = await listOpenOutcomes(pool, "lims", 10);
      expect(open?.outcome).toMatchObject({ kind: "refused", problems: message?.problems });
      expect(await listOrders(pool, { limit: 10 })).toEqual([]);
    }),
  );

  test("stops none of the others that came with it", () =>
    withLedger(async ({ pool }) => {
      const records = [
        aRecord(1, [anOrder({ placerOrderNumber: "A-1" })]),
        ...SPOILT.map(([, record], n) => ({ ...record, message: { ...record.message, ordinal: n + 2 } })),
        aRecord(99, [anOrder({ placerOrderNumber: "A-99" })]),
      ];
      const ids = await commit(pool, records);
      expect(
        (await listOrders(pool, { limit: 99 })).map((order) => [order.id, order.placerOrderNumber]),
      ).toEqual([
        [ids[1], "A-99"],
        [ids[0], "A-1"],
      ]);
      const messages = await listMessages(pool, { limit: 99 });
      expect(messages.filter(({ verdict }) => verdict === "refused")).toHaveLength(SPOILT.length);
    }));

  test("is answered in the response to its batch alone where that answers it", () =>
    withLedger(async ({ pool }) => {
      await commit(pool, [aRecord(2, [anOrder({ subject })], { isAnsweredInBatch: true })]);
      expect(await listOpenOutcomes(pool, "lims", 10)).toEqual([]);
    }));

  test("is given the same verdict when its file is read again", () =>
    withLedger(async ({ pool }) => {
      const file = { connector: "lims", fileName: "f.hl7", sha256: "cd".repeat(32), sizeBytes: 1 };
      const spoilt = aRecord(2, [anOrder({ subject })]);
      const records = [aRecord(1, [anOrder()]), spoilt];
      for (const status of ["new", "resumed"])
        expect(await openFile(pool, file, records)).toMatchObject({
          status,
          verdicts: [{ verdict: "accepted" }, { verdict: "refused" }],
        });
    }));

  test("is refused again when it is replayed as it was", () =>
    withLedger(async ({ pool }) => {
      const spoilt = aRecord(2, [anOrder({ subject })]);
      await commit(pool, [spoilt]);
      const [first] = await listMessages(pool, { limit: 1 });
      const replayOf = parseId("m", first?.messageId ?? "") as number;
      const [verdict] = await commitMessages(pool, {
        fileId: null,
        connector: "lims",
        replayOf,
        records: [spoilt],
      });
      expect(verdict).toMatchObject({ verdict: "refused", problems: [{ code: "LEDGER_VALUE_UNSTORABLE" }] });
    }));
});
