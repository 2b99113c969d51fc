import { type Component, repeated, type SegmentSpec } from "./encode.ts";
import { type Hl7Header, isVersionFrom } from "./segment.ts";
import { formatHl7DateTime } from "./time.ts";

/** MSA-1 (table 0008). Not to be mixed with the same letters in ORC-1 and ORC-5. */
export type AcknowledgmentCode = "AA" | "AE" | "AR" | "CA" | "CE" | "CR";

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
  /** Where, as problems name it (`PID-3[2].1`, `message 2, PID-7`); left out of ERR when it is no place in a message. */
  readonly place?: string | undefined;
  /** For the sender's people; stands in the sender's logs, so it holds no patient's values. */
  readonly text: string;
  /** Table 0516; `E` unless given. */
  readonly severity?: "E" | "W" | "I" | "F" | undefined;
  /** ERR-5, our own code, from version 2.5 on. */
  readonly applicationCode?: string | undefined;
}

export interface AckRequest {
  /** The header of the message that is answered; whatever of it could be read. */
  readonly to: Partial<Hl7Header>;
  readonly code: AcknowledgmentCode;
  /** MSH-10 of the answer itself. */
  readonly controlId: string;
  /** MSH-7: a moment, which is then written in UTC, or as it is to stand there. */
  readonly dateTime: Date | string;
  readonly errors?: readonly AckError[];
  /** MSA-3 (to version 2.6); the first error's text unless given. */
  readonly text?: string;
  /** MSH-9 where the answer is no plain ACK, such as ORR^O02. */
  readonly type?: { readonly messageCode: string; readonly triggerEvent: string; readonly structure: string };
  /** MSH-18. */
  readonly characterSet?: string;
  /** What the answer itself is to be answered with (MSH-15, MSH-16); both empty unless given. */
  readonly wants?: AckWants | undefined;
}

/** MSH-15 and MSH-16 of an answer (table 0155). An acknowledgement has no application acknowledgement of its own. */
export interface AckWants {
  readonly accept: "AL" | "NE";
  readonly application: "NE";
}

/** Written and read as this version when the message that is answered names none. */
const DEFAULT_VERSION = "2.5";

/**
 * MSH, MSA and ERR of an answer, to be built with {@link buildMessage}; a composer of ORR or ORL appends its own.
 * Sender and receiver change places; MSH-11 and MSH-12 are echoed. ERR follows the version: to 2.4 one segment with
 * ERR-1 only, from 2.5 on one for each error with ERR-2, 3, 4, 5 and 8; MSA-3 is left out from 2.7 on (HL7 chapter 2.15).
 */
export function buildAck(request: AckRequest): SegmentSpec[] {
  const { to, errors = [] } = request;
  const version = to.version ?? DEFAULT_VERSION;
  const text = isVersionFrom(version, 2, 7) ? undefined : (request.text ?? errors[0]?.text);
  const first = errors[0];
  const errorCondition = first && !isVersionFrom(version, 2, 5) ? codedCondition(first.condition) : undefined;
  return [
    headerOf(request, version),
    ["MSA", request.code, to.messageControlId, text, undefined, undefined, errorCondition],
    ...errorSegments(errors, version),
  ];
}

function headerOf(request: AckRequest, version: string): SegmentSpec {
  const { to, dateTime } = request;
  const hasStructure = isVersionFrom(version, 2, 4);
  const type = request.type ?? { messageCode: "ACK", triggerEvent: to.triggerEvent, structure: "ACK" };
  return [
    "MSH",
    to.receivingApplicationParts ?? to.receivingApplication,
    to.receivingFacilityParts ?? to.receivingFacility,
    to.sendingApplicationParts ?? to.sendingApplication,
    to.sendingFacilityParts ?? to.sendingFacility,
    typeof dateTime === "string" ? dateTime : formatHl7DateTime(dateTime),
    undefined,
    [type.messageCode, type.triggerEvent, hasStructure ? type.structure : undefined],
    request.controlId,
    to.processingId ?? "P",
    version,
    undefined,
    undefined,
    request.wants?.accept,
    request.wants?.application,
    undefined,
    request.characterSet,
  ];
}

function errorSegments(errors: readonly AckError[], version: string): SegmentSpec[] {
  if (errors.length === 0) return [];
  if (!isVersionFrom(version, 2, 5)) {
    const locations = errors.map(({ place, condition }) => {
      const { segment, sequence, field } = readPlace(place);
      return [segment, sequence, field, codedCondition(condition)] as const;
    });
    return [["ERR", repeated(...locations)]];
  }
  return errors.map(({ place, condition, severity = "E", applicationCode, text }) => {
    const { segment, sequence, field, repetition, component, subcomponent } = readPlace(place);
    const location = [segment, sequence, field, repetition, component, subcomponent];
    return [
      "ERR",
      undefined,
      location,
      codedCondition(condition),
      severity,
      applicationCode,
      undefined,
      undefined,
      text,
    ];
  });
}

function codedCondition(condition: ErrorCondition): Component & readonly string[] {
  return [condition, ERROR_CONDITIONS[condition], "HL70357"];
}

interface Place {
  readonly segment?: string | undefined;
  readonly sequence?: number | undefined;
  readonly field?: number | undefined;
  readonly repetition?: number | undefined;
  readonly component?: number | undefined;
  readonly subcomponent?: number | undefined;
}

const PLACE =
  /(?:^|[ ,])([A-Z][A-Z0-9]{2})(?:\[(\d{1,4})\])?(?:-(\d{1,4})(?:\[(\d{1,4})\])?(?:\.(\d{1,4})(?:\.(\d{1,4}))?)?)?(?:, part \d+)?$/;

/** The parts of a place; segment sequence and repetition are 1 where the place does not say. */
function readPlace(place: string | undefined): Place {
  const match = PLACE.exec(place ?? "");
  if (!match) return {};
  const numberAt = (group: number) => (match[group] === undefined ? undefined : Number(match[group]));
  const field = numberAt(3);
  return {
    segment: match[1],
    sequence: numberAt(2) ?? 1,
    field,
    repetition: field === undefined ? undefined : (numberAt(4) ?? 1),
    component: numberAt(5),
    subcomponent: numberAt(6),
  };
}

/**
 * What became of a message, as far as acknowledging it goes.
 * - `taken`: committed, and its content is right.
 * - `content`: committed, but something in it is wrong; the same message will never be right.
 * - `foreign`: its type, version or processing id is not for this receiver.
 */
export type AckedOutcome = "taken" | "content" | "foreign";

/** What a sender is answered: at once, and later in a message of its own. */
export interface AckPlan {
  /** MSA-1 of the answer on the connection; undefined where the sender wants none. */
  readonly immediate: AcknowledgmentCode | undefined;
  /** MSA-1 of the application acknowledgement that follows as an exchange of its own; undefined for none. */
  readonly deferred: "AA" | "AE" | "AR" | undefined;
}

const ORIGINAL = { taken: "AA", content: "AE", foreign: "AR" } as const;

/**
 * How a message is acknowledged (HL7 chapter 2.9, table 0155). With MSH-15 and MSH-16 both empty, original mode: one
 * answer. Otherwise enhanced mode: an accept acknowledgement as MSH-15 asks, and an application acknowledgement as
 * MSH-16 asks, an empty one of the two standing for NE.
 *
 * In enhanced mode a content error is a matter of the application: CA, then AE. A sender that wants no application
 * acknowledgement of errors would never learn of it, so it gets CE instead. A message of a foreign type is refused by
 * CR and has no application acknowledgement, unless MSH-15 doesn't let CR be sent and MSH-16 lets AR.
 */
export function planAcks(
  header: Pick<Partial<Hl7Header>, "acceptAckType" | "applicationAckType">,
  outcome: AckedOutcome,
): AckPlan {
  const { acceptAckType: accept, applicationAckType: application } = header;
  if (accept === undefined && application === undefined) {
    return { immediate: ORIGINAL[outcome], deferred: undefined };
  }
  const isError = outcome !== "taken";
  const wantsApplication = isWanted(application, isError);
  if (outcome === "foreign") {
    if (isWanted(accept, true)) return { immediate: "CR", deferred: undefined };
    return { immediate: undefined, deferred: wantsApplication ? "AR" : undefined };
  }
  if (outcome === "content" && !wantsApplication) {
    return { immediate: isWanted(accept, true) ? "CE" : undefined, deferred: undefined };
  }
  return {
    immediate: isWanted(accept, false) ? "CA" : undefined,
    deferred: wantsApplication ? ORIGINAL[outcome] : undefined,
  };
}

/** Table 0155; a value that is not in it is taken as AL, since a sender that named one waits for something. */
function isWanted(condition: string | undefined, isError: boolean): boolean {
  switch (condition) {
    case undefined:
    case "NE":
      return false;
    case "ER":
      return isError;
    case "SU":
      return !isError;
    default:
      return true;
  }
}
