import type { Outcome, OutcomeOrder } from "../core/outcome.ts";
import type { OrderGroup } from "../formats/hl7/groups.ts";
import { isVersionFrom } from "../formats/hl7/version.ts";
import { composeAnswer } from "./answer-hl7.ts";
import { composeCancelAnswer } from "./cancel-answer-hl7.ts";
import { assemble, type OutSegment } from "./echo.ts";
import { resultFileName } from "./file-name.ts";
import { observe } from "./observations.ts";
import { findOrderGroups } from "./order-hl7.ts";
import { type Original, readOriginal } from "./original.ts";
import { type Hl7Profile, isTold, type Profile } from "./profile.ts";
import { statusCodes } from "./status-map.ts";
import { formatHl7Timestamp } from "./timestamp.ts";

/** Written when the original is gone and the profile names no version. */
const DEFAULT_VERSION = "2.5";

/**
 * The HL7 message that tells the lab about an outcome, as a file to deliver; undefined when the profile does not tell
 * it, or when there was no readable MSH to answer. The same outcome gives the same bytes, whenever it is composed.
 */
export function composeHl7(
  outcome: Outcome,
  profile: Profile,
): { fileName: string; bytes: Buffer } | undefined {
  if (profile.format !== "hl7") return undefined;
  const original = readOriginal(outcome.message, profile.results);
  // Who asks to have an order cancelled is always told whether it was.
  if (outcome.kind === "cancellation") {
    const text = composeCancelAnswer(outcome, original, profile);
    return { fileName: resultFileName(outcome), bytes: Buffer.from(text, "utf8") };
  }
  if (!isTold(profile, outcome.kind === "changed" ? outcome.order.state : outcome.kind)) return undefined;
  if (outcome.kind === "changed") {
    const text = composeStatus(outcome, original, profile);
    return { fileName: resultFileName(outcome), bytes: Buffer.from(text, "utf8") };
  }
  if (!original.isAnswerable) return undefined;
  return {
    fileName: resultFileName(outcome),
    bytes: Buffer.from(composeAnswer(outcome, original, profile), "utf8"),
  };
}

function composeStatus(
  outcome: Extract<Outcome, { kind: "changed" }>,
  original: Original,
  profile: Hl7Profile,
): string {
  const { order, occurredAt } = outcome;
  const { timeZone } = profile.results;
  const version = original.header.version ?? DEFAULT_VERSION;
  const { echo } = original;
  const groups = findGroups(order, original, profile);
  const pid = original.message?.first("PID");
  const at = formatHl7Timestamp(occurredAt, timeZone);
  // A registration is no order, so ORM, which needs one, can't carry it.
  const settings =
    order.operation === "REGISTER" ? { ...profile.results, format: "oru" as const } : profile.results;
  const codes = statusCodes(order.state, settings);
  const group: OrderGroup | undefined = groups[0];
  const obr = group?.obrs[0];
  const number = echo.field(group?.orc, 2) ?? echo.field(obr, 2) ?? order.placerOrderNumber;
  const filler = fillerOrderNumber(order, settings.namespace);
  const reason =
    order.reason === undefined ? undefined : [order.reason.code, order.reason.text, order.reason.code && "L"];
  const segments: OutSegment[] = [
    headerOf(outcome, original, at, version, settings.format),
    pid === undefined ? ["PID", 1, undefined, order.subjectCode.reveal()] : echo.segment(pid),
    [
      "ORC",
      codes.orderControl,
      number,
      filler,
      echo.field(group?.orc, 4),
      codes.orderStatus,
      ...blank(3),
      at,
      ...blank(6),
      reason,
    ],
    [
      "OBR",
      1,
      number,
      filler,
      echo.field(obr, 4) ?? SERVICE_BY_OPERATION[order.operation],
      ...blank(2),
      at,
      ...blank(14),
      at,
      ...blank(2),
      codes.resultStatus,
    ],
    ...(order.reason === undefined ? [] : [["NTE", 1, "L", order.reason.text] as const]),
    ...observe(order, { timeZone, version, at }),
  ];
  return assemble(segments, echo.delimiters);
}

/** OBR-4 where the original has none to echo. */
const SERVICE_BY_OPERATION = {
  STORE: ["STORE", "Cryogenic storage", "L"],
  RETRIEVAL: ["RETRIEVAL", "Retrieval from cryogenic storage", "L"],
  REGISTER: ["REGISTER", "Registration of the subject", "L"],
} as const;

function headerOf(
  outcome: Outcome,
  { header }: Original,
  at: string,
  version: string,
  format: "oru" | "orm",
): OutSegment {
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
    "UNICODE UTF-8",
  ];
}

/** MSH-9. ORM was withdrawn in 2.7, where OML^O21 takes its place; the structure is named from 2.4 on (HL7 chapter 2.15.9.9). */
function messageType(format: "oru" | "orm", version: string): string[] {
  const type =
    format === "oru" ? ["ORU", "R01"] : isVersionFrom(version, 2, 7) ? ["OML", "O21"] : ["ORM", "O01"];
  return isVersionFrom(version, 2, 4) ? [...type, type.join("_")] : type;
}

/**
 * ORC-3 and OBR-3: R and the request's id, or P and the procedure's where there is no request. The two are different
 * series of numbers at the service, so the letter is part of the number. It never changes once it is known.
 */
function fillerOrderNumber(
  { requestId, procedureId }: OutcomeOrder,
  namespace: string,
): string[] | undefined {
  if (requestId !== undefined) return [`R${requestId}`, namespace];
  if (procedureId !== undefined) return [`P${procedureId}`, namespace];
  return undefined;
}

/** The order's segments in the original; none when it is gone, or a newer profile reads it otherwise. */
function findGroups(order: OutcomeOrder, { message }: Original, profile: Hl7Profile): OrderGroup[] {
  if (message === undefined || order.placerOrderNumber === undefined) return [];
  try {
    return findOrderGroups(message, profile, order.placerOrderNumber);
  } catch {
    return [];
  }
}

function blank(count: number): undefined[] {
  return new Array<undefined>(count).fill(undefined);
}
