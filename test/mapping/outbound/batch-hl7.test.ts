import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { BatchOutline, Verdict } from "../../../src/core/intake.ts";
import { splitHl7File } from "../../../src/formats/hl7/file.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { type BatchResponseRequest, composeBatchResponse } from "../../../src/mapping/outbound/batch-hl7.ts";

const FHS = "FHS|^~\\&|LIMS|NORTH|CRYO|STORE|20261121||orders||FILE-1";
const BHS = "BHS|^~\\&|LIMS^1.2^ISO|NORTH|CRYO|STORE|20261121||morning||BATCH-1";

const ack = (id: string) => `MSH|^~\\&|||||20261121||ACK|${id}|P|2.5\rMSA|AA|${id}\r`;
const answer = (id: string, verdict: Verdict = "accepted") => ({
  verdict,
  messages: [Buffer.from(ack(id))],
});

function compose(outline: BatchOutline, more: Partial<BatchResponseRequest> = {}): string {
  return composeBatchResponse({
    outline,
    answers: [],
    response: "all",
    time: "20261121120000+0000",
    instanceCode: "ABC123",
    seed: ["f1"],
    settings: { sender: undefined, receiver: undefined },
    ...more,
  }).toString("utf8");
}
const linesOf = (text: string) => text.split("\r").slice(0, -1);

describe("the response to a batch", () => {
  test("goes back to the sender, refers to BHS-11 in BHS-12, and counts its messages", () => {
    const outline = { batches: [{ header: BHS, messages: 2 }] };
    const [bhs, ...rest] = linesOf(compose(outline, { answers: [answer("A"), answer("B")] }));
    expect(bhs?.replace(/CHABC123\w{12}/, "ID")).toBe(
      "BHS|^~\\&|CRYO|STORE|LIMS^1.2^ISO|NORTH|20261121120000+0000||||ID|BATCH-1",
    );
    expect(rest.filter((line) => line.startsWith("MSA"))).toEqual(["MSA|AA|A", "MSA|AA|B"]);
    expect(rest.at(-1)).toBe("BTS|2");
  });

  test("refers to FHS-11 and BHS-11 as the sender wrote them", () => {
    const id = "F\\T\\1^NORTH&1.2~X";
    const batches = [{ header: BHS.replace("BATCH-1", id), messages: 0 }];
    const lines = linesOf(compose({ fileHeader: FHS.replace("FILE-1", id), batches }));
    expect(lines.slice(0, 2).map((line) => line.split("|")[11])).toEqual([id, id]);
  });

  test("of a file has FHS and FTS around, with FHS-11 in FHS-12 and the number of batches", () => {
    const batches = [
      { header: BHS, messages: 1 },
      { header: BHS.replace("-1", "-2"), messages: 1 },
    ];
    const lines = linesOf(compose({ fileHeader: FHS, batches }, { answers: [answer("A"), answer("B")] }));
    expect(lines[0]).toMatch(/^FHS\|.*\|CHABC123\w{12}\|FILE-1$/);
    expect(lines.filter((line) => line.startsWith("BHS")).map((line) => line.split("|")[11])).toEqual([
      "BATCH-1",
      "BATCH-2",
    ]);
    expect(lines.at(-1)).toBe("FTS|2");
    // Three headers, three control ids.
    expect(
      new Set(lines.filter((line) => /^[FB]HS/.test(line)).map((line) => line.split("|")[10])).size,
    ).toBe(3);
  });

  test("with errors only leaves out what was taken, and an empty one says that all went well", () => {
    const outline = {
      batches: [
        { header: BHS, messages: 4 },
        { header: BHS, messages: 1 },
      ],
    };
    const verdicts = ["accepted", "refused", "waiting", "duplicate", "accepted"] as const;
    const answers = verdicts.map((verdict, i) => answer(`M${i}`, verdict));
    const lines = linesOf(compose(outline, { answers, response: "errors" }));
    expect(lines.filter((line) => line.startsWith("MSA"))).toEqual(["MSA|AA|M1", "MSA|AA|M2"]);
    expect(lines.filter((line) => line.startsWith("BTS"))).toEqual(["BTS|2", "BTS|0"]);
  });

  test("counts two messages where one was answered by an accept and an application acknowledgement", () => {
    const answers = [
      { verdict: "accepted", messages: [ack("A"), ack("B")].map((text) => Buffer.from(text)) } as const,
    ];
    expect(linesOf(compose({ batches: [{ header: BHS, messages: 1 }] }, { answers })).at(-1)).toBe("BTS|2");
  });

  test("has a batch without a reference for messages outside any", () => {
    const outline = { batches: [{ messages: 1 }, { header: BHS, messages: 1 }] };
    const lines = linesOf(compose(outline, { answers: [answer("A"), answer("B")] }));
    expect(lines.filter((line) => line.startsWith("BHS")).map((line) => line.split("|")[11])).toEqual([
      undefined,
      "BATCH-1",
    ]);
  });

  test("holds the one answer to a file that was refused as a whole", () => {
    const outline = {
      batches: [
        { header: BHS, messages: 3 },
        { header: BHS, messages: 3 },
      ],
    };
    const lines = linesOf(compose(outline, { answers: [answer("A", "refused")], response: "errors" }));
    expect(lines.map((line) => line.slice(0, 3))).toEqual(["BHS", "MSH", "MSA", "BTS"]);
  });

  test("is written with the delimiters of the header that it answers", () => {
    const header = "BHS@*!%?@LIMS@NORTH@CRYO@STORE@@@@@B*1";
    const lines = linesOf(compose({ batches: [{ header, messages: 1 }] }, { answers: [answer("A")] }));
    expect(lines[0]).toMatch(/^BHS@\*!%\?@CRYO@STORE@LIMS@NORTH@20261121120000\+0000@@@@CH\w{18}@B\*1$/);
    expect(lines.at(-1)).toBe("BTS@1");
  });

  test("goes between the parties that the profile names", () => {
    const settings = { sender: { application: "BRIDGE" }, receiver: { application: "RES", facility: "LAB" } };
    const [bhs] = linesOf(compose({ batches: [{ header: BHS, messages: 0 }] }, { settings }));
    expect(bhs).toMatch(/^BHS\|\^~\\&\|BRIDGE\|STORE\|RES\|LAB\|/);
  });

  test("refers to nothing where the header can't be read", () => {
    expect(linesOf(compose({ batches: [{ header: "BHS", messages: 0 }] }))).toEqual([
      expect.stringMatching(/^BHS\|\^~\\&\|\|\|\|\|20261121120000\+0000\|\|\|\|CH\w{18}$/),
      "BTS|0",
    ]);
  });

  test("is the same for the same request, and has other control ids for another", () => {
    const outline = { batches: [{ header: BHS, messages: 0 }] };
    expect(compose(outline)).toBe(compose(outline));
    expect(compose(outline, { seed: ["f2"] })).not.toBe(compose(outline));
  });

  test("is read back as a batch of right counts, whatever its header holds", () => {
    const text = fc.string({
      unit: fc.constantFrom(..."a|^~\\&\r\n\v\x1c\0#é", "\\F\\", "\rMSH|", "\rBTS|9"),
    });
    const property = fc.property(text, text, fc.nat(5), (id, party, count) => {
      const header = `BHS|^~\\&|${party}||||||||${id}`.replace(/[\r\n]/g, "");
      const answers = Array.from({ length: count }, (_, i) => answer(`M${i}`));
      const response = compose(
        { fileHeader: header.replace("BHS", "FHS"), batches: [{ header, messages: count }] },
        { answers },
      );
      const { parts, problems } = splitHl7File(Buffer.from(response));
      expect(problems).toEqual([]);
      expect(parts.map(({ raw }) => raw.toString())).toEqual(
        answers.map(({ messages }) => messages[0]?.toString()),
      );
      expect([..."\0\v\x1c"].filter((character) => response.includes(character))).toEqual([]);
      expect(linesOf(response)).toHaveLength(4 + 2 * count);
    });
    fc.assert(property, { numRuns: 300 });
  });

  test("refers to a control id that holds delimiters by the same", () => {
    const header = "BHS|^~\\&|||||||||B\\F\\1";
    const [bhs = ""] = linesOf(compose({ batches: [{ header, messages: 0 }] }));
    expect(Hl7Message.parse(bhs.replace("BHS", "MSH")).segments[0]?.get(12)).toBe("B|1");
  });
});
