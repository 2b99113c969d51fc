import { describe, expect, it } from "vitest";
import { type AnswerSettings, answerFrame } from "../../src/cli/commands/hl7/answer.ts";
import { hl7Text } from "./with-lab.ts";

const NOW = new Date(Date.UTC(2026, 10, 22, 5, 0, 0));
const FHS = "FHS|^~\\&|LIMS|NORTH|CRYO|BANK|||||F-1\r";
const BHS = "BHS|^~\\&|LIMS|NORTH|CRYO|BANK|||||B-1\r";

const message = (id: string) => hl7Text().replace("MSG0001", id);
const batchOf = (...messages: string[]) => `${FHS}${BHS}${messages.join("")}BTS|${messages.length}\rFTS|1\r`;

function answer(text: string, settings: Partial<AnswerSettings> = {}) {
  const { replies, ...heard } = answerFrame(Buffer.from(text), {
    answer: "AA",
    ordinal: 1,
    now: NOW,
    ...settings,
  });
  return { ...heard, replies: replies.map((reply) => reply.toString()) };
}

/** The names of segments, with MSA in full. */
const outlineOf = (text = "") =>
  text
    .split("\r")
    .filter((line) => line !== "")
    .map((line) => (line.startsWith("MSA") || /^.TS/.test(line) ? line : line.slice(0, 3)));

describe("a frame with one message", () => {
  it("is answered by one acknowledgement", () => {
    const { messages, isBatch, replies } = answer(message("M-1"));
    expect(messages).toMatchObject([{ what: "OML^O33", codes: ["AA"] }]);
    expect(isBatch).toBe(false);
    expect(replies.map(outlineOf)).toEqual([["MSH", "MSA|AA|M-1"]]);
  });

  it("is answered without the NUL that its control id stands for", () => {
    expect(answer(message("M\\X00\\1")).replies.map(outlineOf)).toEqual([["MSH", "MSA|AA|M1"]]);
  });
});

describe.each(["ORR^O02", "ORL^O34^ORL_O34"])("a frame with an order response (%s)", (type) => {
  const response = (wants = "") =>
    `MSH|^~\\&|CRYO|BANK|LIMS|NORTH|2026||${type}|R-1|P|2.5.1${wants}\rMSA|AA|MSG0001\r`;

  it("is acknowledged as any message is, though it has MSA", () => {
    const { messages, replies } = answer(response());
    expect(messages).toMatchObject([{ codes: ["AA"] }]);
    expect(replies.map(outlineOf)).toEqual([["MSH", "MSA|AA|R-1"]]);
  });

  it("is acknowledged as its header wants it", () => {
    expect(answer(response("|||AL|NE")).replies.map(outlineOf)).toEqual([["MSH", "MSA|CA|R-1"]]);
    expect(answer(response("|||NE|NE")).replies).toEqual([]);
  });
});

it.each(["ACK", "ACK^O33^ACK", "MCF", ""])("leaves an acknowledgement unanswered: MSH-9 is '%s'", (type) => {
  expect(answer(`MSH|^~\\&|A|B|C|D|2026||${type}|A1|P|2.5.1\rMSA|AA|1\r`).replies).toEqual([]);
});

describe("a frame with a batch", () => {
  it("is answered by one frame with the answer to each message, in their order", () => {
    const { messages, isBatch, replies } = answer(batchOf(message("M-1"), message("M-2")), { answer: "AE" });
    expect(messages.map(({ codes }) => codes)).toEqual([["AE"], ["AE"]]);
    expect(isBatch).toBe(true);
    expect(replies.map(outlineOf)).toEqual([
      ["FHS", "BHS", "MSH", "MSA|AE|M-1", "MSH", "MSA|AE|M-2", "BTS|2", "FTS|1"],
    ]);
    expect(replies[0]?.split("\r")[0]).toMatch(
      /^FHS\|\^~\\&\|CRYO\|BANK\|LIMS\|NORTH\|20261122050000\+0000\|.*\|F-1$/,
    );
  });

  it("has answers with control ids of their own", () => {
    const { replies } = answer(batchOf(message("M-1"), message("M-2")));
    const ids = [...(replies[0] ?? "").matchAll(/^(?:MSH|BHS|FHS)(?:\|[^|\r]*){8}\|([^|\r]+)/gm)];
    expect(new Set(ids.map(([, id]) => id)).size).toBe(2);
  });

  it("has both acknowledgements of a message in enhanced mode, and none of one that wants none", () => {
    const both = message("M-1").replace("|P|2.5.1", "|P|2.5.1|||AL|AL");
    const none = message("M-2").replace("|P|2.5.1", "|P|2.5.1|||NE|NE");
    const { replies } = answer(batchOf(both, none));
    expect(outlineOf(replies[0])).toEqual([
      "FHS",
      "BHS",
      "MSH",
      "MSA|CA|M-1",
      "MSH",
      "MSA|AA|M-1",
      "BTS|2",
      "FTS|1",
    ]);
  });

  it("is not answered when none of its messages wants an answer, or all are acknowledgements", () => {
    const none = message("M-2").replace("|P|2.5.1", "|P|2.5.1|||NE|NE");
    const ack = "MSH|^~\\&|A|B|C|D|2026||ACK|A1|P|2.5.1\rMSA|AA|1\r";
    expect(answer(batchOf(none)).replies).toEqual([]);
    expect(answer(batchOf(ack, ack)).replies).toEqual([]);
  });

  it("without messages is answered by one without messages", () => {
    const { messages, replies } = answer(`${BHS}BTS|0\r`);
    expect(messages).toEqual([]);
    expect(replies.map(outlineOf)).toEqual([["BHS", "BTS|0"]]);
  });

  it("that is cut short is not answered, and it is said why", () => {
    const { messages, replies } = answer(`${BHS}${message("M-1")}`);
    expect(messages).toMatchObject([
      { what: expect.stringMatching(/line 1: BHS without BTS .*\(HL7_BATCH_INCOMPLETE\)/), codes: [] },
    ]);
    expect(replies).toEqual([]);
  });

  it("with a message that can't be read answers the others", () => {
    const { messages, replies } = answer(batchOf(message("M-1").replace("ORC|", "ORC?"), message("M-2")));
    expect(messages[0]).toMatchObject({
      what: expect.stringContaining("(HL7_SEGMENT_INVALID)"),
      codes: [],
    });
    expect(outlineOf(replies[0])).toContain("MSA|AA|M-2");
    expect(replies[0]).not.toContain("M-1");
  });
});

describe("a frame with several messages that are no batch", () => {
  it("is answered by a frame for each, in their order", () => {
    const { isBatch, replies } = answer(message("M-1") + message("M-2"));
    expect(isBatch).toBe(false);
    expect(replies.map(outlineOf)).toEqual([
      ["MSH", "MSA|AA|M-1"],
      ["MSH", "MSA|AA|M-2"],
    ]);
  });
});

it("answers in the character set of the message, and says so where that does", () => {
  const sent = (declared: string) =>
    Buffer.from(
      `MSH|^~\\&|Zoë|NORTH|||20261122||ADT^A04|M-é|P|2.5||||||${declared}\rPID|1\r`,
      declared === "8859/1" ? "latin1" : "utf8",
    );
  const answerTo = (declared: string) => {
    return answerFrame(sent(declared), { answer: "AA", ordinal: 1, now: NOW }).replies[0] ?? Buffer.alloc(0);
  };
  const latin = answerTo("8859/1");
  expect(latin.includes(Buffer.from("MSA|AA|M-\xe9\r", "latin1"))).toBe(true);
  expect(latin.toString("latin1")).toContain("||||||8859/1\r");
  const plain = answerTo("").toString("utf8");
  expect(plain).toContain("|Zoë|");
  expect(plain).toMatch(/\|P\|2\.5\rMSA\|AA\|M-é\r$/);
});
