import { describe, expect, it } from "vitest";
import { asItIs } from "../../../src/core/lab-text.ts";
import { type AckedOutcome, planAcks } from "../../../src/formats/hl7/ack.ts";
import { buildMessage } from "../../../src/formats/hl7/encode.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import {
  type AckError,
  type Acknowledgment,
  acknowledgmentSegments,
} from "../../../src/formats/hl7/sent-segments.ts";
import { at } from "../../support/places.ts";
import { ORDER } from "./sample.ts";

const ERRORS: AckError[] = [
  {
    condition: "103",
    place: at("message 2, OBR-4.1"),
    text: asItIs("operation THAW is not mapped"),
    applicationCode: "MAPPING_CODE_UNKNOWN",
  },
  { condition: "101", place: at("PID[2]-3[4].1.2"), text: asItIs("PID-3 is empty"), severity: "F" },
  { condition: "207", place: at("line 14, column subject"), text: asItIs("try later") },
  { condition: "100", place: at("ORC"), text: asItIs("no ORC") },
];

function answer(version: string | undefined, request: Partial<Acknowledgment> = {}) {
  const text = version === undefined ? ORDER : ORDER.replace("|P|2.3|", `|P|${version}|`);
  return buildMessage(
    acknowledgmentSegments({
      to: Hl7Message.parse(text).header,
      code: "AA",
      controlId: "C1",
      dateTime: "20261121093001+0000",
      text: request.errors?.[0]?.text,
      ...request,
    }),
  ).split("\r");
}

describe("an acknowledgement", () => {
  it("goes back to the sender with the same processing id, version and control id", () => {
    expect(answer("2.3")).toEqual([
      "MSH|^~\\&|CRYO|BANK|LIMS^1.2.3^ISO|NORTH|20261121093001+0000||ACK^O01|C1|P|2.3",
      "MSA|AA|MSG0001",
      "",
    ]);
  });

  it("names its structure from version 2.4 on", () => {
    expect(answer("2.4")[0]).toContain("|ACK^O01^ACK|");
    expect(answer("2.3.1")[0]).toContain("|ACK^O01|");
  });

  it("can be the head of another answer, with its own message type and character set", () => {
    const type = ["ORL", "O22"] as const;
    expect(answer("2.5.1", { type, characterSet: "UNICODE UTF-8" })[0]).toBe(
      "MSH|^~\\&|CRYO|BANK|LIMS^1.2.3^ISO|NORTH|20261121093001+0000||ORL^O22^ORL_O22|C1|P|2.5.1||||||UNICODE UTF-8",
    );
  });

  it("can answer a message of which nothing could be read", () => {
    expect(answer(undefined, { to: {}, code: "AR", errors: [ERRORS[2]!] })).toEqual([
      "MSH|^~\\&|||||20261121093001+0000||ACK^^ACK|C1|P|2.5",
      "MSA|AR||try later",
      "ERR|||207^Application internal error^HL70357|E||||try later",
      "",
    ]);
  });

  it.each(["2.3", "2.3.1", "2.4"])(
    "version %s: reports all errors in one ERR-1, the first in MSA-3 and MSA-6",
    (version) => {
      expect(answer(version, { code: "AE", errors: ERRORS }).slice(1)).toEqual([
        "MSA|AE|MSG0001|operation THAW is not mapped|||103^Table value not found^HL70357",
        "ERR|OBR^1^4^103&Table value not found&HL70357~PID^2^3^101&Required field missing&HL70357" +
          "~^^^207&Application internal error&HL70357~ORC^1^^100&Segment sequence error&HL70357",
        "",
      ]);
    },
  );

  it.each(["2.5", "2.5.1", "2.6"])("version %s: reports each error in an ERR of its own", (version) => {
    expect(answer(version, { code: "AE", errors: ERRORS }).slice(1)).toEqual([
      "MSA|AE|MSG0001|operation THAW is not mapped",
      "ERR||OBR^1^4^1^1|103^Table value not found^HL70357|E|MAPPING_CODE_UNKNOWN|||operation THAW is not mapped",
      "ERR||PID^2^3^4^1^2|101^Required field missing^HL70357|F||||PID-3 is empty",
      "ERR|||207^Application internal error^HL70357|E||||try later",
      "ERR||ORC^1|100^Segment sequence error^HL70357|E||||no ORC",
      "",
    ]);
  });

  it("names the field of one part of a value", () => {
    const place = at("message 1, OBX[2]-5[3].1, part 2");
    const [, , err] = answer("2.5.1", {
      code: "AE",
      errors: [{ condition: "101", place, text: asItIs("is empty") }],
    });
    expect(err).toContain("ERR||OBX^2^5^3^1|");
  });

  it.each(["2.7", "2.7.1", "2.8"])("version %s: leaves out MSA-3, which was withdrawn", (version) => {
    expect(answer(version, { code: "AE", errors: ERRORS })[1]).toBe("MSA|AE|MSG0001");
  });

  it("escapes what it echoes, so that a control id cannot add a segment", () => {
    const to = { messageControlId: "X\rZZZ|1", sendingApplicationParts: ["A|B"] };
    const message = Hl7Message.parse(answer("2.5", { to }).join("\r"));
    expect(message.segments.map((segment) => segment.name)).toEqual(["MSH", "MSA"]);
    expect(message.get("MSH-5")).toBe("A|B");
  });
});

const CONDITIONS = [undefined, "AL", "NE", "ER", "SU"] as const;

/**
 * MSH-15, MSH-16, then what is sent for a message that is taken, for one with wrong content, for one of a foreign type:
 * `at once/later`, a dash for nothing.
 */
const MATRIX: readonly (readonly [string, string, string, string, string])[] = [
  ["", "", "AA/-", "AE/-", "AR/-"],
  ["", "AL", "-/AA", "-/AE", "-/AR"],
  ["", "NE", "-/-", "-/-", "-/-"],
  ["", "ER", "-/-", "-/AE", "-/AR"],
  ["", "SU", "-/AA", "-/-", "-/-"],
  ["AL", "", "CA/-", "CE/-", "CR/-"],
  ["AL", "AL", "CA/AA", "CA/AE", "CR/-"],
  ["AL", "NE", "CA/-", "CE/-", "CR/-"],
  ["AL", "ER", "CA/-", "CA/AE", "CR/-"],
  ["AL", "SU", "CA/AA", "CE/-", "CR/-"],
  ["NE", "", "-/-", "-/-", "-/-"],
  ["NE", "AL", "-/AA", "-/AE", "-/AR"],
  ["NE", "NE", "-/-", "-/-", "-/-"],
  ["NE", "ER", "-/-", "-/AE", "-/AR"],
  ["NE", "SU", "-/AA", "-/-", "-/-"],
  ["ER", "", "-/-", "CE/-", "CR/-"],
  ["ER", "AL", "-/AA", "-/AE", "CR/-"],
  ["ER", "NE", "-/-", "CE/-", "CR/-"],
  ["ER", "ER", "-/-", "-/AE", "CR/-"],
  ["ER", "SU", "-/AA", "CE/-", "CR/-"],
  ["SU", "", "CA/-", "-/-", "-/-"],
  ["SU", "AL", "CA/AA", "CA/AE", "-/AR"],
  ["SU", "NE", "CA/-", "-/-", "-/-"],
  ["SU", "ER", "CA/-", "CA/AE", "-/AR"],
  ["SU", "SU", "CA/AA", "-/-", "-/-"],
];

function reported(accept: string, application: string, outcome: AckedOutcome): string {
  const plan = planAcks(
    { acceptAckType: accept || undefined, applicationAckType: application || undefined },
    outcome,
  );
  return `${plan.immediate ?? "-"}/${plan.deferred ?? "-"}`;
}

describe("the acknowledgements of a message", () => {
  it.each(MATRIX)(
    "with MSH-15 %j and MSH-16 %j are %s, %s for wrong content, %s for a foreign type",
    (accept, application, taken, content, foreign) => {
      expect([
        reported(accept, application, "taken"),
        reported(accept, application, "content"),
        reported(accept, application, "foreign"),
      ]).toEqual([taken, content, foreign]);
    },
  );

  it("are planned for every combination of table 0155", () => {
    const rows = MATRIX.map(([accept, application]) => `${accept}/${application}`);
    const all = CONDITIONS.flatMap((accept) =>
      CONDITIONS.map((application) => `${accept ?? ""}/${application ?? ""}`),
    );
    expect(new Set(rows)).toEqual(new Set(all));
  });

  it("are sent to a sender that names a condition nobody knows", () => {
    expect(reported("XX", "XX", "taken")).toBe("CA/AA");
  });
});
