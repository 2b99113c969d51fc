import { describe, expect, it } from "vitest";
import type { Outcome, OutcomeOrder } from "../../../src/core/outcome.ts";
import { decodeHl7 } from "../../../src/formats/hl7/charset.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import type { MessageAnswer } from "../../../src/mapping/outbound/answer-hl7.ts";
import { composeBatchResponse } from "../../../src/mapping/outbound/batch-hl7.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { failureOf } from "../../formats/hl7/failure-of.ts";
import { at } from "../../support/places.ts";
import { hl7Profile, hl7Text, problemsOf } from "../mapped.ts";
import {
  acknowledged,
  changed,
  composeHl7,
  createReplier,
  type Received,
  refused,
  withoutText,
} from "../outcomes.ts";

type Results = NonNullable<ProfileDefinition["results"]>;

const inSet = (encoding: string) => hl7Profile({ results: { encoding } });

/** An order message of somebody with this name, which declares this character set. */
function orderOf(name: string, declared = "", number = "LAB-1^NORTHLAB"): string {
  const text = hl7Text("ORM^O01^ORM_O01", [
    `PID|1||MRN-4711^^^NORTH^MR||${name}`,
    `ORC|NW|${number}`,
    `OBR|1|${number}||CRYO-STORE^Cryogenic storage^L|||||||||||SEM&Semen^^STRAW-1`,
  ]);
  return declared === "" ? text : text.replace("|2.5.1\r", `|2.5.1||||||${declared}\r`);
}

/** The outcome of a message that was read in a character set. */
function readIn(outcome: Outcome, encoding: string): Outcome {
  const message: Received = { ...outcome.message, encoding };
  return { ...outcome, message };
}

/** An order that changed, of a message that came in UTF-8. */
const news = (text: string, order: Partial<OutcomeOrder> = {}) => readIn(changed(order, text), "utf-8");

/** MSH-18, the text, and what it was read in, by nothing but the message itself. */
function readBack(bytes: Buffer | undefined): {
  charset: string | undefined;
  text: string;
  encoding: string;
} {
  const { text, encoding } = decodeHl7(bytes ?? Buffer.alloc(0));
  return { charset: Hl7Message.parse(text).header.characterSet, text, encoding };
}

describe("a result", () => {
  it("is UTF-8 unless the profile says otherwise, whatever its message came in", async () => {
    const outcome = readIn(changed({}, orderOf("Müller", "8859/1")), "iso-8859-1");
    const { charset, text } = readBack(composeHl7(outcome, await hl7Profile())?.bytes);
    expect(charset).toBe("UNICODE UTF-8");
    expect(text).toContain("||Müller\r");
  });

  it.each([
    ["8859/1", "8859/1", "Müller"],
    ["latin1", "8859/1", "Müller"],
    ["windows-1252", "WINDOWS-1252", "Müller–Ó"],
    ["ASCII", "ASCII", "Mueller"],
    ["iso-8859-2", "8859/2", "Łaska"],
    ["GB 18030-2000", "GB 18030-2000", "王"],
  ])("in %s says %s in MSH-18 and reads back so", async (encoding, charset, name) => {
    const read = readBack(composeHl7(news(orderOf(name)), await inSet(encoding))?.bytes);
    expect(read.charset).toBe(charset);
    expect(read.text).toContain(`||${name}\r`);
  });

  it("spells in its words what the set does not have", async () => {
    const reason = { code: "REQUEST_REJECTED", text: "Kühlraum Łódź" } as const;
    const outcome = news(orderOf("Müller"), { state: "rejected", reason });
    const { text } = readBack(composeHl7(outcome, await inSet("iso-8859-1"))?.bytes);
    expect(text).toContain("NTE|1|L|Kühlraum [U+0141]ód[U+017A]\r");
    expect(text).toContain("|REQUEST_REJECTED^Kühlraum [U+0141]ód[U+017A]^L\r");
  });

  it.each([
    ["name", orderOf("Łaska"), {}, "PID-5"],
    ["order number", orderOf("Laska", "", "Ł-1"), { placerOrderNumber: "Ł-1" }, "ORC-2"],
    ["container label", orderOf("Laska"), { containers: [{ label: "Ł1", description: "" }] }, "OBX[3]-5"],
  ])("is not composed where it would change a %s", async (_, text, order, place) => {
    const profile = await inSet("windows-1252");
    expect(failureOf(() => composeHl7(news(text, order), profile))).toEqual({
      code: "RESULT_NOT_ENCODABLE",
      message: `${place} holds a character that windows-1252 does not have`,
    });
  });

  it("says letters that its message wrote as bytes of another set, and keeps bytes of its own set", async () => {
    const outcome = news(orderOf("M\\XC3BC\\ller", "UNICODE UTF-8"));
    const inLatin1 = readBack(composeHl7(outcome, await inSet("8859/1"))?.bytes);
    expect(inLatin1.text).toContain("||Müller\r");
    const inUtf8 = readBack(composeHl7(outcome, await hl7Profile())?.bytes);
    expect(inUtf8.text).toContain("||M\\XC3BC\\ller\r");
  });
});

describe("a result in the character set of its message", () => {
  it.each([
    ["declared", "8859/1", "iso-8859-1", "8859/1", "Müller"],
    ["declared in the sender's own words", "ISO8859-1", "iso-8859-1", "ISO8859-1", "Müller"],
    ["known to the site alone", "", "windows-1252", "WINDOWS-1252", "Müller–Ó"],
    ["known to the site, and declared wrongly", "ASCII", "windows-1250", "WINDOWS-1250", "Łaska"],
    ["that nobody named", "", "utf-8", "UNICODE UTF-8", "Łaska"],
  ])("%s", async (_, declared, encoding, charset, name) => {
    const outcome = readIn(changed({}, orderOf(name, declared)), encoding);
    const { bytes } = composeHl7(outcome, await inSet("as-received")) ?? {};
    const read = readBack(bytes);
    expect([read.charset, read.encoding]).toEqual([charset, encoding]);
    expect(read.text).toContain(`||${name}\r`);
  });

  it("is UTF-8 where that was UTF-16, which MLLP has no place for", async () => {
    const outcome = readIn(changed({}, orderOf("Łaska", "UNICODE")), "utf-16le");
    expect(readBack(composeHl7(outcome, await inSet("as-received"))?.bytes)).toMatchObject({
      charset: "UNICODE UTF-8",
      encoding: "utf-8",
    });
  });

  it("is UTF-8 once the message was pruned", async () => {
    expect(readBack(composeHl7(withoutText(changed()), await inSet("as-received"))?.bytes).charset).toBe(
      "UNICODE UTF-8",
    );
  });
});

describe("an answer", () => {
  /** What goes back over the connection for a message that was taken. */
  async function reply(text: string, encoding: string, results: Results, form: "plain" | "order" = "plain") {
    const profile = await hl7Profile({ results });
    const { message } = readIn(acknowledged([], text), encoding);
    const common = { outcomeId: "", controlId: "CA1", occurredAt: new Date(0), message };
    const answer: MessageAnswer = { ...common, kind: "acknowledged", orders: [], isDuplicate: false };
    const replier = createReplier(message, profile, { form, applicationAck: "connection" });
    return replier.compose(answer, "CL1")[0] ?? Buffer.alloc(0);
  }
  const withControlId = (text: string, id: string) => text.replace("|MSG-1|", `|${id}|`);

  it("is written like the results", async () => {
    const bytes = await reply(orderOf("Müller"), "utf-8", { encoding: "8859/1" }, "order");
    expect(readBack(bytes)).toMatchObject({ charset: "8859/1", encoding: "iso-8859-1" });
    expect(bytes.includes(Buffer.from("M\xfcller", "latin1"))).toBe(true);
  });

  it("goes out in the set of its message where the wanted one can't hold what it repeats", async () => {
    const text = withControlId(orderOf("Laska", "8859/2"), "Ł-7");
    const bytes = await reply(text, "iso-8859-2", { encoding: "us-ascii" });
    expect(readBack(bytes).charset).toBe("8859/2");
    expect(bytes.includes(Buffer.from("MSA|AA|\xa3-7\r", "latin1"))).toBe(true);
  });

  it("goes out in UTF-8 where neither can", async () => {
    const results = { encoding: "windows-1251", sender: { application: "Мост" } };
    const bytes = await reply(withControlId(orderOf("Laska"), "Ł-7"), "windows-1250", results);
    expect(readBack(bytes)).toMatchObject({ charset: "UNICODE UTF-8", encoding: "utf-8" });
    expect(readBack(bytes).text).toContain("|Мост|");
    expect(readBack(bytes).text).toContain("MSA|AA|Ł-7\r");
  });

  it("repeats MSA-2 byte by byte in the set of its message", async () => {
    const id = Buffer.from([0xd3, 0xa3, 0xfc]);
    const text = withControlId(orderOf("Laska"), id.toString("latin1"));
    const decoded = decodeHl7(Buffer.from(text, "latin1"), { override: "iso-8859-2" });
    const bytes = await reply(decoded.text, decoded.encoding, { encoding: "as-received" });
    expect(bytes.includes(Buffer.concat([Buffer.from("MSA|AA|"), id, Buffer.from("\r")]))).toBe(true);
  });

  it("in a file is sent in another set, and never withheld", async () => {
    const outcome = readIn(refused([], orderOf("Łaska", "8859/2")), "iso-8859-2");
    expect(readBack(composeHl7(outcome, await inSet("ASCII"))?.bytes).charset).toBe("8859/2");
  });

  it("spells in its reasons what the set does not have, since codes are quoted there", async () => {
    const problem = {
      code: "MAPPING_FACILITY_UNKNOWN",
      place: at("MSH-4.1"),
      message: 'holds "Łódź"',
    } as const;
    const outcome = readIn(refused([problem], orderOf("Laska")), "utf-8");
    const { charset, text } = readBack(composeHl7(outcome, await inSet("8859/1"))?.bytes);
    expect(charset).toBe("8859/1");
    expect(text).toContain('holds "[U+0141]ód[U+017A]"');
  });
});

describe("a batch of answers", () => {
  it("has its headers in the set of the first answer, and each answer in its own", () => {
    const ack = (charset: string, encoding: BufferEncoding) =>
      Buffer.from(`MSH|^~\\&|Zoë||||||ACK|1|P|2.5||||||${charset}\rMSA|AA|1\r`, encoding);
    const answers = [ack("8859/1", "latin1"), ack("UNICODE UTF-8", "utf8")];
    const bytes = composeBatchResponse({
      outline: { batches: [{ header: "BHS|^~\\&|LIMS|NORTH|Zoë", messages: 2 }] },
      answers: answers.map((message) => ({ verdict: "accepted", messages: [message] })),
      response: "all",
      time: undefined,
      instanceCode: "ABC123",
      seed: ["f1"],
      settings: { sender: undefined, receiver: undefined, encoding: "as-received" },
    });
    expect(bytes.toString("latin1").startsWith("BHS|^~\\&|Zoë|")).toBe(true);
    expect(bytes.includes(Buffer.concat(answers))).toBe(true);
  });
});

describe("results.encoding of a profile", () => {
  const hl7 = (results: Results) => problemsOf({ extends: "builtin/hl7-orders", results });
  const csv = (results: Results) => problemsOf({ extends: "builtin/csv-orders", results });

  it("must be a character set that is known, and one that a header can be read in", async () => {
    expect(await hl7({ encoding: "klingon" })).toEqual([
      "results.encoding: klingon is no encoding that Cryobridge knows",
    ]);
    expect(await hl7({ encoding: "utf-16le" })).toEqual([
      "results.encoding: utf-16le is for CSV profiles: the header of an HL7 message is read byte by byte",
    ]);
    expect(await csv({ encoding: "utf-16le" })).toEqual([]);
  });

  it("may be that of the input file in CSV, too", async () => {
    expect(await csv({ encoding: "as-received" })).toEqual([]);
  });

  it("must have the characters of the profile's own words", async () => {
    expect(await hl7({ encoding: "8859/1", sender: { application: "Łab" }, namespace: "Zoë" })).toEqual([
      "results.sender.application: holds Ł (U+0141), which iso-8859-1 of results.encoding does not have",
    ]);
    const fields = { "ORC-16.2": { rejected: "nie ma, żółw", failed: "Défaut" } };
    const reasons = { SUBJECT_MISMATCH: "inna osoba, śćżźńłą", line: "Zeile" } as const;
    expect(await hl7({ encoding: "8859/1", fields, reasons })).toEqual([
      "results.fields.ORC-16.2.rejected: holds ż (U+017C), ł (U+0142), which iso-8859-1 of results.encoding does not have",
      "results.reasons.SUBJECT_MISMATCH: holds ś (U+015B), ć (U+0107), ż (U+017C), ź (U+017A), ń (U+0144) and others, which iso-8859-1 of results.encoding does not have",
    ]);
  });

  it("must have them too where it is that of the message, and the profile says which that is", async () => {
    const reasons = { SUBJECT_MISMATCH: "inna osoba: Łukasz" } as const;
    const lacks = (name: string) => [
      `results.reasons.SUBJECT_MISMATCH: holds Ł (U+0141), which ${name} of encoding does not have`,
    ];
    const csvProfile = { extends: "builtin/csv-orders", encoding: "windows-1252", results: { reasons } };
    expect(await problemsOf(csvProfile)).toEqual(lacks("windows-1252"));
    const received = { encoding: "as-received", reasons };
    const hl7Profile = { extends: "builtin/hl7-orders", encoding: "8859/1", results: received };
    expect(await problemsOf(hl7Profile)).toEqual(lacks("iso-8859-1"));
    expect(await csv({ reasons })).toEqual([]);
  });

  it("goes with a byte order mark in CSV and UTF alone", async () => {
    expect(await hl7({ byteOrderMark: true })).toEqual(["results.byteOrderMark: is for CSV profiles"]);
    expect(await csv({ encoding: "windows-1252", byteOrderMark: true })).toEqual([
      "results.byteOrderMark: is for UTF-8; windows-1252 has none",
    ]);
    expect(await csv({ byteOrderMark: true })).toEqual([]);
  });
});
