import { isEndedRefill, type RefillFile, type ToldRefill } from "../core/refill.ts";
import { buildMessage, repeated, type SegmentSpec } from "../formats/hl7/build.ts";
import { isVersionFrom } from "../formats/hl7/version.ts";
import { safeName } from "./file-name.ts";
import type { ResultSettings } from "./profile.ts";
import { formatHl7Timestamp, formatServiceTimestamp } from "./timestamp.ts";
import { encodeNews } from "./written.ts";

/** Used where the profile names no version, or one that is older than the message (HL7 chapter 13 came with 2.4). */
const DEFAULT_VERSION = "2.5.1";

/** Table 0367, alert level: a refill that was called off is a warning, one that failed is serious. */
const SEVERITIES: Readonly<Record<string, readonly [code: string, text: string]>> = {
  CANCELLED: ["W", "Warning"],
  FAILED: ["S", "Serious"],
};
const NORMAL = ["N", "Normal"] as const;

/**
 * A step of a refill as an automated equipment notification, EAN^U09 (HL7 chapter 13.3.9): EQU names the tank, NDS says
 * what happened, and NTE-3 repeats `name: value` lines. The same step gives the same bytes. Names that the character set
 * of the results can't hold have it go out in UTF-8, as its MSH-18 then says, since nobody could compose it anew.
 */
export function refillHl7(
  told: ToldRefill,
  settings: ResultSettings,
  processingId: "P" | "T" | "D",
): RefillFile {
  return {
    fileName: `refill-${safeName(told.refill.code ?? String(told.refill.id))}_${told.controlId}.hl7`,
    bytes: encodeNews(settings.encoding, ({ name }) =>
      buildMessage(segmentsOf(told, settings, processingId, name)),
    ),
    numbers: [told.number],
  };
}

function segmentsOf(
  told: ToldRefill,
  settings: ResultSettings,
  processingId: "P" | "T" | "D",
  characterSet: string,
): SegmentSpec[] {
  const { sender, receiver, timeZone } = settings;
  const version =
    settings.version !== undefined && isVersionFrom(settings.version, 2, 4)
      ? settings.version
      : DEFAULT_VERSION;
  const at = formatHl7Timestamp(told.occurredAt, timeZone);
  return [
    [
      "MSH",
      sender?.application ?? "CRYOBRIDGE",
      sender?.facility,
      receiver?.application,
      receiver?.facility,
      at,
      undefined,
      ["EAN", "U09", "EAN_U09"],
      told.controlId,
      processingId,
      version,
      ...new Array<undefined>(5).fill(undefined),
      characterSet,
    ],
    ["EQU", equipmentOf(told), eventTime(told, timeZone, at), undefined, undefined, severityOf(told)],
    ["NDS", told.number, eventTime(told, timeZone, at), severityOf(told), codeOf(told)],
    ["NTE", 1, "L", repeated(...linesOf(told))],
  ];
}

/** EQU-1, an EI: the tank's id, or its name, within the facility. It is required, so an untold tank is `UNKNOWN`. */
function equipmentOf({ facilityCode, refill }: ToldRefill): string[] {
  return [refill.storageId?.toString() ?? refill.storageName ?? "UNKNOWN", facilityCode];
}

/** When it happened as far as the service tells, else when Cryobridge learned of it. */
function eventTime({ refill }: ToldRefill, timeZone: string, otherwise: string): string {
  const { status, completedAt, startedAt, createdAt } = refill;
  const told = isEndedRefill(status)
    ? completedAt
    : status === "IN_PROGRESS"
      ? startedAt
      : status === "CREATED" || status === "PENDING"
        ? createdAt
        : undefined;
  const written = told === undefined ? otherwise : formatServiceTimestamp(told, timeZone);
  return /^\d{14}[+-]\d{4}$/.test(written) ? written : otherwise;
}

function severityOf({ refill }: ToldRefill): string[] {
  return [...(SEVERITIES[refill.status] ?? NORMAL), "HL70367"];
}

/** NDS-4: `REFILL-COMPLETED^Refill completed^L`. */
function codeOf({ refill }: ToldRefill): string[] {
  const words = refill.status.toLowerCase().replaceAll("_", " ");
  return [`REFILL-${refill.status}`, `Refill ${words}`, "L"];
}

function linesOf({ facilityCode, refill }: ToldRefill): string[] {
  const lines: readonly (readonly [string, string | number | undefined])[] = [
    ["facility", facilityCode],
    ["storage", refill.storageName],
    ["storage_id", refill.storageId],
    ["procedure_id", refill.id],
    ["procedure_code", refill.code],
    ["status", refill.status],
    ["created_at", refill.createdAt],
    ["completed_at", refill.completedAt],
    ["error", refill.error],
  ];
  return lines.flatMap(([name, value]) => (value === undefined ? [] : [`${name}: ${value}`]));
}
