import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { OrdersOfFile } from "../../../src/connectors/csv-drop/orders.ts";
import type { IncomingMessage } from "../../../src/core/intake.ts";
import { placeText } from "../../../src/core/place.ts";
import { readCsv } from "../../../src/formats/csv/read.ts";
import { DEFAULT_DIALECT } from "../../formats/csv/source.ts";
import { readingBy } from "./reading.ts";

const { identify } = readingBy("order");

/** What rows written as `order,label,subject,operation` come to. */
async function assemble(rows: readonly string[]): Promise<IncomingMessage[]> {
  const lines = rows.map((text) => {
    const [order = "", label = "", subject = "", operation = "STORE"] = text.split(",");
    return `${order},${label},${subject},${operation}\n`;
  });
  const file = await readCsv(Buffer.from(HEADER + lines.join("")), { ...DEFAULT_DIALECT, delimiter: "," });
  const orders = new OrdersOfFile({ identify });
  for await (const row of file.rows) orders.add(row);
  return [...orders.messages(file.header)];
}

const HEADER = "order,label,subject,operation\n";

function describeMessage({ ordinal, place, content }: IncomingMessage): string {
  return `${ordinal} ${placeText(place)} ${content.kind}`;
}

describe("rows of a CSV file", () => {
  test("with the same order number make up one order", async () => {
    expect((await assemble(["A,1", "A,2", "B,1"])).map(describeMessage)).toEqual([
      "1 lines 2-3 csv",
      "2 line 4 csv",
    ]);
  });

  test("without an order number are an order each above all orders", async () => {
    expect((await assemble([",1", ",2"])).map(describeMessage)).toEqual(["1 line 2 csv", "2 line 3 csv"]);
  });

  test("without an order number refuse the order above, which they may be part of", async () => {
    const messages = await assemble(["A,1", ",2", ",3", "B,1"]);
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

  test("without an order number are no part of the order above when they name another subject", async () => {
    expect((await assemble(["A,1,S", ",2,T"])).map(describeMessage)).toEqual([
      "1 line 2 csv",
      "2 line 3 csv",
    ]);
  });

  test("without an order number refuse the order above when its number stands in another column", async () => {
    expect((await assemble(["A,1,S", ",A,T"])).map(describeMessage)).toEqual(["1 lines 2-3 unreadable"]);
  });

  test("that stand apart are gathered, and come with the last of them", async () => {
    expect((await assemble(["A,1", "B,1", "A,2", "C,1"])).map(describeMessage)).toEqual([
      "1 line 3 csv",
      "2 lines 2, 4 csv",
      "3 line 5 csv",
    ]);
  });

  test("that want something of an order are a message of their own behind it", async () => {
    const messages = await assemble(["A,1", "A,2", "A,,,CANCEL", "B,1"]);
    expect(messages.map(describeMessage)).toEqual(["1 lines 2-3 csv", "2 line 4 csv", "3 line 5 csv"]);
    const scattered = await assemble(["A,1", "B,1", "A,,,CANCEL", "A,,,CANCEL"]);
    expect(scattered.map(describeMessage)).toEqual(["1 line 3 csv", "2 line 2 csv", "3 lines 4-5 csv"]);
  });

  test("that want something of an order are taken though that has a row too few", async () => {
    const messages = await assemble(["A,1", ",2", "A,,,CANCEL"]);
    expect(messages.map(describeMessage)).toEqual(["1 lines 2-3 unreadable", "2 line 4 csv"]);
  });

  test("refuse an order that stands below what is wanted of it, since nobody can say what is meant", async () => {
    const messages = await assemble(["A,,,CANCEL", "A,1"]);
    expect(messages.map(describeMessage)).toEqual(["1 line 3 unreadable", "2 line 2 csv"]);
    expect(messages[0]?.content).toMatchObject({
      problems: [{ code: "MAPPING_VALUES_DISAGREE", place: "line 3" }],
      placerOrderNumber: "A",
    });
  });

  test("keep their text, with the header before them", async () => {
    const [message] = (await assemble(["A,1", "B,1", "A,2"])).slice(1);
    expect(message?.raw.reveal().toString()).toBe(`${HEADER}A,1,,STORE\nA,2,,STORE\n`);
  });

  test("in too great a number are refused as an order without being kept", async () => {
    const [message] = await assemble(Array.from({ length: 6_000 }, () => "A,1"));
    expect(message?.content).toMatchObject({
      kind: "unreadable",
      problems: [{ code: "CSV_ORDER_TOO_LARGE" }],
    });
  });

  test("come out each exactly once, in the same order of numbers each time", async () => {
    const row = fc.tuple(fc.constantFrom("", "A", "B", "C", "D"), fc.nat(9));
    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 40 }), async (drawn) => {
        const rows = drawn.map(([order, label], i) => `${order},${label}-${i},,STORE`);
        const messages = await assemble(rows);
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
        expect(await assemble(rows)).toEqual(messages);
      }),
    );
  });
});
