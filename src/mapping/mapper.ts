import type { CancelWish } from "../core/cancel.ts";
import { asFailure, Failure, type Problem } from "../core/failures.ts";
import type { CsvRow, IncomingMessage, Verdict } from "../core/intake.ts";
import type { Order } from "../core/order.ts";
import { type Phi, phi } from "../core/phi.ts";
import { findEncoding } from "../formats/encoding.ts";
import { requireWhole } from "../formats/hl7/groups.ts";
import { type Hl7Header, Hl7Message } from "../formats/hl7/message.ts";
import { readCancelRows, splitRows } from "./cancel-csv.ts";
import { type ReadCancels, readCancels } from "./cancel-hl7.ts";
import { checkHeader, keepableHeader } from "./check-header.ts";
import { type Draft, type FinishSettings, finishDraft } from "./draft.ts";
import { isMessageType } from "./message-type.ts";
import { type MessageView, viewCsv, viewHl7 } from "./message-view.ts";
import { runSiteModule } from "./module.ts";
import { missingColumns, readRows } from "./order-csv.ts";
import { readOrders, readRegistration } from "./order-hl7.ts";
import type { CsvProfile, Hl7Profile, Profile } from "./profile.ts";
import { keptIfFit, presentable } from "./unfit.ts";

export interface MapperSettings {
  /** The service's facility id by the lab's name, from the configuration's `facilities`. */
  readonly facilityIdByCode: ReadonlyMap<string, number>;
  /** What MSH-11 must say (P, T or D) where the profile does not; unset: any. */
  readonly processingId?: "P" | "T" | "D" | undefined;
  /** What becomes of a message with which nothing is wrong but such codes; it waits unless set. */
  readonly unknownCodes?: "wait" | "refuse" | undefined;
}

/** What a message asks for. */
export interface MappedMessage {
  /**
   * `ignored`: well-formed, and of a type that the profile says to leave alone. `waiting`: nothing is wrong but
   * facility or operation codes that no table knows.
   */
  readonly verdict: Exclude<Verdict, "duplicate">;
  /** MSH of an HL7 message, as far as it could be read; without control id or type where those can't be kept. */
  readonly header?: Hl7Header | undefined;
  /** The order number of the rows, where they have one, even when they are refused. CSV only. */
  readonly placerOrderNumber?: string | undefined;
  /** Empty unless accepted. */
  readonly orders: readonly Order[];
  /** Orders that it wants cancelled; absent unless it was accepted and there are some. */
  readonly cancellations?: readonly CancelWish[] | undefined;
  /** Empty unless refused or waiting; every mistake of the message, each with its place. */
  readonly problems: readonly Problem[];
  /**
   * Whom a waiting message is about, and its order numbers: no later message about the same may overtake it. An accepted
   * one names the orders that it cancels.
   */
  readonly subjectCodes?: readonly Phi[] | undefined;
  readonly orderNumbers?: readonly string[] | undefined;
}

/** Maps messages by one profile. */
export interface Mapper {
  /**
   * The orders of a message, or what is wrong with it. Pure, and never throws for any input. A message is taken whole
   * or not at all: an HL7 message gets one answer, so one bad order in it refuses the others too. For CSV a message is
   * the rows of one order, so each order stands for itself.
   */
  map(message: IncomingMessage): MappedMessage;
}

/** Makes a mapper of a compiled profile. */
export function createMapper(profile: Profile, settings: MapperSettings): Mapper {
  // Where one bad row refuses the whole file, a row that waits would take it apart all the same.
  const isWhole = profile.format === "csv" && profile.reading.wholeFile;
  if (isWhole && settings.unknownCodes !== "refuse") {
    return createMapper(profile, { ...settings, unknownCodes: "refuse" });
  }
  return {
    map: (message) => {
      const { content, place } = message;
      if (content.kind === "unreadable") return refuse([...content.problems]);
      try {
        if (content.kind === "csv") {
          if (profile.format === "csv") return mapRows(content.rows.reveal(), profile, settings);
          return refuse([
            { code: "CONFIG_INVALID", place, message: `profile ${profile.name} is for HL7, not CSV` },
          ]);
        }
        if (profile.format === "hl7") return mapHl7(content, place, profile, settings);
        return refuse([
          { code: "CONFIG_INVALID", place, message: `profile ${profile.name} is for CSV, not HL7` },
        ]);
      } catch (error) {
        const failure = asFailure(error);
        return refuse([{ code: failure.code, place, message: failure.message }]);
      }
    },
  };
}

function mapHl7(
  content: Extract<IncomingMessage["content"], { kind: "hl7" }>,
  place: string,
  profile: Hl7Profile,
  settings: MapperSettings,
): MappedMessage {
  const encoding = content.encoding === undefined ? undefined : findEncoding(content.encoding);
  const message = Hl7Message.parse(content.text.reveal(), encoding === undefined ? {} : { encoding });
  const header = keepableHeader(message.header);
  if (isMessageType(profile.ignore, message.header))
    return { verdict: "ignored", header, orders: [], problems: [] };
  const found = checkHeader(message.header, place, profile, settings.processingId);
  if (found.length > 0) return refuse(found, header);
  try {
    requireWhole(message);
    const drafts = readDrafts(message, profile, place);
    const hasNoOrder = !Array.isArray(drafts) && drafts.code === "MAPPING_NO_ORDER";
    const mayCancel =
      (Array.isArray(drafts) || hasNoOrder) && !isMessageType(profile.register, message.header);
    const cancels = mayCancel ? readCancels(message, profile, place) : NO_CANCELS;
    if (!Array.isArray(drafts)) {
      if (isEmpty(cancels)) return refuse([drafts], header);
      return withCancels({ verdict: "accepted", header, orders: [], problems: [] }, cancels, place);
    }
    const finish = { ...settings, messagePlace: place };
    const mapped = { ...finishAll(drafts, profile, viewHl7(message), finish, place), header };
    const whole = message.first("PID") === undefined ? withoutPatient(mapped, place) : mapped;
    return withCancels(whole, cancels, place);
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return refuse([{ code: error.code, place, message: error.message }], header);
  }
}

function readDrafts(message: Hl7Message, profile: Hl7Profile, place: string): Draft[] | Problem {
  if (message.all("PID").length > 1) {
    return {
      code: "MAPPING_SECOND_PATIENT",
      place: `${place}, PID[2]`,
      message: "more than one PID segment, expected the orders of one patient",
    };
  }
  if (isMessageType(profile.register, message.header)) return [readRegistration(message, profile, place)];
  const drafts = readOrders(message, profile, place);
  if (drafts.length > 0) return drafts;
  return {
    code: "MAPPING_NO_ORDER",
    place: `${place}, ORC`,
    message: "neither ORC nor OBR, expected an order",
  };
}

/** Says once that PID is missing, instead of naming each of its fields. */
function withoutPatient(mapped: MappedMessage, place: string): MappedMessage {
  const others = mapped.problems.filter((problem) => !problem.place.startsWith(`${place}, PID`));
  const message = "no PID segment, expected the patient";
  return {
    ...mapped,
    verdict: "refused",
    subjectCodes: undefined,
    orderNumbers: undefined,
    orders: [],
    problems: [{ code: "MAPPING_NO_PATIENT", place: `${place}, PID`, message }, ...others],
  };
}

const NO_CANCELS: ReadCancels = { wishes: [], problems: [] };

function isEmpty({ wishes, problems }: ReadCancels): boolean {
  return wishes.length + problems.length === 0;
}

/** A message is taken whole or not at all: its orders and what it cancels. */
function withCancels(mapped: MappedMessage, cancels: ReadCancels, place: string): MappedMessage {
  if (isEmpty(cancels)) return mapped;
  if (cancels.problems.length > 0) {
    const problems = [...mapped.problems, ...cancels.problems];
    return { ...mapped, ...refuse(problems), subjectCodes: undefined, orderNumbers: undefined };
  }
  const cancelled = cancels.wishes.flatMap(({ placerOrderNumber }) => placerOrderNumber ?? []);
  const orderNumbers = [...(mapped.orderNumbers ?? []), ...cancelled];
  if (mapped.verdict === "waiting") return { ...mapped, orderNumbers };
  if (mapped.verdict !== "accepted") return mapped;
  const both = mapped.orders.find(({ placerOrderNumber }) => cancelled.includes(placerOrderNumber ?? ""));
  if (both === undefined) return { ...mapped, orderNumbers, cancellations: cancels.wishes };
  const message = `asks for order ${both.placerOrderNumber} and cancels it; expected a message of its own for each`;
  const problem: Problem = { code: "MAPPING_VALUES_DISAGREE", place: `${place}, ORC-1`, message };
  return { ...mapped, ...refuse([problem]) };
}

/** The rows of one order number: an order, a wish to cancel it, or the one after the other. */
function mapRows(rows: readonly CsvRow[], profile: CsvProfile, settings: MapperSettings): MappedMessage {
  const split = splitRows(rows, profile);
  if (split.cancels.length === 0) return mapOrderRows(rows, profile, settings);
  const { wishes, problems } = readCancelRows(split, profile);
  const none: MappedMessage = { verdict: "accepted", orders: [], problems: [] };
  const mapped = split.orders.length === 0 ? none : mapOrderRows(split.orders, profile, settings);
  const placerOrderNumber = mapped.placerOrderNumber ?? wishes[0]?.placerOrderNumber;
  const numbered = placerOrderNumber === undefined ? mapped : { ...mapped, placerOrderNumber };
  if (problems.length > 0) {
    const all = [...mapped.problems, ...problems];
    return { ...numbered, ...refuse(all), subjectCodes: undefined, orderNumbers: undefined };
  }
  if (mapped.verdict !== "accepted") return numbered;
  const orderNumbers = wishes.flatMap((wish) => wish.placerOrderNumber ?? []);
  return { ...numbered, orderNumbers, cancellations: wishes };
}

function mapOrderRows(rows: readonly CsvRow[], profile: CsvProfile, settings: MapperSettings): MappedMessage {
  const first = rows[0];
  if (first === undefined) return refuse([{ code: "MAPPING_NO_ORDER", place: "file", message: "no rows" }]);
  const missing = missingColumns(rows, profile);
  if (missing.length > 0) return refuse(missing);
  const draft = readRows(rows, profile);
  const finish = { ...settings, messagePlace: "" };
  const place = rows.length === 1 ? `line ${first.line}` : `lines ${first.line}-${rows.at(-1)?.line}`;
  const mapped = finishAll([draft], profile, viewCsv(rows), finish, place);
  const read = draft.placerOrderNumber;
  const number = read.status === "found" ? keptIfFit(read.value, "code") : undefined;
  return number === undefined ? mapped : { ...mapped, placerOrderNumber: number };
}

/** Runs the site's module over each order and judges what it leaves. */
function finishAll(
  drafts: readonly Draft[],
  profile: Profile,
  view: MessageView,
  finish: FinishSettings & MapperSettings,
  place: string,
): MappedMessage {
  const orders: Order[] = [];
  const subjectCodes = new Set<string>();
  const orderNumbers = new Set<string>();
  const problems: Problem[] = [];
  for (const draft of drafts) {
    const result = profile.module ? runSiteModule(profile.module, draft, view, place) : { drafts: [draft] };
    if ("problem" in result) problems.push(result.problem);
    for (const judged of "drafts" in result ? result.drafts : [draft]) {
      const { placerOrderNumber, subject } = judged;
      if (subject.code.status === "found") subjectCodes.add(subject.code.value);
      if (placerOrderNumber.status === "found") orderNumbers.add(placerOrderNumber.value);
      const finished = finishDraft(judged, finish);
      if ("order" in finished) orders.push(finished.order);
      else problems.push(...finished.problems);
    }
  }
  const unique = withoutRepeats(problems);
  if (unique.length > 0 && finish.unknownCodes !== "refuse" && unique.every(isUnknownCode)) {
    return {
      ...refuse(unique),
      verdict: "waiting",
      subjectCodes: [...subjectCodes].map((code) => phi(code)),
      orderNumbers: [...orderNumbers],
    };
  }
  if (unique.length > 0) return refuse(unique);
  const clash = findSharedNumber(orders);
  if (clash === undefined) return { verdict: "accepted", orders, problems: [] };
  const message = `the module made two orders with the number ${clash}; each needs its own`;
  return refuse([{ code: "MAPPING_MODULE_FAILED", place, message }]);
}

/** A code that a table or the configuration can be taught, after which the message is right as it is. */
function isUnknownCode({ code }: Problem): boolean {
  return code === "MAPPING_FACILITY_UNKNOWN" || code === "MAPPING_OPERATION_UNKNOWN";
}

/** What is wrong with the patient is wrong with each order of the message; it is told once. */
function withoutRepeats(problems: readonly Problem[]): Problem[] {
  return [
    ...new Map(
      problems.map((problem) => [`${problem.code} ${problem.place} ${problem.message}`, problem]),
    ).values(),
  ];
}

/** Only a split by a module can give two orders one number: the readers put those together. */
function findSharedNumber(orders: readonly Order[]): string | undefined {
  const seen = new Set<string>();
  for (const { placerOrderNumber } of orders) {
    if (placerOrderNumber === undefined) continue;
    if (seen.has(placerOrderNumber)) return placerOrderNumber;
    seen.add(placerOrderNumber);
  }
  return undefined;
}

function refuse(problems: readonly Problem[], header?: Hl7Header): MappedMessage {
  return {
    verdict: "refused",
    ...(header === undefined ? {} : { header }),
    orders: [],
    problems: problems.map(presentable),
  };
}
