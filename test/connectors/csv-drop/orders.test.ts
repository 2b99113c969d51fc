import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { OrderAssembler, RowKeys } from "../../../src/connectors/csv-drop/orders.ts";
import { ScatterFinder } from "../../../src/connectors/csv-drop/scattered-orders.ts";
import type { IncomingMessage } from "../../../src/core/intake.ts";
import type { CsvRecord } from "../../../src/formats/csv/read.ts";
import { readingBy } from "./reading.ts";

const { identify } = readingBy("order");

/** Rows written as `order,label,subject,operation`. */
function records(rows: readonly string[]): CsvRecord[] {
  return rows.map((text, i) => {
    const [order = "", label = "", subject = "", operation = "STORE"] = text.split(",");
    const values = new Map(Object.entries({ order, label, subject, operation }));
    return { line: i + 2, values, raw: `${text}\n` };
  });
}

/** Both passes over the rows. */
function assemble(rows: readonly string[]): IncomingMessage[] {
  const finder = new ScatterFinder();
  const surveyKeys = new RowKeys(identify);
  for (const row of records(rows)) finder.add(surveyKeys.add(row).key, 10);
  const assembler = new OrderAssembler("order,label\n", finder.result());
  const keys = new RowKeys(identify);
  const messages = records(rows).flatMap((row) => assembler.add(keys.add(row)));
  return [...messages, ...assembler.end()];
}

function describeMessage({ ordinal, place, content }: IncomingMessage): string {
  return `${ordinal} ${place} ${content.kind}`;
}

describe("rows of a CSV file", () => {
  test("with the same order number make up one order", () => {
    expect(assemble(["A,1", "A,2", "B,1"]).map(describeMessage)).toEqual(["1 lines 2-3 csv", "2 line 4 csv"]);
  });

  test("without an order number are an order each above all orders", () => {
    expect(assemble([",1", ",2"]).map(describeMessage)).toEqual(["1 line 2 csv", "2 line 3 csv"]);
  });

  test("without an order number refuse the order above, which they may be part of", () => {
    const messages = assemble(["A,1", ",2", ",3", "B,1"]);
    expect(messages.map(describeMessage)).toEqual(["1 lines 2-4 unreadable", "2 line 5 csv"]);
    expect(messages[0]?.content).toMatchObject({
      problems: [
        { code: "CSV_ORDER_INCOMPLETE", place: "line 3" },
        { code: "CSV_ORDER_INCOMPLETE", place: "line 4" },
        {
          code: "CSV_ROW_OF_REFUSED_ORDER",
          place: "line 2",
          message: expect.stringContaining("since line 3 is of the same order"),
        },
      ],
      placerOrderNumber: "A",
    });
  });

  test("without an order number are no part of the order above when they name another subject", () => {
    expect(assemble(["A,1,S", ",2,T"]).map(describeMessage)).toEqual(["1 line 2 csv", "2 line 3 csv"]);
  });

  test("without an order number refuse the order above when its number stands in another column", () => {
    expect(assemble(["A,1,S", ",A,T"]).map(describeMessage)).toEqual(["1 lines 2-3 unreadable"]);
  });

  test("that stand apart are gathered, and come with the last of them", () => {
    expect(assemble(["A,1", "B,1", "A,2", "C,1"]).map(describeMessage)).toEqual([
      "1 line 3 csv",
      "2 lines 2, 4 csv",
      "3 line 5 csv",
    ]);
  });

  test("that want something of an order are a message of their own behind it", () => {
    const messages = assemble(["A,1", "A,2", "A,,,CANCEL", "B,1"]);
    expect(messages.map(describeMessage)).toEqual(["1 lines 2-3 csv", "2 line 4 csv", "3 line 5 csv"]);
    const scattered = assemble(["A,1", "B,1", "A,,,CANCEL", "A,,,CANCEL"]);
    expect(scattered.map(describeMessage)).toEqual(["1 line 3 csv", "2 line 2 csv", "3 lines 4-5 csv"]);
  });

  test("that want something of an order are taken though that has a row too few", () => {
    const messages = assemble(["A,1", ",2", "A,,,CANCEL"]);
    expect(messages.map(describeMessage)).toEqual(["1 lines 2-3 unreadable", "2 line 4 csv"]);
  });

  test("refuse an order that stands below what is wanted of it, since nobody can say what is meant", () => {
    const messages = assemble(["A,,,CANCEL", "A,1"]);
    expect(messages.map(describeMessage)).toEqual(["1 line 3 unreadable", "2 line 2 csv"]);
    expect(messages[0]?.content).toMatchObject({
      problems: [{ code: "MAPPING_VALUES_DISAGREE", place: "line 3" }],
      placerOrderNumber: "A",
    });
  });

  test("keep their text, with the header before them", () => {
    const [message] = assemble(["A,1", "B,1", "A,2"]).slice(1);
    expect(message?.raw.reveal().toString()).toBe("order,label\nA,1\nA,2\n");
  });

  test("in too great a number are refused as an order without being kept", () => {
    const [message] = assemble(Array.from({ length: 6_000 }, () => "A,1"));
    expect(message?.content).toMatchObject({
      kind: "unreadable",
      problems: [{ code: "CSV_ORDER_TOO_LARGE" }],
    });
  });

  test("come out each exactly once, in the same order of numbers each time", () => {
    const row = fc.tuple(fc.constantFrom("", "A", "B", "C", "D"), fc.nat(9));
    fc.assert(
      fc.property(fc.array(row, { maxLength: 40 }), (drawn) => {
        const rows = drawn.map(([order, label], i) => `${order},${label}-${i}`);
        const messages = assemble(rows);
        const lines = messages.flatMap((message) =>
          message.raw.reveal().toString().trimEnd().split("\n").slice(1),
        );
        expect(lines.sort()).toEqual([...rows].sort());
        expect(messages.map((message) => message.ordinal)).toEqual(messages.map((_, i) => i + 1));
        const orders = messages.map(
          (message) => message.raw.reveal().toString().split("\n")[1]?.split(",")[0],
        );
        const named = orders.filter((order) => order !== "");
        expect(new Set(named).size).toBe(named.length);
        expect(assemble(rows)).toEqual(messages);
      }),
    );
  });
});

describe("the finder of scattered orders", () => {
  test("finds scattered ones among a hundred thousand", () => {
    const finder = new ScatterFinder();
    for (let i = 0; i < 100_000; i++) finder.add(`PO-${i}`, 50);
    finder.add("PO-17", 50);
    finder.add("PO-99998", 50);
    expect([...finder.result().lastRowByDigest.values()]).toEqual([100_001, 100_002]);
    expect(finder.result().isTooMuch).toBe(false);
  });

  test("says when there is too much to gather", () => {
    const finder = new ScatterFinder();
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 100_001; i++) finder.add(`PO-${i}`, 50);
    }
    expect(finder.result().isTooMuch).toBe(true);
  });

  test("counts the bytes of scattered orders, those of their first rows too", () => {
    const finder = new ScatterFinder();
    finder.add("A", 17 * 1024 * 1024);
    finder.add("B", 10);
    expect(finder.result().isTooMuch).toBe(false);
    finder.add("A", 10);
    expect(finder.result().isTooMuch).toBe(true);
  });
});
