import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type CsvRowItem, RowKeys } from "../../../src/connectors/csv-drop/order-key.ts";
import { OrderAssembler } from "../../../src/connectors/csv-drop/order-rows.ts";
import { OrderSurvey } from "../../../src/connectors/csv-drop/order-survey.ts";
import type { IncomingMessage } from "../../../src/core/intake.ts";
import { identifyBy } from "./identify.ts";

const COLUMNS = ["order", "label"];
const { identify } = identifyBy("order");
const GROUPING = { header: { delimiter: ",", width: 2 }, columns: COLUMNS, identify, quote: '"' };

/** Rows written as `order,label`; one that ends in `!` could not be read. */
function items(rows: readonly string[]): CsvRowItem[] {
  return rows.map((text, i): CsvRowItem => {
    const line = i + 2;
    const raw = `${text}\n`;
    if (text.endsWith("!")) {
      const problem = { code: "CSV_ROW_RAGGED", place: `line ${line}`, message: "too many" } as const;
      return { kind: "bad-row", problem, line, endLine: line, raw };
    }
    const [order = "", label = ""] = text.split(",");
    const values = new Map([
      ["order", order],
      ["label", label],
    ]);
    return { kind: "row", row: { line, values, raw } };
  });
}

/** Both passes over the rows. */
function assemble(rows: readonly string[], isGrouped = true): IncomingMessage[] {
  const grouping = isGrouped ? GROUPING : { ...GROUPING, identify: undefined };
  const survey = new OrderSurvey();
  const surveyKeys = new RowKeys(grouping);
  for (const item of items(rows)) survey.add(surveyKeys.add(item).key, 10);
  const assembler = new OrderAssembler("order,label\n", survey.result());
  const keys = new RowKeys(grouping);
  const messages = items(rows).flatMap((item) => assembler.add(keys.add(item)));
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
      ],
      placerOrderNumber: "A",
    });
  });

  test("are an order each when nothing groups them", () => {
    expect(assemble(["A,1", "A,2"], false)).toHaveLength(2);
  });

  test("that stand apart are gathered, and come with the last of them", () => {
    expect(assemble(["A,1", "B,1", "A,2", "C,1"]).map(describeMessage)).toEqual([
      "1 line 3 csv",
      "2 lines 2, 4 csv",
      "3 line 5 csv",
    ]);
  });

  test("keep their text, with the header before them", () => {
    const [message] = assemble(["A,1", "B,1", "A,2"]).slice(1);
    expect(message?.raw.reveal().toString()).toBe("order,label\nA,1\nA,2\n");
  });

  test("that can't be read refuse the order they name, and no other", () => {
    const messages = assemble(["A,1", "A,2,3!", "B,1"]);
    expect(messages.map(describeMessage)).toEqual(["1 lines 2-3 unreadable", "2 line 4 csv"]);
    const [first] = messages;
    const codes =
      first?.content.kind === "unreadable" && first.content.problems.map((problem) => problem.code);
    expect(codes).toEqual(["CSV_ROW_RAGGED", "CSV_ORDER_INCOMPLETE"]);
  });

  test("that can't be read refuse the order they name even far away from it", () => {
    expect(assemble(["A,1", "B,1", "A,2,3!"]).map(describeMessage)).toEqual([
      "1 line 3 csv",
      "2 lines 2, 4 unreadable",
    ]);
  });

  test("that can't be read and name no order count to the one above", () => {
    const rows = [",!", "A,1", ",!", "A,2", "B,1", ",!", "C,1"];
    expect(assemble(rows).map(describeMessage)).toEqual([
      "1 line 2 unreadable",
      "2 lines 3-5 unreadable",
      "3 lines 6-7 unreadable",
      "4 line 8 csv",
    ]);
  });

  test("that can't be read and name no order count to none when there are very many", () => {
    const rows = ["A,1", "B,1", ...Array.from({ length: 150 }, () => ",!")];
    expect(assemble(rows)).toHaveLength(2 + 50);
  });

  test("in too great a number are refused as an order without being held", () => {
    const [message] = assemble(Array.from({ length: 6_000 }, () => "A,1"));
    expect(message?.content).toMatchObject({
      kind: "unreadable",
      problems: [{ code: "CSV_ORDER_TOO_LARGE" }],
    });
  });

  test("come out each exactly once, in the same order of numbers each time", () => {
    const row = fc.tuple(fc.constantFrom("", "A", "B", "C", "D"), fc.nat(9), fc.boolean());
    fc.assert(
      fc.property(fc.array(row, { maxLength: 40 }), (drawn) => {
        const rows = drawn.map(([order, label, isBad], i) => `${order},${label}-${i}${isBad ? "!" : ""}`);
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

describe("a survey of order numbers", () => {
  test("finds scattered ones among a hundred thousand", () => {
    const survey = new OrderSurvey();
    for (let i = 0; i < 100_000; i++) survey.add(`PO-${i}`, 50);
    survey.add("PO-17", 50);
    survey.add("PO-99998", 50);
    expect([...survey.result().lastRowByDigest.values()]).toEqual([100_001, 100_002]);
    expect(survey.result().isTooMuch).toBe(false);
  });

  test("says when there is too much to gather", () => {
    const survey = new OrderSurvey();
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 100_001; i++) survey.add(`PO-${i}`, 50);
    }
    expect(survey.result().isTooMuch).toBe(true);
  });

  test("counts the bytes of scattered orders, those of their first rows too", () => {
    const survey = new OrderSurvey();
    survey.add("A", 17 * 1024 * 1024);
    survey.add("B", 10);
    expect(survey.result().isTooMuch).toBe(false);
    survey.add("A", 10);
    expect(survey.result().isTooMuch).toBe(true);
  });
});
