import fc from "fast-check";
import { beforeAll, describe, expect, it, test } from "vitest";
import { phi } from "../../src/core/phi.ts";
import type { MessageAnswer } from "../../src/mapping/answer-hl7.ts";
import { PreparedReplies, STAND_INS } from "../../src/mapping/prepared-reply.ts";
import type { Hl7Profile } from "../../src/mapping/profile.ts";
import { createReplier, type ReplySettings } from "../../src/mapping/reply-hl7.ts";
import { formatHl7Timestamp } from "../../src/mapping/timestamp.ts";
import { hl7Profile, hl7Text } from "./mapped.ts";

const PLAIN: ReplySettings = { form: "plain", applicationAck: "connection" };

/** Settings of profiles that answers depend on. */
let profiles: readonly Hl7Profile[];
beforeAll(async () => {
  profiles = [
    await hl7Profile(),
    await hl7Profile({ results: { sender: { application: "C&B" }, receiver: { facility: "é|1" } } }),
    await hl7Profile({ results: { version: "2.3", timeZone: "Europe/Berlin" } }),
    await hl7Profile({ results: { version: "2.7", timeZone: "Asia/Kolkata" }, accept: ["ACK^*", "ORM^O01"] }),
    await hl7Profile({ results: { fields: { "MSH-8": "{PID-3.1}" } } }),
    await hl7Profile({ results: { encoding: "windows-1252" } }),
    await hl7Profile({ results: { encoding: "as-received" } }),
    await hl7Profile({ results: { encoding: "ascii", sender: { application: "C&B" } } }),
  ];
});

/** When a message is answered and by what, and what it was read in. */
interface Moment {
  readonly encoding?: string | undefined;
  readonly occurredAt: Date;
  readonly controlId: string;
  readonly laterControlId: string;
}

/** What the composer of all answers makes of a message that was taken. */
function composed(text: string, moment: Moment, profile: Hl7Profile, settings: ReplySettings) {
  const { occurredAt, controlId, laterControlId } = moment;
  const read = { text: phi(text), encoding: moment.encoding };
  const message = { messageId: "m1", connector: "lims", receivedAt: occurredAt, ...read };
  const common = { outcomeId: "", controlId, occurredAt, message };
  const answer: MessageAnswer = { ...common, kind: "acknowledged", orders: [], isDuplicate: false };
  const replier = createReplier(message, profile, settings);
  const replies = replier.compose(answer, laterControlId);
  return {
    bytes: replies.length === 0 ? undefined : Buffer.concat(replies),
    isWhole: replier.isWhole(answer),
  };
}

/** What is made of it from a form; undefined where none serves. */
function prepared(replies: PreparedReplies, text: string, moment: Moment) {
  const reply = replies.find(text, moment.encoding);
  const { occurredAt, controlId, laterControlId } = moment;
  const values = { occurredAt, controlId, laterControlId: () => laterControlId };
  return reply && { bytes: reply.compose(values), isWhole: reply.isWhole };
}

/** Mostly one thing, now and then another. */
function mostly<T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: odd });
}

const PIECES = [
  ...[
    "A",
    "2.5",
    "é",
    "漢",
    "\ud800",
    "\ufffd",
    "\ufeff",
    '""',
    " ",
    "^",
    "~",
    "&",
    "\\",
    "\0",
    "\n",
    "\x0b",
    "\x1c",
  ],
  ...["\\F\\", "\\X41\\", "\\XE9\\", "\\X00\\", "\\X0D\\", "\\.br\\", "|", "MSH|^~\\&|", "#", "$", "FORM-"],
  ...[STAND_INS.controlId, STAND_INS.laterControlId, STAND_INS.messageControlId, "86420917053147+0000"],
];
const odd = fc.array(fc.constantFrom(...PIECES), { maxLength: 6 }).map((pieces) => pieces.join(""));
const party = mostly(fc.constantFrom("LIMS", "LIMS^1.2.3^ISO", "", "Übung", "A\\T\\B", "A~B", "A&B^C"), odd);
const type = mostly(
  fc.constantFrom(
    "ORM^O01",
    "ORM^O01^ORM_O01",
    "OML^O21",
    "OML^O33^OML_O33",
    "ADT^A08",
    "ADT^A40^ADT_A39",
    "ACK^O01",
  ),
  fc.oneof(odd, fc.constantFrom("ACK", "ORM", "^O01", "ORU^R01", "\\X4F\\RM^O01", "ADT^A08~ORM^O01")),
);
const version = mostly(
  fc.constantFrom(
    "2.1",
    "2.2",
    "2.3",
    "2.3.1",
    "2.4",
    "2.5",
    "2.5.1",
    "2.6",
    "2.7",
    "2.7.1",
    "2.8",
    "2.9",
    "",
  ),
  fc.oneof(odd, fc.constantFrom("2.5^DEU", "3", "2.10")),
);
const condition = mostly(fc.constantFrom("", "AL", "NE", "ER", "SU"), odd);
const charset = mostly(
  fc.constantFrom("", "UNICODE UTF-8", "8859/1", "ASCII~8859/2", "GB 18030", "NONE"),
  odd,
);
const rest = fc.oneof(
  { weight: 4, arbitrary: fc.constant("") },
  {
    weight: 1,
    arbitrary: fc
      .tuple(condition, condition, charset, odd)
      .map(([a, b, c, o]) => `|||${a}|${b}|DEU|${c}|${o}`),
  },
  { weight: 4, arbitrary: fc.tuple(condition, condition, charset).map(([a, b, c]) => `|||${a}|${b}||${c}`) },
);
const KEYS = ["start", "parties", "type", "processing", "version", "rest", "security"] as const;
const header = fc.record({
  start: mostly(
    fc.constant("MSH|^~\\&|"),
    fc.constantFrom("MSH|^~\\&#|", "MSH|^~&|", "\ufeffMSH|^~\\&|", "MSH$^~\\&$"),
  ),
  parties: fc.tuple(party, party, party, party),
  type,
  processing: mostly(fc.constantFrom("P", "T", "D", "", "P^T"), odd),
  version,
  rest,
  security: mostly(fc.constant(""), odd),
});
const message = fc.record({
  time: mostly(fc.constantFrom("20261120101500", "20261120101500.123+0100", "", "2026"), odd),
  id: mostly(
    fc.oneof(fc.uuid(), fc.stringMatching(/^[A-Za-z0-9._-]{1,20}$/)),
    fc.oneof(odd, fc.constantFrom("A^B", "A~B", "\\X41\\", "A B", "x".repeat(200), "x".repeat(201))),
  ),
  end: mostly(fc.constantFrom("\r", "\r\n"), fc.constantFrom("\n", "")),
  body: fc.array(fc.constantFrom("PID|1||S-1", "ORC|NW|1", "OBR|1|1||X", "MSA|AA|1", "BAD", ""), {
    maxLength: 4,
  }),
});

/** Headers that may differ in one field alone, so that the form of one could be taken for another's. */
const headers = fc
  .tuple(header, header, fc.subarray([...KEYS]))
  .map(([one, other, taken]) => [
    one,
    other,
    { ...one, ...Object.fromEntries(taken.map((key) => [key, other[key]])) },
  ]);

type Drawn<A> = A extends fc.Arbitrary<infer T> ? T : never;

function textOf(of: Drawn<typeof header>, one: Drawn<typeof message>): string {
  const { start, parties, type, processing, version, rest, security } = of;
  const head = `${start}${parties.join("|")}|${one.time}|${security}|${type}|${one.id}|${processing}|${version}${rest}`;
  return [head, ...one.body].join(one.end) + one.end;
}

const moment = fc.record({
  occurredAt: fc.date({ min: new Date("1970-01-02"), max: new Date("2200-01-01"), noInvalidDate: true }),
  controlId: fc.stringMatching(/^CA[0-9A-Z]{6,18}$/),
  laterControlId: fc.stringMatching(/^CL[0-9A-Z]{6,18}$/),
});

const encoding = fc.constantFrom(undefined, "utf-8", "windows-1252", "iso-8859-2", "shift_jis", "utf-16le");
/** What nearly all messages of a sender are read in, and what one now and then. */
const encodings = fc.tuple(encoding, encoding);

test("whenever a form serves, its answer is what the composer would have written", () => {
  const settings = fc.record<ReplySettings>({
    form: fc.constantFrom("plain", "order"),
    applicationAck: fc.constantFrom("connection", "results"),
  });
  const sent = fc.array(
    fc.tuple(fc.nat({ max: 2 }), message, moment, mostly(fc.constant(0), fc.constant(1))),
    { minLength: 3, maxLength: 8 },
  );
  let served = 0;
  fc.assert(
    fc.property(fc.nat(), settings, headers, encodings, sent, (nth, way, three, two, all) => {
      const profile = profiles[nth % profiles.length] as Hl7Profile;
      const replies = new PreparedReplies(profile, way);
      for (const [which, one, when, other] of all) {
        const at = { ...when, encoding: two[other] };
        const text = textOf(three[which] as Drawn<typeof header>, one);
        const found = prepared(replies, text, at);
        if (found === undefined) continue;
        served += 1;
        expect(found).toEqual(composed(text, at, profile, way));
      }
    }),
    { numRuns: 3_000 },
  );
  expect(served).toBeGreaterThan(1_000);
});

const AT: Moment = { occurredAt: new Date("2026-11-20T10:15:00Z"), controlId: "CA1", laterControlId: "CL1" };
const LATER: Moment = {
  occurredAt: new Date("2026-11-20T10:15:09Z"),
  controlId: "CA2",
  laterControlId: "CL2",
};
const BODY = ["PID|1||S-1", "ORC|NW|1", "OBR|1|1||CRYO-STORE"];
const ORDER = hl7Text("ORM^O01^ORM_O01", BODY);
const withId = (text: string, id: string) => text.replace("|MSG-1|", () => `|${id}|`);
const enhanced = (accept: string, application: string) =>
  ORDER.replace("|2.5.1\r", `|2.5.1|||${accept}|${application}\r`);

/** What the third message with a header is answered from a form with, as text; undefined where none serves. */
function third(
  text: string,
  nth = 0,
  settings = PLAIN,
): { sent: string | undefined; isWhole: boolean } | undefined {
  const replies = new PreparedReplies(profiles[nth] as Hl7Profile, settings);
  replies.find(text);
  prepared(replies, text.replace("MSG-1", "MSG-2"), AT);
  const found = prepared(replies, text.replace("MSG-1", "MSG-3").replace("20261120101500", "2027"), LATER);
  return found && { sent: found.bytes?.toString(), isWhole: found.isWhole };
}

describe("a form serves", () => {
  it("from a sender's second message with the same header on", () => {
    const replies = new PreparedReplies(profiles[0] as Hl7Profile, PLAIN);
    expect(replies.find(ORDER)).toBeUndefined();
    for (const [id, at] of [
      ["MSG-2", AT],
      ["MSG-3", LATER],
    ] as const) {
      expect(prepared(replies, withId(ORDER, id), at)?.bytes?.toString()).toBe(
        `MSH|^~\\&|CRYO|STORE|LIMS|NORTH|${formatHl7Timestamp(at.occurredAt, "UTC")}||ACK^O01^ACK|${at.controlId}|P|2.5.1||||||UNICODE UTF-8\rMSA|AA|${id}\r`,
      );
    }
  });

  it("in enhanced mode, with the accept acknowledgement alone or with both", () => {
    expect(third(enhanced("AL", "NE"))?.sent).toMatch(/^MSH.*\|CA2\|.*\rMSA\|CA\|MSG-3\r$/);
    const both = /^MSH.*\|CA2\|.*\rMSA\|CA\|MSG-3\rMSH.*\|CL2\|.*\rMSA\|AA\|MSG-3\r$/;
    expect(third(enhanced("AL", "AL"))).toEqual({ sent: expect.stringMatching(both), isWhole: true });
    expect(third(enhanced("NE", "AL"))?.sent).toMatch(/^MSH.*\|CA2\|.*\rMSA\|AA\|MSG-3\r$/);
  });

  it("by saying nothing where the sender wants no answer", () => {
    expect(third(enhanced("NE", "NE"))).toEqual({ sent: undefined, isWhole: true });
  });

  it("with the accept acknowledgement alone where the other one goes out with the results", () => {
    const apart: ReplySettings = { form: "plain", applicationAck: "results" };
    expect(third(enhanced("AL", "AL"), 0, apart)).toEqual({
      sent: expect.stringMatching(/^MSH.*\rMSA\|CA\|MSG-3\r$/),
      isWhole: false,
    });
  });

  it("with orders echoed in answers, where this one has none", () => {
    const order: ReplySettings = { form: "order", applicationAck: "connection" };
    expect(third(hl7Text("ADT^A08", BODY), 0, order)?.sent).toContain("MSA|AA|MSG-3\r");
    expect(third(enhanced("AL", "NE"), 0, order)?.sent).toContain("MSA|CA|MSG-3\r");
  });

  it("each of several senders", () => {
    const replies = new PreparedReplies(profiles[0] as Hl7Profile, PLAIN);
    const others = ["NORTH", "SOUTH", "EAST"].map((facility) => ORDER.replace("NORTH", facility));
    for (const text of [...others, ...others]) replies.find(text);
    for (const text of others) {
      expect(prepared(replies, text, AT)).toEqual(composed(text, AT, profiles[0] as Hl7Profile, PLAIN));
    }
  });
});

describe("no form serves", () => {
  it("where the answer echoes orders", () => {
    const order: ReplySettings = { form: "order", applicationAck: "connection" };
    expect(third(ORDER, 0, order)).toBeUndefined();
    expect(third(enhanced("AL", "AL"), 0, order)).toBeUndefined();
  });

  it("a type that isn't taken, which may be an acknowledgement that nobody answers", () => {
    expect(third(hl7Text("ACK^O01", ["MSA|AA|1"]))).toBeUndefined();
    expect(third(hl7Text("ORU^R01", BODY))).toBeUndefined();
  });

  it("where the site has fields of its own", () => {
    expect(third(ORDER, 4)).toBeUndefined();
  });

  it.each([
    ["delimiters of the sender's own", ORDER.replaceAll("|", "$")],
    ["a truncation character", ORDER.replace("^~\\&", "^~\\&#")],
    ["a byte order mark", `\ufeff${ORDER}`],
    ["lines that end with LF", ORDER.replaceAll("\r", "\n")],
    ["an LF in the header", ORDER.replace("|P|", "|P\n|")],
    ["no line end at all", ORDER.slice(0, ORDER.indexOf("\r"))],
    ["a time that is none", ORDER.replace("|20261120101500|", "|today|")],
    ["too long a header", ORDER.replace("|P|", `|P^${"x".repeat(1_000)}|`)],
    ["no fields after the control id", `${ORDER.slice(0, ORDER.indexOf("|P|"))}\r`],
    ...Object.entries(STAND_INS).map(([name, value]): [string, string] => [
      `the ${name} that forms are made with`,
      ORDER.replace("LIMS", typeof value === "string" ? value : formatHl7Timestamp(value, "UTC")),
    ]),
  ])("a header with %s", (_, text) => {
    expect(third(text)).toBeUndefined();
  });

  it.each(["", "A B", "A^B", "A~B", "A&B", "A\\F\\B", "Ä", "x".repeat(201), "A\0"])(
    "the control id %j",
    (id) => {
      const replies = new PreparedReplies(profiles[0] as Hl7Profile, PLAIN);
      for (const other of ["MSG-1", "MSG-2"]) replies.find(withId(ORDER, other));
      expect(replies.find(withId(ORDER, "MSG-3"))).toBeDefined();
      expect(replies.find(withId(ORDER, id))).toBeUndefined();
    },
  );
});

it("forgets the header that it has known longest when there are a thousand others", () => {
  const replies = new PreparedReplies(profiles[0] as Hl7Profile, PLAIN);
  const other = (n: number) => ORDER.replace("|P|2.5.1", `|P|2.5.1|${n}`);
  for (const text of [ORDER, ORDER]) replies.find(text);
  for (let n = 1; n < 1_000; n += 1) replies.find(other(n));
  expect(replies.find(ORDER)).toBeDefined();
  replies.find(other(1_000));
  expect(replies.find(ORDER)).toBeUndefined();
  expect(replies.find(ORDER)).toBeDefined();
});
