import type { LabText } from "../../core/lab-text.ts";
import { lastField, type Place } from "../../core/place.ts";
import type { AcknowledgmentCode } from "./ack.ts";
import { type Component, type Field, Repeated, type SegmentSpec } from "./encode.ts";
import { type Hl7Header, isVersionFrom } from "./segment.ts";

/*
 * The segments that are sent, each made by one function that knows where its values stand, in which version and in which kind of
 * message. What the lab wrote goes in as `Written` fields.
 */

/** MSH-9.1 and MSH-9.2, such as ORU and R01. */
export type MessageType = readonly [messageCode: string, triggerEvent: string | undefined];

/** What a message is to be answered with: MSH-15 and MSH-16, table 0155. */
export interface AckWants {
  readonly accept: "AL" | "NE";
  readonly application: "AL" | "NE";
}

/** What a message's header is made of. */
export interface SentHeader {
  /** The header of the message that is answered, or that an order came by; whatever of it could be read. */
  readonly to: Partial<Hl7Header>;
  readonly type: MessageType;
  /** MSH-10. */
  readonly controlId: string;
  /** MSH-7, as it is to stand there. */
  readonly dateTime: string;
  /** MSH-18. */
  readonly characterSet?: string | undefined;
  /** MSH-15 and MSH-16: what it is to be answered with; both empty unless given. */
  readonly wants?: AckWants | undefined;
}

/** Whether a message is read at all by a field, or an answer matched with what it answers: the same whatever a site wants otherwise. */
export function isFixedField(segment: string, field: number): boolean {
  if (segment === "MSH") return [1, 2, 9, 10, 12, 18].includes(field);
  return /^(?:MSA|ERR|[BF](?:HS|TS))$/.test(segment);
}

/** The version that a message is written in: that of the other one, as far as it names any. */
export function versionOf({ version }: Partial<Hl7Header>): string {
  return version ?? "2.5";
}

/**
 * MSH. Sender and receiver change places; MSH-11 and MSH-12 are echoed. The structure (MSH-9.3) is named from 2.4 on (HL7 chapter
 * 2.15.9.9).
 */
export function headerSegment({
  to,
  type,
  controlId,
  dateTime,
  characterSet,
  wants,
}: SentHeader): SegmentSpec {
  const version = versionOf(to);
  const [messageCode] = type;
  const structure = messageCode === "ACK" ? messageCode : type.join("_");
  return [
    "MSH",
    ...partiesFor(to),
    dateTime,
    undefined,
    isVersionFrom(version, 2, 4) ? [...type, structure] : type,
    controlId,
    to.processingId ?? "P",
    version,
    ...blank(2),
    wants?.accept,
    wants?.application,
    undefined,
    characterSet,
  ];
}

/** MSH-3 to MSH-6, and the same of FHS and BHS: our sender is the other message's receiver, and the reverse. */
export function partiesFor(to: Partial<Hl7Header>): Field[] {
  return [
    to.receivingApplicationParts,
    to.receivingFacilityParts,
    to.sendingApplicationParts,
    to.sendingFacilityParts,
  ];
}

/** Table 0357, what ERR-3 says (and ERR-1.4 before version 2.5). */
const ERROR_CONDITIONS = {
  "0": "Message accepted",
  "100": "Segment sequence error",
  "101": "Required field missing",
  "102": "Data type error",
  "103": "Table value not found",
  "104": "Value too long",
  "200": "Unsupported message type",
  "201": "Unsupported event code",
  "202": "Unsupported processing id",
  "203": "Unsupported version id",
  "204": "Unknown key identifier",
  "205": "Duplicate key identifier",
  "206": "Application record locked",
  "207": "Application internal error",
} as const;
export type ErrorCondition = keyof typeof ERROR_CONDITIONS;

/** One thing that ERR reports. */
export interface AckError {
  readonly condition: ErrorCondition;
  /** Left out of ERR when it is no place in a message. */
  readonly place?: Place | undefined;
  /** For the sender's people; stands in the sender's logs, so it holds no patient's values. */
  readonly text: LabText;
  /** Table 0516; `E` unless given. */
  readonly severity?: "E" | "W" | "I" | "F" | undefined;
  /** ERR-5, our own code, from version 2.5 on. */
  readonly applicationCode?: string | undefined;
}

/** What an acknowledgement is made of. */
export interface Acknowledgment extends Omit<SentHeader, "type"> {
  /** ACK unless given, such as ORR^O02. */
  readonly type?: MessageType | undefined;
  /** MSA-1. */
  readonly code: AcknowledgmentCode;
  /** MSA-2, as the message that is answered is named; by MSH-10 as it was read unless given. */
  readonly answered?: Field;
  readonly errors?: readonly AckError[];
  /** MSA-3. */
  readonly text?: LabText | undefined;
}

/**
 * MSH, MSA and ERR of an answer. To version 2.4 one ERR with ERR-1 only, from 2.5 on one for each error with ERR-2, 3, 4, 5 and 8;
 * MSA-3 is left out from 2.7 on (HL7 chapter 2.15).
 */
export function acknowledgmentSegments(acknowledgment: Acknowledgment): SegmentSpec[] {
  const { to, code, answered = to.messageControlId, errors = [], text } = acknowledgment;
  const { type = ["ACK", to.triggerEvent] } = acknowledgment;
  const version = versionOf(to);
  const msh = headerSegment({ ...acknowledgment, type });
  const hasCodesOnly = !isVersionFrom(version, 2, 5);
  const [first] = errors;
  const msa: SegmentSpec = [
    "MSA",
    code,
    answered,
    isVersionFrom(version, 2, 7) ? undefined : text,
    ...blank(2),
    first && hasCodesOnly ? codedCondition(first.condition) : undefined,
  ];
  if (!hasCodesOnly) return [msh, msa, ...errors.map(errorSegment)];
  const locations = errors.map(({ place, condition }) => {
    return [...locationOf(place).slice(0, 3), codedCondition(condition)];
  });
  return first === undefined ? [msh, msa] : [msh, msa, ["ERR", new Repeated(...locations)]];
}

/** ERR from version 2.5 on. */
function errorSegment({ place, condition, severity = "E", applicationCode, text }: AckError): SegmentSpec {
  const coded = codedCondition(condition);
  return ["ERR", undefined, locationOf(place), coded, severity, applicationCode, ...blank(2), text];
}

function codedCondition(condition: ErrorCondition): Component & readonly string[] {
  return [condition, ERROR_CONDITIONS[condition], "HL70357"];
}

/** ERR-2: segment, its sequence, field, repetition, component and subcomponent; the first one where the place does not say. */
function locationOf(place: Place = {}): (string | undefined)[] {
  const spot = lastField(place);
  if (spot === undefined || !/^[A-Z][A-Z0-9]{2}$/.test(spot.segment))
    return Array.from({ length: 6 }, () => undefined);
  const { segment, ordinal = 1, field, repetition = 1, component, subcomponent } = spot;
  const once = field === undefined ? undefined : repetition;
  return [segment, ordinal, field, once, component, subcomponent].map((part) => part?.toString());
}

/** NTE-1 to NTE-3: words for people. */
export function noteSegments(texts: readonly LabText[]): SegmentSpec[] {
  return texts.map((text, index) => ["NTE", index + 1, "L", text]);
}

/** PID of a subject of which nothing but the code is at hand. */
export function subjectSegment(code: string): SegmentSpec {
  return ["PID", 1, undefined, code];
}

/** The numbers of an order, as they stand in ORC and OBR. */
export interface OrderNumbers {
  /** ORC-2. */
  readonly placer: Field;
  /** OBR-2. */
  readonly obrPlacer: Field;
  /** ORC-3 and OBR-3. */
  readonly filler: Field;
  /** Another field where the lab looks for its number, and how it is written there. */
  readonly elsewhere:
    | { readonly segment: "ORC" | "OBR"; readonly field: number; readonly value: Field }
    | undefined;
}

/** What is said of an order in its ORC. */
export interface OrderControl {
  /** ORC-1, table 0119. */
  readonly control: string;
  readonly numbers: OrderNumbers;
  /** ORC-4. */
  readonly groupNumber: Field;
  /** ORC-5, table 0038. */
  readonly status: string | undefined;
  /** ORC-9. */
  readonly at?: string | undefined;
  /** ORC-16. */
  readonly reason?: { readonly code?: string | undefined; readonly text: LabText } | undefined;
}

export function controlSegment({
  control,
  numbers,
  groupNumber,
  status,
  at,
  reason,
}: OrderControl): SegmentSpec {
  const coded = reason && [reason.code, reason.text, reason.code && "L"];
  const fields = [control, numbers.placer, numbers.filler, groupNumber, status, ...blank(3), at];
  return withNumber(["ORC", ...fields, ...blank(6), coded], numbers);
}

/** What a result says of an order in its OBR. */
export interface OrderReport {
  readonly setId: number;
  readonly numbers: OrderNumbers;
  /** OBR-4. */
  readonly service: Field;
  /** OBR-7 and OBR-22. */
  readonly at: string;
  /** OBR-25, table 0123. */
  readonly resultStatus: string | undefined;
}

export function reportSegment({ setId, numbers, service, at, resultStatus }: OrderReport): SegmentSpec {
  const head = [setId, numbers.obrPlacer, numbers.filler, service];
  return withNumber(["OBR", ...head, ...blank(2), at, ...blank(14), at, ...blank(2), resultStatus], numbers);
}

/** The segment with the order's number where the lab looks for it, if that is a field of it that nothing else fills. */
function withNumber(segment: SegmentSpec, { elsewhere }: OrderNumbers): SegmentSpec {
  const [name, ...fields] = segment;
  if (elsewhere === undefined || elsewhere.segment !== name || elsewhere.value === undefined) return segment;
  while (fields.length < elsewhere.field) fields.push(undefined);
  fields[elsewhere.field - 1] = elsewhere.value;
  return [name, ...fields];
}

/** One value of a result; nothing is written of an observation without one (OBX-5). */
export type Observation = {
  /** OBX-3 with its text; `L` is HL7's word for a local code (table 0396). */
  readonly code: readonly [code: string, text: string, system: "L"];
  /** OBX-4. */
  readonly subId?: number | undefined;
  /** OBX-11, table 0085. */
  readonly status: "F" | "X" | "P";
  /** OBX-14. */
  readonly at: string;
} & (
  | { readonly type: "TX"; readonly value: LabText | undefined }
  | { readonly type: "ST" | "NM" | "TS" | "DTM"; readonly value: string | number | undefined }
);

/** OBX for each observation that has a value; OBX-1 counts them. */
export function observationSegments(observations: readonly Observation[]): SegmentSpec[] {
  return observations
    .filter(({ value }) => value !== undefined && value !== "")
    .map(({ type, code, subId, value, status, at }, index) => {
      return ["OBX", index + 1, type, code, subId, value, ...blank(5), status, ...blank(2), at];
    });
}

/** That many empty fields. */
export function blank(count: number): undefined[] {
  return new Array<undefined>(count).fill(undefined);
}
