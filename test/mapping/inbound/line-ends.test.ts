import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toMessage } from "../../../src/connectors/hl7-drop/hl7-drop.ts";
import type { MappedMessage } from "../../../src/core/mapped-message.ts";
import { splitHl7File } from "../../../src/formats/hl7/file.ts";
import type { MapperSettings } from "../../../src/mapping/inbound/mapped-message.ts";
import { createMapper } from "../../../src/mapping/inbound/mapper.ts";
import type { Hl7Profile } from "../../../src/mapping/profile/profile.ts";
import { placeWith } from "../../support/places.ts";
import { facilityIdByCode, hl7Message, hl7Profile, hl7Text } from "../mapped.ts";

const PID = "PID|1||MRN-1^^^N^MR||Beispiel^Anna||19800101";
const ORDER = [
  "ORC|NW|A-1",
  "OBR|1|A-1||CRYO-STORE",
  "NTE|1||handle with care",
  "SPM|1|S1||EMB",
  "SAC|||L-1",
];
const OTHER_PID = "PID|1||MRN-9^^^N^MR||Fremd^Fritz||19700101";
const OTHER = ["ORC|NW|B-9", "OBR|1|B-9||CRYO-STORE", "SPM|1|S9||EMB", "SAC|||L-9"];

const message = (number: string) =>
  hl7Text("OML^O21", [PID, ...ORDER, "NTE|1||last"])
    .replaceAll("A-1", number)
    .replace("MSG-1", `MSG-${number}`);
const OTHER_MESSAGE = hl7Text("OML^O21", [OTHER_PID, ...OTHER]).replace("MSG-1", "MSG-9");

/** What becomes of the messages of a file or frame, as any way in takes them. */
function take(
  text: string,
  profile: Hl7Profile,
  settings: Omit<MapperSettings, "facilityIdByCode"> = {},
): { readonly mapped: readonly MappedMessage[]; readonly codes: readonly string[] } {
  const { mixedLineEnds = "refuse" } = settings;
  const limits = { messages: 1_000, batches: 1_000, mixedLineEnds };
  const { parts, problems } = splitHl7File(Buffer.from(text), limits);
  const mapper = createMapper(profile, { facilityIdByCode, ...settings });
  const mapped = parts.map((part) => mapper.map(toMessage(part, {})));
  const codes = [...problems, ...mapped.flatMap((each) => each.problems)].map(({ code }) => code);
  return { mapped, codes };
}

const ordersOf = (mapped: readonly MappedMessage[]) =>
  mapped.flatMap(({ orders }) =>
    orders.map(({ placerOrderNumber, subject, containers }) => ({
      placerOrderNumber,
      subject: Object.values(subject).map((value) => value?.reveal()),
      labels: containers.map(({ label }) => label),
    })),
  );

const ENDS = { CR: "\r", LF: "\n", CRLF: "\r\n" } as const;

describe("text with line breaks of its own in a field", () => {
  const line = fc.constantFrom(
    ...[OTHER_PID, ...OTHER, "ORC|CA|A-1", "ORC", "NTE|1||", "words", "", " ", "MRN", "ZZZ|1"],
    ...["BTS|1", "FTS|1", "BHS|^~\\&|X", "FHS|^~\\&|X", "MSH|^~\\&|X", "MSH and more"],
    ...[OTHER_MESSAGE.split("\r")[0] ?? "", "\u000b", "\u001a", "\u2028", "\u0085"],
  );
  const pasted = fc.oneof(
    fc.array(line, { minLength: 2, maxLength: 8 }),
    fc.constant([...OTHER_MESSAGE.split("\r"), "MSH|^~\\&|X"]),
    fc.constant(["", OTHER_PID, ...OTHER, "NTE|1||"]),
  );

  test("never makes another order than the message has, whatever its segments end with", async () => {
    const profile = await hl7Profile();
    const whole = [message("A-1"), message("A-2")];
    const expected = ordersOf(take(whole.join(""), profile).mapped).map((order) => JSON.stringify(order));
    expect(expected).toHaveLength(2);
    let kept = 0;
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.values(ENDS)),
        fc.constantFrom(...Object.values(ENDS)),
        pasted,
        fc.nat(),
        fc.constantFrom(1, 2),
        fc.boolean(),
        (own, foreign, lines, at, count, isUnended) => {
          fc.pre(own !== foreign);
          const file = whole.slice(0, count).join("");
          // After any separator but those of MSH-1 and MSH-2.
          const places = [...file.matchAll(/\|/g)].filter(
            ({ index }) => !/MSH\|?$/.test(file.slice(0, index)),
          );
          const place = (places[at % places.length]?.index ?? 0) + 1;
          const written = file.replaceAll("\r", own);
          const shift = (file.slice(0, place).match(/\r/g)?.length ?? 0) * (own.length - 1);
          const text = written.slice(0, place + shift) + lines.join(foreign) + written.slice(place + shift);
          fc.pre(own !== "\r\n" || text.replaceAll("\r\n", "").match(/[\r\n]/) !== null);
          const settings = { unterminated: "accept", isFramed: isUnended } as const;
          const found = ordersOf(
            take(isUnended ? text.replace(/[\r\n]+$/, "") : text, profile, settings).mapped,
          );
          kept += found.length;
          for (const order of found) expect(expected).toContain(JSON.stringify(order));
        },
      ),
      { numRuns: 3_000 },
    );
    // Orders that stand in other messages of a file are none the less taken.
    expect(kept).toBeGreaterThan(0);
  });

  test.each([
    ["LF in a message with CR", "\r", "\n"],
    ["CRLF in a message with CR", "\r", "\r\n"],
    ["CR in a message with LF", "\n", "\r"],
    ["LF in a message with CRLF", "\r\n", "\n"],
    ["CR in a message with CRLF", "\r\n", "\r"],
    ["CR CR LF in a message with CRLF", "\r\n", "\r\r\n"],
    ["LF CR in a message with CR", "\r", "\n\r"],
    ["LF LF, as between messages of a batch, in a message with CR", "\r", "\n\n"],
  ])("is refused with its line where it is %s", async (_, own, foreign) => {
    const text = message("A-1")
      .replaceAll("\r", own)
      .replace("with care", ["with care", ...OTHER].join(foreign));
    const { mapped, codes } = take(text, await hl7Profile());
    expect(codes).toEqual(["HL7_LINE_ENDS_MIXED"]);
    expect(mapped[0]?.problems[0]).toMatchObject({
      place: "message 1, NTE",
      message: expect.stringMatching(/^line 5 of the message ends with .*text of this segment/),
    });
    expect(mapped[0]?.messageControlId).toBe("MSG-A-1");
  });

  test("refuses the file where it holds another message, with the line", () => {
    const text = message("A-1").replace("with care", `with care\n${OTHER_MESSAGE.replaceAll("\r", "\n")}`);
    const limits = { messages: 10, batches: 10, mixedLineEnds: "refuse" } as const;
    expect(splitHl7File(Buffer.from(text), limits)).toMatchObject({
      parts: [],
      problems: [{ code: "HL7_LINE_ENDS_MIXED", place: "line 5" }],
    });
  });

  test("costs the other messages of the file nothing where it holds no header", async () => {
    const [first, second, third] = [message("A-1"), message("A-2"), message("A-3")];
    const text = `${first}${second.replace("with care", "with care\nORC|NW|B-9")}${third}`;
    const { mapped } = take(text, await hl7Profile());
    expect(mapped.map(({ verdict }) => verdict)).toEqual(["accepted", "refused", "accepted"]);
  });
});

describe("segments that all end alike", () => {
  test.each([
    ...Object.entries(ENDS),
    ["CR CR LF, as a doubled conversion leaves them", "\r\r\n"],
    ["LF CR", "\n\r"],
    ["CR with a blank line after each", "\r\r"],
  ])("are read with %s", async (_, end) => {
    const text = [message("A-1"), message("A-2")].join("").replaceAll("\r", end);
    const { mapped, codes } = take(text, await hl7Profile());
    expect([codes, mapped.map(({ verdict }) => verdict)]).toEqual([[], ["accepted", "accepted"]]);
  });

  test("are read whatever ends the last one, and whatever blank lines stand around", async () => {
    for (const [before, after] of [
      ["", "\n"],
      ["\r\r", "\r\n\r\n"],
      ["\ufeff", "\n\n"],
      ["\ufeff\n", "\n"],
    ] as const) {
      const { mapped, codes } = take(`${before}${message("A-1")}${after}`, await hl7Profile());
      expect([codes, mapped[0]?.verdict]).toEqual([[], "accepted"]);
    }
  });
});

describe("mixedLineEnds: accept", () => {
  const mixed = (text: string, segment: string) =>
    text.replace(new RegExp(`(${segment}\\|[^\\r]*)\\r`), "$1\n");

  test("takes a message with another end after a field of which nothing is read", async () => {
    const profile = await hl7Profile();
    const text = mixed(message("A-1"), "NTE");
    expect(take(text, profile).codes).toEqual(["HL7_LINE_ENDS_MIXED"]);
    const { mapped } = take(text, profile, { mixedLineEnds: "accept" });
    expect(ordersOf(mapped)).toEqual(ordersOf(take(message("A-1"), profile).mapped));
  });

  test.each(["PID", "ORC", "OBR", "SAC"])(
    "refuses one where a value is read from the end of %s",
    async (segment) => {
      const { mapped } = take(mixed(message("A-1"), segment), await hl7Profile(), {
        mixedLineEnds: "accept",
      });
      expect(mapped[0]).toMatchObject({
        verdict: "refused",
        orders: [],
        problems: [{ code: "HL7_LINE_ENDS_MIXED", place: placeWith(`message 1, ${segment}-`) }],
      });
    },
  );

  test("refuses one where a description is read from the end of NTE, or a module may read it", async () => {
    const text = mixed(message("A-1"), "NTE");
    const description = { containers: { description: "NTE-3" } };
    for (const profile of [
      await hl7Profile(description),
      await hl7Profile({ module: "./m.ts" }, { order: (order: unknown) => order }),
    ]) {
      const { codes } = take(text, profile, { mixedLineEnds: "accept" });
      expect(codes).toEqual(["HL7_LINE_ENDS_MIXED"]);
    }
  });

  test("takes messages apart that have CR inside and LF between them", async () => {
    const text = `${message("A-1")}\n${message("A-2")}\n`;
    const profile = await hl7Profile();
    expect(take(text, profile).codes).toEqual(["HL7_LINE_ENDS_MIXED"]);
    expect(take(text, profile, { mixedLineEnds: "accept" }).mapped).toHaveLength(2);
  });

  test("is off for a mapper that is told nothing", async () => {
    const { problems } = createMapper(await hl7Profile(), { facilityIdByCode }).map(
      hl7Message(mixed(message("A-1"), "NTE")),
    );
    expect(problems).toMatchObject([{ code: "HL7_LINE_ENDS_MIXED" }]);
  });
});
