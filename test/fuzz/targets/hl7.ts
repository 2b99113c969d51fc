import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { toMessage } from "../../../src/connectors/hl7-drop/hl7-drop.ts";
import type { Accepted, IncomingMessage } from "../../../src/core/intake.ts";
import type { MappedMessage } from "../../../src/core/mapped-message.ts";
import type { Order } from "../../../src/core/order.ts";
import { phi } from "../../../src/core/phi.ts";
import { placeText } from "../../../src/core/place.ts";
import { splitHl7File } from "../../../src/formats/hl7/file.ts";
import { Hl7Message } from "../../../src/formats/hl7/message.ts";
import { encodeFrame } from "../../../src/formats/hl7/mllp.ts";
import { answerBatchFrame, type ConnectionReplies, replyTo } from "../../../src/jobs/intake/replies.ts";
import { createMapper } from "../../../src/mapping/inbound/mapper.ts";
import { compileProfile } from "../../../src/mapping/profile/compile-profile.ts";
import type { Hl7Profile } from "../../../src/mapping/profile/profile.ts";
import type { ProfileDefinition } from "../../../src/mapping/profile/schema.ts";
import { at } from "../../support/places.ts";
import { type InputForm, piecesIn } from "../mutate.ts";
import { hashOf } from "../random.ts";
import { Hl7Reader } from "../readers/hl7-reader.ts";
import { examples } from "../seeds.ts";
import { expectKnown, expectThat, Fault, type Target } from "../target.ts";

export const HL7_FORM: InputForm = {
  delimiters: ["\r", "|", "~", "^", "&", "\\"],
  tokens: piecesIn(
    "MSH|^~\\&|¦MSH|^~\\&#|¦PID|1||S-1^^^LAB^MR¦ORC|NW|A-1¦OBR|1|A-1||CRYO-STORE¦SPM|1|V-1¦SAC|||V-2¦" +
      "OBX|1|ST|CONTAINER||V-3¦NTE|1||x¦DSC|x¦MRG|T-1^^^LAB^MR¦PV1|1||NORTH^^^NORTH¦BHS|^~\\&|¦BTS|1¦" +
      "FHS|^~\\&|¦FTS|1¦\\F\\¦\\S\\¦\\T\\¦\\R\\¦\\E\\¦\\P\\¦\\X41\\¦\\X0D\\¦\\Xzz\\¦\\.br\\¦\\H\\¦\\C2842\\¦" +
      "\\¦ORM^O01¦OML^O21¦OML^O33¦ADT^A04¦ADT^A08¦ADT^A40¦ACK¦CRYO-RETRIEVE¦van der Muster¦V 1¦SOUTH¦MR¦PI¦L¦CA¦HD¦RL¦XO¦RP¦SS¦" +
      'UNICODE UTF-8¦8859/1¦2.3¦2.8¦P¦T¦D¦""¦19800101¦198001¦2.5.1||||||8859/1¦2.5.1|||AL|NE¦#¦' +
      "\rMSH|^~\\&|",
  ),
  brackets: [["\\", "\\"]],
};

const LIMITS = { messages: 1_000, batches: 100, mixedLineEnds: "refuse" } as const;
const FACILITIES = new Map(["NORTH", "SOUTH", "CLINIC", "LAB"].map((name, n) => [name, n + 12]));
const PEER = { address: "10.0.0.9" };

/** A frame or file: split, decoded, mapped by a profile, answered. */
export async function makeTarget(): Promise<Target> {
  const profiles = [
    await profileOf({ extends: "builtin/hl7-orders" }),
    await profileOf(exampleProfile("clinic-oml")),
    await profileOf(exampleProfile("accession-orm")),
    await profileOf(exampleProfile("specimen-oml")),
  ];
  const takers = profiles.map((profile, n) => takerOf(profile, n === 0));
  return {
    name: "hl7",
    form: HL7_FORM,
    seeds: examples(".hl7"),
    run: (input) => {
      // By its beginning, so that it is taken by the same one when it grows.
      const chosen = hashOf(input.subarray(0, 100)) % (4 * takers.length);
      return (takers[chosen] ?? takers[0])?.(input) ?? "";
    },
  };
}

function exampleProfile(name: string): ProfileDefinition {
  return parse(readFileSync(new URL(`../../../config/profiles/${name}.yaml`, import.meta.url), "utf8"));
}

async function profileOf(definition: ProfileDefinition): Promise<Hl7Profile> {
  const compiled = await compileProfile("fuzz", definition, { loadModule: async () => undefined });
  if (!compiled.ok || compiled.profile.format !== "hl7") throw new Error(JSON.stringify(compiled));
  return compiled.profile;
}

/** @param isPlain whether the profile takes values as they stand, but for blanks */
function takerOf(profile: Hl7Profile, isPlain: boolean): (input: Buffer) => string {
  const mapper = createMapper(profile, { facilityIdByCode: FACILITIES });
  const replies: ConnectionReplies = {
    ...{
      profile,
      form: "order",
      applicationAck: "connection",
      reusedControlId: "take",
      instanceCode: "ABC123",
    },
  };
  return (input) => {
    const { parts, problems, outline } = splitHl7File(input, LIMITS);
    for (const { code } of problems) expectKnown(code);
    const isWhole = problems.length === 0 && (parts.length > 0 || outline !== undefined);
    const messages: IncomingMessage[] = isWhole
      ? parts.map((part) => toMessage(part, {}))
      : [{ ordinal: 1, place: at("message 1"), raw: phi(input), content: { kind: "unreadable", problems } }];
    const outcomes = messages.map((message) => {
      const mapped = mapper.map(message);
      expectSound(mapped);
      if (isPlain && message.content.kind === "hl7") {
        const text = message.content.text.reveal();
        expectWhole(mapped, text, message.content.encoding);
        expectNoneLost(mapped, text);
      }
      const { verdict, problems, echo } = mapped;
      const incoming = { connector: "lims", echo, peer: PEER, receivedAt: new Date(0) };
      const reply = replyTo(incoming, replies).compose({ verdict, problems, messageId: 1 });
      if (reply !== undefined) expectAnswer(reply);
      return { mapped, accepted: { ordinal: 1, place: message.place, verdict, problems, orders: [], reply } };
    });
    const accepted: Accepted[] = outcomes.map((each) => each.accepted);
    const batch = isWhole && outline ? answerBatchFrame(replies, outline, input, accepted) : undefined;
    batch?.forEach(expectAnswer);
    const said = [...accepted.map(({ reply }) => reply), ...(batch ?? [])].map((each) =>
      each?.toString("latin1"),
    );
    return JSON.stringify([problems, outcomes.map(({ mapped }) => shown(mapped)), said]);
  };
}

/** What is accepted has orders or asks something of one, and what is not has reasons. */
export function expectSound({ verdict, orders, controlRequests, problems }: MappedMessage): void {
  for (const { code } of problems) expectKnown(code);
  const isAccepted = verdict === "accepted";
  expectThat(verdict === "ignored" || isAccepted === (problems.length === 0), "a verdict without its reason");
  expectThat(!isAccepted || orders.length + (controlRequests?.length ?? 0) > 0, "an acceptance of nothing");
  for (const order of orders) {
    const labels = order.containers.map(({ label }) => label);
    expectThat(new Set(labels).size === labels.length, "two containers of an order with one label");
    const values = valuesOf(order);
    expectThat(!Object.values(values).some((value) => value?.trim() === '""'), "a value that says delete");
    const day = values["subject.dateOfBirth"];
    const isDay = day === undefined || new Date(`${day}T00:00:00Z`).toJSON()?.slice(0, 10) === day;
    expectThat(isDay, "a date of birth that no calendar has");
  }
}

/** What a mapped message says, personal values laid open. */
export function shown(mapped: MappedMessage): unknown {
  return { ...mapped, orders: mapped.orders.map(valuesOf) };
}

/** The values of an order by the names of their sources. */
export function valuesOf(order: Order): Record<string, string | undefined> {
  const { subject } = order;
  return {
    placerOrderNumber: order.placerOrderNumber,
    priorSubjectCode: order.priorSubjectCode?.reveal(),
    "subject.code": subject.code.reveal(),
    "subject.firstName": subject.firstName?.reveal(),
    "subject.lastName": subject.lastName?.reveal(),
    "subject.dateOfBirth": subject.dateOfBirth?.reveal(),
    ...Object.fromEntries(
      order.containers.flatMap(({ label, description }, n) => [
        [`containers[${n}].label`, label],
        [`containers[${n}].description`, description || undefined],
      ]),
    ),
  };
}

/** Each value of an order is what stands as a whole at the place that the order says it is from. */
function expectWhole({ orders }: MappedMessage, text: string, encoding: string | undefined): void {
  if (orders.length === 0) return;
  const reader = new Hl7Reader(text);
  for (const order of orders) {
    for (const [name, value] of Object.entries(valuesOf(order))) {
      if (value === undefined) continue;
      const place = order.sources[name];
      expectThat(place !== undefined, `a value of ${name} without a source`);
      // What characters by number stand for is the product's alone to say.
      if (/\\X[0-9A-Fa-f]+\\/.test(text) && encoding !== undefined) continue;
      const written = placeText(place ?? {});
      const there = name.endsWith(".description") ? reader.textAt(written) : reader.valueAt(written);
      if (there === undefined) continue;
      const isDate = name === "subject.dateOfBirth";
      const isSame = isDate ? asDay(there) === value : collapsed(there) === collapsed(value);
      if (!isSame) throw new Fault(`a value of ${name} that does not stand as a whole at its place`);
    }
  }
}

/** Each container of a message that is taken as new orders is in one of them. */
function expectNoneLost({ verdict, orders, controlRequests }: MappedMessage, text: string): void {
  const moves = orders.length > 0 && orders.every(({ containers }) => containers.length > 0);
  if (verdict !== "accepted" || !moves || controlRequests !== undefined || /[\r\n]ORC.PR/.test(text)) return;
  const reader = new Hl7Reader(text);
  const labels = new Set(
    orders.flatMap(({ containers }) => containers.map(({ label }) => label)).map(collapsed),
  );
  const segment = reader.count("SAC") > 0 ? ["SAC", "3.1"] : ["SPM", "2.1.1"];
  for (let n = 1; n <= reader.count(segment[0] ?? ""); n += 1) {
    const label = reader.valueAt(`${segment[0]}[${n}]-${segment[1]}`);
    const isGiven = label !== undefined && (label !== "" || segment[0] === "SAC");
    if (isGiven && !labels.has(collapsed(label))) throw new Fault("a container that no order has");
  }
}

const asDay = (text: string) => text.trim().replace(/^(\d{4})-?(\d\d)-?(\d\d).*$/s, "$1-$2-$3");
const collapsed = (text: string) => text.trim().replace(/\s+/g, " ");

/** An answer is one message or several, and fits into frames. */
function expectAnswer(bytes: Buffer): void {
  encodeFrame(bytes);
  const { parts, problems } = splitHl7File(bytes);
  expectThat(problems.length === 0 && parts.length > 0, "an answer that can't be read");
  for (const { raw } of parts) {
    const message = Hl7Message.parse(raw.toString("latin1"));
    expectThat(message.segments[0]?.name === "MSH", "an answer without a header");
  }
}
