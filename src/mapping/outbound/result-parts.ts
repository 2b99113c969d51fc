import { movesContainers } from "../../core/order.ts";
import type { Outcome, OutcomeOrder } from "../../core/outcome.ts";
import type { Field, SegmentSpec } from "../../formats/hl7/encode.ts";
import type { OrderGroup } from "../../formats/hl7/groups.ts";
import { isVersionFrom } from "../../formats/hl7/segment.ts";
import { type NumberFields, withNumber } from "../inbound/number-place.ts";
import { findOrderGroups } from "../inbound/order-hl7.ts";
import type { Hl7Profile, ReportedState, ResultFormat, ResultSettings } from "../profile/profile.ts";
import type { ResultState } from "../profile/results-schema.ts";
import type { Original } from "./original.ts";
import { formatHl7Timestamp } from "./timestamp.ts";

/** Written when the original is gone and the profile names no version. */
export const DEFAULT_VERSION = "2.5";

/** An order that changed, with all that a message about it is made of. */
export interface StatusContext {
  readonly outcome: Extract<Outcome, { kind: "changed" }>;
  readonly original: Original;
  readonly profile: Hl7Profile;
  readonly format: ResultFormat;
  /** MSH-12. */
  readonly version: string;
  /** When it changed, as HL7 writes it. */
  readonly at: string;
  /** The order's segments in the original; none when that is gone, or a newer profile reads it otherwise. */
  readonly groups: readonly OrderGroup[];
}

/** Gathers what a message about an order's change is made of. */
export function statusContext(
  outcome: StatusContext["outcome"],
  original: Original,
  profile: Hl7Profile,
): StatusContext {
  const { order, occurredAt } = outcome;
  const version = original.header.version ?? DEFAULT_VERSION;
  return {
    outcome,
    original,
    profile,
    format: resultFormat(order, version, profile.results),
    version,
    at: formatHl7Timestamp(occurredAt, profile.results.timeZone),
    groups: findOrderGroups(original.message, profile, order.placerOrderNumber),
  };
}

/**
 * The message that reports an order's state. A registration or an update of a subject is no order and has no container,
 * so only ORU can carry it; SSU^U03 is about containers and came with 2.4, so before that, and for an order without any, ORU takes its place.
 */
function resultFormat(
  { operation, state, containers }: OutcomeOrder,
  version: string,
  { format, formats }: ResultSettings,
): ResultFormat {
  const wanted = formats?.[state] ?? format;
  if (!movesContainers(operation)) return "oru";
  return wanted === "ssu" && (containers.length === 0 || !isVersionFrom(version, 2, 4)) ? "oru" : wanted;
}

/** MSH of a message about orders. */
export function statusHeader({
  outcome,
  original,
  at,
  version,
  format,
}: Pick<StatusContext, "original" | "at" | "version" | "format"> & {
  readonly outcome: Pick<Outcome, "controlId">;
}): SegmentSpec {
  const { header } = original;
  return [
    "MSH",
    header.receivingApplicationParts,
    header.receivingFacilityParts,
    header.sendingApplicationParts,
    header.sendingFacilityParts,
    at,
    undefined,
    messageType(format, version),
    outcome.controlId,
    header.processingId ?? "P",
    version,
    ...blank(5),
    original.charset.name,
  ];
}

const TYPES = { oru: ["ORU", "R01"], orm: ["ORM", "O01"], ssu: ["SSU", "U03"] } as const;

/** MSH-9. ORM was withdrawn in 2.7, where OML^O21 takes its place; the structure is named from 2.4 on (HL7 chapter 2.15.9.9). */
function messageType(format: ResultFormat, version: string): string[] {
  const type = format === "orm" && isVersionFrom(version, 2, 7) ? ["OML", "O21"] : TYPES[format];
  return isVersionFrom(version, 2, 4) ? [...type, type.join("_")] : [...type];
}

/**
 * ORC-3 and OBR-3: R and the request's id, or P and the procedure's where there is no request. The two are different
 * series of numbers at the service, so the letter is part of the number. It never changes once it is known.
 */
export function fillerOrderNumber({ requestId, procedureId }: OutcomeOrder): string | undefined {
  if (requestId !== undefined) return `R${requestId}`;
  return procedureId === undefined ? undefined : `P${procedureId}`;
}

/** That many empty fields. */
export function blank(count: number): undefined[] {
  return new Array<undefined>(count).fill(undefined);
}

/** OBR of a message about an order, with the time of the report and the status of the results (OBR-25). */
export function reportObr({
  setId,
  numbers,
  filler,
  service,
  at,
  resultStatus,
}: {
  readonly setId: number;
  readonly numbers: NumberFields;
  readonly filler: Field;
  /** OBR-4. */
  readonly service: Field;
  readonly at: string;
  readonly resultStatus: string | undefined;
}): SegmentSpec {
  return withNumber(
    [
      "OBR",
      setId,
      numbers.obrPlacer,
      filler,
      service,
      ...blank(2),
      at,
      ...blank(14),
      at,
      ...blank(2),
      resultStatus,
    ],
    numbers,
  );
}

/** OBR-4 where the original has none to echo. */
export const SERVICE_BY_OPERATION = {
  STORE: ["STORE", "Cryogenic storage", "L"],
  RETRIEVAL: ["RETRIEVAL", "Retrieval from cryogenic storage", "L"],
  REGISTER: ["REGISTER", "Registration of the subject", "L"],
  UPDATE: ["UPDATE", "Update of the subject", "L"],
  MERGE: ["MERGE", "Merge of the subject", "L"],
} as const;

/** The places in which HL7 says how an order stands. Their tables share letters and nothing else. */
interface StatusCodes {
  /** ORC-1, table 0119. */
  readonly orderControl: string;
  /** ORC-5, table 0038. */
  readonly orderStatus: string | undefined;
  /** OBR-25, table 0123. */
  readonly resultStatus: string | undefined;
  /** SAC-8, table 0370. */
  readonly containerStatus: string | undefined;
}

/**
 * The shipped map. Choices worth knowing: FAILED is DC, since ER of table 0038 means "order not found"; a parked
 * order and one that waits for a code are on hold (OH, HD); ORC-1 of a completed order is SC, but RE in a result
 * message, since results follow it. SAC-8 of a container whose order was not done is left out: where it is and in what
 * state, nobody has said.
 */
const CODES: Readonly<
  Record<
    ResultState,
    readonly [
      orderControl: string,
      orderStatus?: string | undefined,
      resultStatus?: string,
      containerStatus?: string,
    ]
  >
> = {
  acknowledged: ["OK", "SC", "O"],
  refused: ["UA", undefined, "X"],
  waiting: ["OH", "HD", "O"],
  submitted: ["SC", "SC", "O", "I"],
  accepted: ["SC", "SC", "S", "I"],
  in_progress: ["SC", "IP", "I", "O"],
  completed: ["SC", "CM", "F", "R"],
  rejected: ["OC", "CA", "X"],
  cancelled: ["OC", "CA", "X"],
  failed: ["OD", "DC", "X", "U"],
  parked: ["OH", "HD", "O"],
  discarded: ["OC", "CA", "X"],
};

/** The codes for a state, by the profile's `statusMap` where it says something, else by the shipped map. */
export function statusCodes(
  state: ReportedState,
  { format, statusMap }: Pick<ResultSettings, "format" | "statusMap">,
): StatusCodes {
  // States before `submitted` are never sent on their own, only within an acknowledgement.
  const known = state in CODES ? (state as ResultState) : "acknowledged";
  const [orderControl, orderStatus, resultStatus, containerStatus] = CODES[known];
  const site = statusMap?.[known];
  const isResult = known === "completed" && format === "oru";
  return {
    orderControl: site?.["ORC-1"] ?? (isResult ? "RE" : orderControl),
    orderStatus: site?.["ORC-5"] ?? orderStatus,
    resultStatus: site?.["OBR-25"] ?? resultStatus,
    containerStatus: site?.["SAC-8"] ?? containerStatus,
  };
}
