import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { placeText } from "../../../src/core/place.ts";
import { decodeHl7 } from "../../../src/formats/hl7/charset.ts";
import { splitHl7File } from "../../../src/formats/hl7/file.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";

const FIRST = "MSH|^~\\&|LIMS|NORTH|||20261121||ORM^O01|M1|P|2.3\rPID|1||A17\r";
const SECOND = "MSH|^~\\&|LIMS|NORTH|||20261121||ORM^O01|M2|P|2.3\rPID|1||B9\r";
const split = (text: string) => splitHl7File(Buffer.from(text, "latin1"));
const rawsOf = (text: string) => split(text).parts.map((part) => part.raw.toString("latin1"));
const codesOf = (text: string) =>
  split(text).problems.map(({ code, place }) => `${code} at ${placeText(place)}`);

describe("splitting a file into messages", () => {
  it.each([
    ["one message", FIRST, [FIRST]],
    ["several messages", FIRST + SECOND, [FIRST, SECOND]],
    ["a last message without line end", FIRST + SECOND.trimEnd(), [FIRST, SECOND.trimEnd()]],
    ["blank lines around messages", `\r\r${FIRST}\r\r${SECOND}\r`, [FIRST, SECOND]],
    ["spaces on a line between messages", `${FIRST}  \r${SECOND}`, [FIRST, SECOND]],
    ["a trailing end-of-file mark", `${FIRST}\u001a`, [FIRST]],
    ["MLLP frames", `\u000b${FIRST}\u001c\r\u000b${SECOND}\u001c\r`, [FIRST, SECOND]],
    [
      "MLLP frames without line end before the end block",
      `\u000b${FIRST.trimEnd()}\u001c\r\u000b${SECOND.trimEnd()}\u001c`,
      [FIRST.trimEnd(), SECOND.trimEnd()],
    ],
    [
      "MLLP frames with nothing between",
      `\u000b${FIRST.trimEnd()}\u001c\u000b${SECOND.trimEnd()}\u001c`,
      [FIRST.trimEnd(), SECOND.trimEnd()],
    ],
    ["a byte order mark", `\xef\xbb\xbf${FIRST}`, [FIRST]],
    [
      "files that were joined, each with its byte order mark",
      `\xef\xbb\xbf${FIRST}\xef\xbb\xbf${SECOND}`,
      [FIRST, SECOND],
    ],
  ])("takes %s", (_, text, raws) => {
    expect(rawsOf(text)).toEqual(raws);
    expect(codesOf(text)).toEqual([]);
  });

  it.each([
    ["CR", "\r"],
    ["LF", "\n"],
    ["CRLF", "\r\n"],
  ])("takes lines ended by %s, byte for byte", (_, lineEnd) => {
    const [first, second] = [FIRST, SECOND].map((message) => message.replaceAll("\r", lineEnd));
    expect(rawsOf(`${first}${lineEnd}${second}`)).toEqual([first, second]);
  });

  it("numbers messages and the lines on which they begin", () => {
    const { parts } = split(`\n${FIRST.replaceAll("\r", "\r\n")}\r\n${SECOND}`);
    expect(parts.map(({ ordinal, line }) => [ordinal, line])).toEqual([
      [1, 2],
      [2, 5],
    ]);
  });

  it("leaves a line that is no segment in its message, for that message alone to be refused", () => {
    expect(rawsOf(`${FIRST}free text\r${SECOND}`)).toEqual([`${FIRST}free text\r`, SECOND]);
  });

  it("keeps an end block inside a line as the message's own", () => {
    expect(rawsOf(`${FIRST}NTE|1||a\u001cb\r`)).toEqual([`${FIRST}NTE|1||a\u001cb\r`]);
  });

  it("takes UTF-16 with a byte order mark or without, and each part can be decoded by itself", () => {
    const text = `${FIRST}PID|1||Łódź\r${SECOND}`;
    const marked = Buffer.from(`\ufeff${text}`, "utf16le");
    const plain = Buffer.from(text, "utf16le");
    for (const bytes of [marked, Buffer.from(marked).swap16(), plain, Buffer.from(plain).swap16()]) {
      const { parts, problems } = splitHl7File(bytes);
      expect(problems).toEqual([]);
      expect(parts.map((part) => decodeHl7(part.raw).text)).toEqual([`${FIRST}PID|1||Łódź\r`, SECOND]);
    }
  });

  it("gives each message back whole, whatever line ends and blanks stand between", () => {
    const lineEnd = fc.constantFrom("\r", "\n", "\r\n");
    const message = fc
      .tuple(lineEnd, fc.array(fc.constantFrom("PID|1||A17", "OBR|1", "NTE|1||MSH|x"), { maxLength: 4 }))
      .map(([end, lines]) =>
        ["MSH|^~\\&|L|F||||ORM^O01|M|P|2.5", ...lines].map((line) => line + end).join(""),
      );
    const gap = fc.array(fc.constantFrom("\r", "\n", "\r\n", "\u001c\r", "\u000b"), { maxLength: 3 });
    fc.assert(
      fc.property(fc.array(fc.tuple(message, gap), { minLength: 1, maxLength: 5 }), (pieces) => {
        // A lone LF after a CR would read as one CRLF, which belongs to the message before.
        const text = pieces.map(([raw, between]) => `${raw}\u000b${between.join("")}`).join("");
        expect(rawsOf(text)).toEqual(pieces.map(([raw]) => raw));
      }),
    );
  });

  it("takes a million blank lines and a million end blocks in linear time", () => {
    expect(rawsOf(`${"\r".repeat(1_000_000)}${FIRST}`)).toEqual([FIRST]);
    expect(rawsOf(`${FIRST}${"\u001c".repeat(1_000_000)}x\r`)).toHaveLength(1);
  });
});

describe("a file that is refused as a whole", () => {
  it.each([
    ["nothing", "", "HL7_FILE_EMPTY at file"],
    ["blank lines only", "\r\n \r\n\u001a", "HL7_FILE_EMPTY at file"],
    ["a byte order mark only", "\xef\xbb\xbf", "HL7_FILE_EMPTY at file"],
    ["NUL bytes", `${FIRST}\0`, `HL7_FILE_BINARY at byte ${FIRST.length}`],
    ["text without any MSH", "\rPID|1||A17\r", "HL7_NO_MSH at line 2"],
    ["text before the first MSH", `hello\r${FIRST}`, "HL7_FILE_TEXT_OUTSIDE at line 1"],
    ["MSH as part of a longer word", "MSHX|^~\\&|\r", "HL7_NO_MSH at line 1"],
    [
      "text between batches",
      `BHS|^~\\&\rBTS|0\rhello\rBHS|^~\\&\rBTS|0\r`,
      "HL7_FILE_TEXT_OUTSIDE at line 3",
    ],
  ])("for %s", (_, text, problem) => {
    const { parts, problems } = split(text);
    expect(problems.map(({ code, place }) => `${code} at ${placeText(place)}`)).toEqual([problem]);
    expect(parts).toEqual([]);
  });
});

describe("batches", () => {
  const FHS = "FHS|^~\\&|LIMS|NORTH|||||F-1.hl7||FILE7\r";
  const BHS = "BHS|^~\\&|LIMS|NORTH|||||||BATCH3\r";

  it("give their messages with BHS-11, and the file its FHS-11", () => {
    const file = split(`${FHS}${BHS}${FIRST}${SECOND}BTS|2\rFTS|1\r`);
    expect(file.problems).toEqual([]);
    expect(file.fileControlId).toBe("FILE7");
    expect(file.parts.map(({ ordinal, batchControlId }) => [ordinal, batchControlId])).toEqual([
      [1, "BATCH3"],
      [2, "BATCH3"],
    ]);
    expect(file.parts.map((part) => part.raw.toString())).toEqual([FIRST, SECOND]);
  });

  it.each([
    ["a batch without file header", `${BHS}${FIRST}BTS|1\r`],
    ["a file without batch header, counted as one batch", `${FHS}${FIRST}${SECOND}FTS|1\r`],
    ["a file without batch header, counted as none", `${FHS}${FIRST}FTS|0\r`],
    ["a file without batch header, each message counted", `${FHS}${FIRST}${SECOND}FTS|2\r`],
    ["empty counts", `${FHS}${BHS}${FIRST}BTS\rFTS||text\r`],
    ["no message at all", `${FHS}FTS|0\r`],
    ["several batches", `${FHS}${BHS}${FIRST}BTS|1\r${BHS}BTS|0\rFTS|2\r`],
    ["no final line end", `${BHS}${FIRST}BTS|1`],
    ["CRLF", `${FHS}${BHS}${FIRST}BTS|1\rFTS|1\r`.replaceAll("\r", "\r\n")],
    ["other delimiters in its headers", `BHS#*~\\&#LIMS\r${FIRST}BTS#1\r`],
    ["messages outside a batch", `${FIRST}${BHS}${SECOND}BTS|1\r`],
  ])("are taken with %s", (_, text) => {
    expect(codesOf(text)).toEqual([]);
  });

  it.each([
    ["BTS-1 too high", `${BHS}${FIRST}BTS|2\r`, "HL7_BATCH_COUNT at line 4"],
    ["BTS-1 too low", `${BHS}${FIRST}${SECOND}BTS|1\r`, "HL7_BATCH_COUNT at line 6"],
    ["BTS-1 that is no number", `${BHS}${FIRST}BTS|one\r`, "HL7_BATCH_COUNT at line 4"],
    ["FTS-1 wrong", `${FHS}${BHS}${FIRST}BTS|1\rFTS|3\r`, "HL7_BATCH_COUNT at line 6"],
    ["FTS-1 counting more messages", `${FHS}${FIRST}${SECOND}FTS|3\r`, "HL7_BATCH_COUNT at line 6"],
    [
      "FTS-1 counting messages beside a batch",
      `${FHS}${FIRST}${SECOND}${BHS}BTS|0\rFTS|3\r`,
      "HL7_BATCH_COUNT at line 8",
    ],
    ["BHS without BTS", `${BHS}${FIRST}`, "HL7_BATCH_INCOMPLETE at line 1"],
    ["a second BHS before BTS", `${BHS}${FIRST}${BHS}BTS|0\r`, "HL7_BATCH_INCOMPLETE at line 1"],
    ["FHS without FTS", `${FHS}${BHS}${FIRST}BTS|1\r`, "HL7_BATCH_INCOMPLETE at line 1"],
    ["FTS before BTS", `${FHS}${BHS}${FIRST}FTS|1\r`, "HL7_BATCH_INCOMPLETE at line 2"],
    ["BTS without BHS", `${FIRST}BTS|1\r`, "HL7_BATCH_INCOMPLETE at line 3"],
    ["FTS without FHS", `${BHS}${FIRST}BTS|1\rFTS|1\r`, "HL7_BATCH_INCOMPLETE at line 5"],
    ["FHS after messages", `${FIRST}${FHS}FTS|0\r`, "HL7_BATCH_INCOMPLETE at line 3"],
  ])("are refused whole for %s", (_, text, problem) => {
    const { parts, problems } = split(text);
    expect(problems.map(({ code, place }) => `${code} at ${placeText(place)}`)[0]).toBe(problem);
    expect(parts).toEqual([]);
  });

  it("do not let a cut file through, wherever it was cut after its header", () => {
    const whole = `${FHS}${BHS}${FIRST}${SECOND}BTS|2\rFTS|1\r`;
    // Up to the last four bytes, `FTS` without its count is a whole trailer.
    for (let length = FHS.length; length < whole.length - "S|1\r".length; length++) {
      expect(split(whole.slice(0, length)).parts).toEqual([]);
    }
  });

  it("hold messages that can each be parsed", () => {
    const { parts } = split(`${BHS}${FIRST}${SECOND}BTS|2\r`);
    expect(parts.map((part) => Hl7Message.parse(part.raw.toString()).header.messageControlId)).toEqual([
      "M1",
      "M2",
    ]);
  });
});
