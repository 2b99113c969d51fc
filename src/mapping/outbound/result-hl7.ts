import { isSubjectNews, movesContainers } from "../../core/order.ts";
import type { ContainerLocation, Outcome, OutcomeContainer, OutcomeOrder } from "../../core/outcome.ts";
import { type Field, Repeated, type SegmentSpec } from "../../formats/hl7/encode.ts";
import { isVersionFrom } from "../../formats/hl7/segment.ts";
import {
  blank,
  controlSegment,
  headerSegment,
  noteSegments,
  observationSegments,
  reportSegment,
  subjectSegment,
  versionOf,
} from "../../formats/hl7/sent-segments.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import type { Hl7Results } from "../profile/results.ts";
import type { ResultFormat } from "../profile/results-schema.ts";
import { type StatusCodes, statusCodes } from "./codes.ts";
import { observeContainer, observeNumber, observeOrder, observeWhole } from "./observations.ts";
import { NO_NUMBERS, type Original, type OriginalGroup } from "./original.ts";
import { reasonInWords, worded } from "./reasons.ts";
import { formatHl7Timestamp } from "./timestamp.ts";

const TYPES = { oru: ["ORU", "R01"], orm: ["ORM", "O01"], ssu: ["SSU", "U03"] } as const;

/** MSH of a result, which is no acknowledgement, and is itself acknowledged as the connector wants it. */
export function resultHeader(
  { controlId, occurredAt }: Outcome,
  { header, charset }: Original,
  { results: { timeZone, wants } }: Hl7Profile,
  format: ResultFormat,
): SegmentSpec {
  // ORM was withdrawn in 2.7, where OML^O21 takes its place.
  const isWithdrawn = format === "orm" && isVersionFrom(versionOf(header), 2, 7);
  return headerSegment({
    to: header,
    type: isWithdrawn ? ["OML", "O21"] : TYPES[format],
    ...{ controlId, wants },
    dateTime: formatHl7Timestamp(occurredAt, timeZone),
    characterSet: charset.name,
  });
}

/**
 * ORC-3 and OBR-3: R and the request's id, or P and the procedure's where there is no request. The two are different
 * series of numbers at the service, so the letter is part of the number. It never changes once it is known.
 */
export function fillerOrderNumber({ requestId, procedureId }: OutcomeOrder): string | undefined {
  if (requestId !== undefined) return `R${requestId}`;
  return procedureId === undefined ? undefined : `P${procedureId}`;
}

/** OBR-4 where the original has none to echo. */
export const SERVICE_BY_OPERATION = {
  STORE: ["STORE", "Cryogenic storage", "L"],
  RETRIEVAL: ["RETRIEVAL", "Retrieval from cryogenic storage", "L"],
  REGISTER: ["REGISTER", "Registration of the subject", "L"],
  UPDATE: ["UPDATE", "Update of the subject", "L"],
  MERGE: ["MERGE", "Merge of the subject", "L"],
} as const;

/** An order that changed. */
type Change = Extract<Outcome, { kind: "changed" }>;

/** What reports that an order reached another state: ORU^R01, ORM^O01 or SSU^U03. */
export function composeChange(outcome: Change, original: Original, profile: Hl7Profile): SegmentSpec[] {
  const { order } = outcome;
  const format = formatOf(order, versionOf(original.header), profile.results);
  const groups = original.groupsOf(order.placerOrderNumber);
  const codes = statusCodes(order.state, profile.results.statusMap, format);
  const body = format === "ssu" ? specimenStatus : orderStatus;
  return [
    resultHeader(outcome, original, profile, format),
    ...body(outcome, groups, codes, original, profile),
  ];
}

/**
 * A registration or an update of a subject is no order and has no container, so only ORU can carry it; SSU^U03 is about containers
 * and came with 2.4, so before that, and for an order without any, ORU takes its place.
 */
function formatOf(
  { operation, state, containers }: OutcomeOrder,
  version: string,
  { format, formats }: Hl7Results,
): ResultFormat {
  const byState: Readonly<Partial<Record<string, ResultFormat>>> = formats ?? {};
  const wanted = byState[state] ?? format;
  if (!movesContainers(operation)) return "oru";
  return wanted === "ssu" && (containers.length === 0 || !isVersionFrom(version, 2, 4)) ? "oru" : wanted;
}

/**
 * PID, ORC and OBR with the order's numbers and codes, the reason in ORC-16 and NTE, and OBX for the order and each container.
 *
 * @param groups the order's segments in the original; none when that is gone
 */
function orderStatus(
  { order, occurredAt, message: { messageControlId } }: Change,
  [group]: readonly OriginalGroup[],
  codes: StatusCodes,
  original: Original,
  profile: Hl7Profile,
): SegmentSpec[] {
  const { echo, header } = original;
  const { timeZone, words, namespace, reasons } = profile.results;
  const at = formatHl7Timestamp(occurredAt, timeZone);
  const { sharesNumber } = order;
  const reason = worded(order.reason, reasons);
  const read = sharesNumber ? NO_NUMBERS : original.numberFields(group, order.placerOrderNumber);
  const own = fillerOrderNumber(order);
  const numbers = { ...read, filler: read.filler ?? (own === undefined ? undefined : [own, namespace]) };
  const pid = original.patientOf(order);
  const settings = { timeZone, words, reasons, version: versionOf(header), at };
  return [
    pid === undefined ? subjectSegment(order.subjectCode.reveal()) : echo.segment(pid),
    controlSegment({
      ...{ numbers, at, reason, status: codes.orderStatus, groupNumber: echo.field(group?.orc, 4) },
      control: isRefusedNews(order) ? UNABLE_TO_CHANGE : codes.orderControl,
    }),
    reportSegment({
      ...{ setId: 1, numbers, at, resultStatus: codes.resultStatus },
      service: echo.field(group?.obrs[0], 4) ?? SERVICE_BY_OPERATION[order.operation],
    }),
    ...noteSegments([
      ...(sharesNumber ? [reasonInWords(SHARED_NUMBER, reasons)] : []),
      ...(reason ? [reason.text] : []),
    ]),
    ...observationSegments(observeWhole(order, order.containers, settings, messageControlId)),
  ];
}

/** Beside a result that names its order by our number alone. */
const SHARED_NUMBER = {
  code: "ORDER_NUMBER_REUSED",
  text: "Another order has this order's number; CRYO-MESSAGE names the message that brought it.",
} as const;

/** ORC-1, table 0119. */
const UNABLE_TO_CHANGE = "UX";

/** Whether the service would have had to change a subject, and offers no call for that. */
function isRefusedNews({ operation, state }: OutcomeOrder): boolean {
  return isSubjectNews(operation) && state === "failed";
}

/**
 * The specimen status update (HL7 chapter 13.3.3): EQU names the storage, then for each container SAC with its status (SAC-8) and
 * place (SAC-9 to SAC-15), OBX with what SAC has no field for, and from 2.5 on the specimen's SPM as the lab sent it. There is no
 * ORC: the lab knows the container by SAC-3, and by the accession numbers (SAC-1, SAC-2) of its own message; the order's number and
 * reason stand in OBX.
 */
function specimenStatus(
  { order, occurredAt, message: { messageControlId } }: Change,
  groups: readonly OriginalGroup[],
  codes: StatusCodes,
  original: Original,
  profile: Hl7Profile,
): SegmentSpec[] {
  const { echo, header } = original;
  const { timeZone, words, reasons, namespace, statusMap } = profile.results;
  const at = formatHl7Timestamp(occurredAt, timeZone);
  const settings = { timeZone, words, reasons, version: versionOf(header), at };
  const ofContainer = (container: OutcomeContainer, index: number): SegmentSpec[] => {
    const [found] = groups.flatMap((group) => group.containerOf(container.label) ?? []);
    const { sac, spm } = found ?? {};
    const status = containerStatus(codes.containerStatus, container, order, statusMap?.completed?.["SAC-8"]);
    return [
      [
        "SAC",
        echo.field(sac, 1),
        echo.field(sac, 2),
        // As the lab wrote it, assigning authority and all, where the label stands there.
        echo.field(sac, 3) ?? container.label,
        echo.field(sac, 4),
        ...blank(3),
        status,
        ...placeFields(isGone(order) ? undefined : container.location, order.facilityCode),
      ],
      ...observationSegments([
        ...observeOrder(order, settings, messageControlId),
        ...observeNumber(order, settings),
        ...observeContainer(order, container, index + 1, settings, false),
      ]),
      ...(spm && isVersionFrom(settings.version, 2, 5) ? [echo.segment(spm)] : []),
    ];
  };
  return [["EQU", equipmentOf(order, namespace), at], ...order.containers.flatMap(ofContainer)];
}

/** Table 0370, as far as it is used here. */
const STATUS_WORDS: Readonly<Record<string, string>> = {
  I: "Identified",
  P: "In position",
  O: "In process",
  R: "Process completed",
  L: "Left equipment",
  M: "Missing",
  X: "Container unavailable",
  U: "Unknown",
};

/**
 * SAC-8. A stored container whose place is known is in position, one that was taken out has left; A (archived) would
 * say that it comes back for more, so it is never used unless the site names it.
 */
function containerStatus(
  shipped: string | undefined,
  { location }: OutcomeContainer,
  order: OutcomeOrder,
  site: string | undefined,
): string[] | undefined {
  const isDone = order.state === "completed" && site === undefined;
  const code = !isDone ? shipped : isGone(order) ? "L" : location === undefined ? shipped : "P";
  if (code === undefined || code === "") return undefined;
  const words = STATUS_WORDS[code];
  return words === undefined ? [code] : [code, words, "HL70370"];
}

/** A retrieved container is not where the service last had it. */
function isGone({ operation, state }: OutcomeOrder): boolean {
  return operation === "RETRIEVAL" && state === "completed";
}

/**
 * EQU-1, which is required: the storage of the containers by its id, else its name. Before any is known, and for
 * containers in several storages, it is Cryobridge that reports.
 */
function equipmentOf({ containers, facilityCode }: OutcomeOrder, namespace: string): string[] {
  const names = containers.map(({ location }) => location?.storageId?.toString() ?? location?.storageName);
  const [first] = names;
  const isShared = first !== undefined && first !== "" && names.every((name) => name === first);
  return [isShared ? first : namespace, facilityCode];
}

/**
 * SAC-9 to SAC-15: the cane is the carrier, the canister the tray. Positions in them (SAC-11, SAC-14) are arrays of
 * numbers, which the service doesn't give; its free text is the text of the innermost place in SAC-15, which repeats from
 * there outwards. SAC-16 is a height.
 */
function placeFields(location: ContainerLocation | undefined, facilityCode: string): Field[] {
  if (location === undefined) return [];
  const { cane, canister, storageName, position } = location;
  const levels: (readonly (string | undefined)[])[] = [cane, canister, storageName, facilityCode]
    .filter((level) => level !== undefined && level !== "")
    .map((level) => [level]);
  if (position !== undefined && position !== "") {
    if (cane === undefined || cane === "") levels.unshift([undefined, position]);
    else levels[0] = [cane, position];
  }
  return [
    cane ? "CANE" : undefined,
    cane || undefined,
    undefined,
    canister ? "CANISTER" : undefined,
    canister || undefined,
    undefined,
    new Repeated(...levels),
  ];
}
