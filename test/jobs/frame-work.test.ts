import { beforeAll, describe, expect, test } from "vitest";
import { toMessage } from "../../src/connectors/hl7-drop/hl7-drop.ts";
import type { Accepted, IncomingMessage } from "../../src/core/intake.ts";
import { phi } from "../../src/core/phi.ts";
import { splitHl7File } from "../../src/formats/hl7/file.ts";
import { answerBatchFrame, type ConnectionReplies, replyTo } from "../../src/jobs/intake/replies.ts";
import { createMapper, type Mapper } from "../../src/mapping/inbound/mapper.ts";
import { facilityIdByCode, hl7Profile } from "../mapping/mapped.ts";
import { at } from "../support/places.ts";

/**
 * So large is the larger frame of each comparison, bytes; the smaller has a quarter. One that is refused for its size is halved until it
 * is read: what is quadratic takes twice the noise or more at one of them.
 */
const LARGE = [200_000, 100_000, 50_000, 25_000, 12_500, 6_250];
/** Up to here times are noise, ms. */
const SHORT_MS = 120;
const LIMITS = { messages: 100_000, batches: 100_000 };

const MSH = (type: string) => `MSH|^~\\&|LIMS|NORTH|CRYO|STORE|20261120101500||${type}|M1|P|2.5.1`;
const PID = "PID|1||S-1^^^^MR||Doe^Jane||19900131|F";
const order = (n: number) => [
  `ORC|NW|A-${n}`,
  `OBR|1|A-${n}||CRYO-STORE`,
  `SPM|1|P${n}||EMB`,
  `SAC|||V-${n}`,
];
const many = (count: number, make: (n: number) => string | readonly string[]) =>
  Array.from({ length: count }, (_, n) => make(n)).flat();
const message = (type: string, ...segments: (string | readonly string[])[]) =>
  `${[MSH(type), ...segments.flat()].join("\r")}\r`;

/** Frames that grow with a number, by what grows in them. */
const CANDIDATES: Record<string, (count: number) => string> = {
  "batch headers": (count) => many(count, () => "BHS|^~\\&|L|N").join("\r"),
  "empty batches": (count) => many(count, (n) => [`BHS|^~\\&|L|N|||||||B${n}`, "BTS|0"]).join("\r"),
  "batch trailers": (count) => many(count, () => "BTS|0").join("\r"),
  "file headers": (count) => many(count, () => "FHS|^~\\&|L|N").join("\r"),
  "empty headers": (count) => many(count, () => "MSH|^~\\&|LIMS|NORTH").join("\r"),
  "line ends": (count) => `${MSH("OML^O21")}${"\n".repeat(count)}`,
  "end blocks": (count) => `${MSH("OML^O21")}${"\x1c".repeat(count)}`,
  "lines of a space": (count) => `${MSH("OML^O21")}\r${" \r".repeat(count)}`,
  "broken segments": (count) =>
    message(
      "OML^O21",
      many(count, () => "x|y"),
    ),
  "notes and orders": (count) =>
    message(
      "ORM^O01",
      PID,
      many(count, () => "NTE"),
      many(count, order),
    ),
  "notes and merges": (count) =>
    message(
      "ADT^A40",
      many(count, () => "NTE"),
      many(count, (n) => [`PID|1||S-${n}^^^^MR||Doe^Jane`, `MRG|T-${n}^^^^MR`]),
    ),
  "merges that are wrong": (count) =>
    message(
      "ADT^A40",
      many(count, () => "PID|1"),
    ),
};
for (const type of ["ORM^O01", "OML^O21^OML_O21", "OML^O33^OML_O33", "OML^O35^OML_O35"]) {
  const shapes: Record<string, (count: number) => string> = {
    orders: (count) => message(type, PID, many(count, order)),
    "orders of one number": (count) =>
      message(
        type,
        PID,
        many(count, (n) => [`ORC|NW|A^L${n}`, ...order(n).slice(1)]),
      ),
    "orders of one number and many authorities": (count) =>
      message(
        type,
        PID,
        many(count, (n) => [`ORC|NW|A^L^U${n}^T${n}`, ...order(n).slice(1)]),
      ),
    "orders without numbers": (count) =>
      message(
        type,
        PID,
        many(count, () => "ORC|NW"),
        order(1),
      ),
    cancellations: (count) =>
      message(
        type,
        PID,
        many(count, (n) => `ORC|CA|A-${n}`),
      ),
    changes: (count) =>
      message(
        type,
        PID,
        many(count, (n) => order(n).map((line) => line.replace("NW", "XO"))),
      ),
    containers: (count) =>
      message(
        type,
        PID,
        order(1),
        many(count, (n) => `SAC|||W-${n}`),
      ),
    "containers and notes": (count) =>
      message(
        type,
        PID,
        many(count, () => "NTE"),
        order(1),
        many(count, (n) => `SAC|||W-${n}`),
      ),
    "containers before orders": (count) =>
      message(
        type,
        PID,
        "SPM|1|P",
        many(count, (n) => `SAC|||W-${n}`),
        many(count, (n) => order(n).slice(0, 2)),
      ),
    "containers before orders of one number": (count) =>
      message(
        type,
        PID,
        "SPM|1|P",
        many(count, (n) => `SAC|||W-${n}`),
        many(count, () => order(1).slice(0, 2)),
      ),
    "containers without labels before orders": (count) =>
      message(
        type,
        PID,
        "SPM|1",
        many(count, () => "SAC|"),
        many(count, (n) => order(n).slice(0, 2)),
      ),
    "containers with observations": (count) =>
      message(
        type,
        PID,
        order(1).slice(0, 3),
        many(count, (n) => [`SAC|||W-${n}`, `OBX|1|ST|VOL||${n}`, "ZBX|1|x"]),
      ),
    "notes before orders of one specimen": (count) =>
      message(
        type,
        PID,
        "SPM|1|P",
        many(count, () => "NTE|1||x"),
        many(count, (n) => order(n).slice(0, 2)),
      ),
    "notes and requests of one order": (count) =>
      message(
        type,
        PID,
        "ORC|NW|A-1",
        many(count, () => "NTE"),
        many(count, () => "OBR|1|A-1||CRYO-STORE"),
      ),
    observations: (count) =>
      message(
        type,
        PID,
        order(1),
        many(count, (n) => `OBX|${n}|ST|LABEL||V-${n}`),
      ),
    "patients' notes": (count) =>
      message(
        type,
        PID,
        many(count, () => "NTE|1||x"),
        order(1),
      ),
  };
  for (const [what, make] of Object.entries(shapes)) CANDIDATES[`${what} of ${type}`] = make;
}
const FIELDS: Record<string, (text: string) => string> = {
  "MSH-3": (text) => message("ORM^O01", PID, order(1)).replace("LIMS", text),
  "MSH-10": (text) => message("ORM^O01", PID, order(1)).replace("M1", text),
  "MSH-18": (text) => message("ORM^O01", PID, order(1)).replace("2.5.1", `2.5.1||||||${text}`),
  "PID-3": (text) => message("ORM^O01", `PID|1||${text}||Doe^Jane`, order(1)),
  "PID-5": (text) => message("ORM^O01", `PID|1||S-1^^^^MR||${text}`, order(1)),
  "ORC-2": (text) => message("OML^O21", PID, `ORC|NW|${text}`, order(1).slice(1)),
  "OBR-4": (text) => message("OML^O21", PID, "ORC|NW|A", `OBR|1|A||${text}`, order(1).slice(2)),
  "SAC-3": (text) => message("OML^O21", PID, order(1).slice(0, 3), `SAC|||${text}`),
  "NTE-3": (text) => message("OML^O21", PID, order(1), `NTE|1||${text}`),
};
const PIECES: Record<string, string> = {
  repetitions: "S-1^^^^MR~",
  "empty repetitions": "~",
  components: "^",
  subcomponents: "&",
  fields: "|",
  escapes: "\\F\\",
  "escaped bytes": "\\X41\\",
  "escape characters": "\\",
  letters: "a",
  "control characters": "\x01",
};
for (const [field, make] of Object.entries(FIELDS))
  for (const [what, piece] of Object.entries(PIECES))
    CANDIDATES[`${what} in ${field}`] = (count) => make(piece.repeat(count));

let mapper: Mapper;
let replies: ConnectionReplies;
beforeAll(async () => {
  // What is repeated in results is read for each container.
  const fields = { "SPM-4": "{SPM-4}", "OBX-18": "{SAC-4.1}", "OBX-15": "{ZBX-2}", "NTE-3": "{NTE-3}" };
  const profile = await hl7Profile({ results: { fields } });
  mapper = createMapper(profile, { facilityIdByCode });
  replies = {
    profile,
    form: "order",
    applicationAck: "connection",
    reusedControlId: "take",
    instanceCode: "ABC123",
  };
});

/** All that is done about a frame but to keep it. */
function takeFrame(frame: Buffer): Accepted[] {
  const { parts, problems, outline } = splitHl7File(frame, LIMITS);
  const isWhole = problems.length === 0 && (parts.length > 0 || outline !== undefined);
  const messages: IncomingMessage[] = isWhole
    ? parts.map((part) => toMessage(part, {}))
    : [{ ordinal: 1, place: at("message 1"), raw: phi(frame), content: { kind: "unreadable", problems } }];
  const accepted = messages.map((each): Accepted => {
    const { verdict, problems: found, echo } = mapper.map(each);
    const incoming = { connector: "lims", echo, peer: { address: "10.0.0.9" }, receivedAt: new Date(0) };
    const reply = replyTo(incoming, replies).compose({ verdict, problems: found, messageId: 1 });
    return { ordinal: each.ordinal, place: each.place, verdict, problems: found, orders: [], reply };
  });
  if (isWhole && outline) answerBatchFrame(replies, outline, frame, accepted);
  return accepted;
}

interface Taken {
  /** Processor time, ms: what the machine does beside it doesn't count. */
  readonly ms: number;
  /** Whether it was gone through to its end. */
  readonly isRead: boolean;
}

function take(text: string): Taken {
  const frame = Buffer.from(text);
  const before = process.cpuUsage();
  const accepted = takeFrame(frame);
  const { user, system } = process.cpuUsage(before);
  return { ms: (user + system) / 1_000, isRead: accepted.every(({ verdict }) => verdict !== "refused") };
}

/** Three times, since a collection of garbage may fall into any. Says whether the larger one was read to its end. */
function compare(small: string, large: string): boolean {
  const tries: string[] = [];
  for (let n = 0; n < 3; n += 1) {
    const four = take(large);
    if (four.ms < SHORT_MS) return four.isRead;
    const one = take(small);
    if (four.ms < 10 * one.ms) return four.isRead;
    tries.push(`${Math.round(one.ms)} ms and ${Math.round(four.ms)} ms`);
  }
  expect.fail(`each time more: ${tries.join(", ")}`);
}

describe("four times as much in one frame takes no more than four times the work, or so", {
  timeout: 60_000,
}, () => {
  test.each(Object.keys(CANDIDATES))("of %s", (name) => {
    const make = CANDIDATES[name] as (count: number) => string;
    const each = (make(200).length - make(100).length) / 100;
    for (const bytes of LARGE)
      if (compare(make(Math.ceil(bytes / each / 4)), make(Math.ceil(bytes / each)))) return;
  });
});

test("an answer to a message with endless mistakes lists the first hundred and says how many there are", () => {
  const [accepted] = takeFrame(
    Buffer.from(
      message(
        "ADT^A40",
        many(5_000, () => "PID|1"),
      ),
    ),
  );
  expect(accepted?.problems).toHaveLength(101);
  expect(accepted?.problems.at(-1)?.message).toMatch(/^\d+ more mistakes are not listed$/);
  expect(accepted?.reply?.length).toBeLessThan(100_000);
});

test("a specimen whose containers many orders share is refused, with what could be meant instead", () => {
  const containers = many(450, (n) => `SAC|||W-${n}`);
  const orders = many(800, (n) => order(n).slice(0, 2));
  const [accepted] = takeFrame(Buffer.from(message("OML^O33^OML_O33", PID, "SPM|1|P", containers, orders)));
  expect(accepted).toMatchObject({
    verdict: "refused",
    problems: [
      {
        code: "HL7_STRUCTURE",
        message:
          "segment 3 (SPM): its 450 containers belong to each order below it, and at most 5000 segments may be shared so, counted with each order; expected one order for all of them, or OML^O35, where each container has orders of its own",
      },
    ],
  });
});

test.each([
  [
    "has more segments than can be read",
    () =>
      message(
        "OML^O21",
        PID,
        order(1),
        many(20_000, () => "NTE"),
      ),
  ],
  [
    "has more segments than can be echoed",
    () =>
      message(
        "OML^O21",
        PID,
        many(200_000, () => "ORC"),
      ),
  ],
  ["has more fields in a segment than any", () => message("OML^O21", `${PID}${"|".repeat(1_001)}`, order(1))],
  [
    "has more escapes than can be read",
    () => message("OML^O21", PID, order(1), `NTE|1||${"\\.br\\".repeat(25_001)}`),
  ],
  [
    "has more control characters than can be echoed",
    () => message("OML^O21", PID.replace("Doe", "\x01".repeat(50_001)), order(1)),
  ],
  ["has notes around more orders than can be read", CANDIDATES["notes and orders"]],
  ["has notes before more merges than can be read", CANDIDATES["notes and merges"]],
])("a message that %s is refused for its structure", (_, make) => {
  const [accepted] = takeFrame(Buffer.from(make?.(4_000) ?? ""));
  expect(accepted).toMatchObject({ verdict: "refused", problems: [{ code: "HL7_STRUCTURE" }] });
  expect(accepted?.reply?.toString()).toContain("\rMSA|AE|M1");
});

test("a header that is longer than any is refused, and answered without its fields", () => {
  const text = message("OML^O21", PID, order(1)).replace("LIMS", "L".repeat(70_000));
  const [accepted] = takeFrame(Buffer.from(text));
  expect(accepted).toMatchObject({ verdict: "refused", problems: [{ code: "HL7_SEGMENT_INVALID" }] });
  expect(accepted?.reply?.length).toBeLessThan(1_000);
});
