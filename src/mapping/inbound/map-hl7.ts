import { Failure } from "../../core/failures.ts";
import type { IncomingMessage } from "../../core/intake.ts";
import { findEncoding } from "../../formats/encoding.ts";
import { orderParts, requireWhole, secondPatient } from "../../formats/hl7/groups.ts";
import { Hl7Message } from "../../formats/hl7/message.ts";
import { checkEnd } from "./check-end.ts";
import { checkControlId, checkHeader, keepableHeader } from "./check-header.ts";
import type { Draft } from "./draft.ts";
import { finishAll } from "./finish-orders.ts";
import { mapWishes, withWishes } from "./map-wishes.ts";
import { type MappedMessage, type MapperSettings, refuse } from "./mapped-message.ts";
import { readMerges } from "./merge-hl7.ts";
import { isAcknowledgment, isMessageType } from "../profile/message-type.ts";
import { viewHl7 } from "../profile/message-view.ts";
import { echoedNumbers } from "./number-place.ts";
import { readOrders, readSubjectOrder } from "./order-hl7.ts";
import type { Hl7Profile } from "../profile/profile.ts";

/** As many mistakes as anybody reads of one message: an answer with all of a hostile one would be larger than that. */
const MOST_PROBLEMS = 100;

/** What an HL7 message asks for, or what is wrong with it: everything, or where that is endless the first hundred. */
export function mapHl7(
  content: Extract<IncomingMessage["content"], { kind: "hl7" }>,
  place: string,
  profile: Hl7Profile,
  settings: MapperSettings,
): MappedMessage {
  const mapped = mapAll(content, place, profile, settings);
  const more = mapped.problems.length - MOST_PROBLEMS;
  const first = mapped.problems[0];
  if (more <= 0 || first === undefined) return mapped;
  const rest = { code: first.code, place, message: `${more} more mistakes are not listed` };
  return { ...mapped, problems: [...mapped.problems.slice(0, MOST_PROBLEMS), rest] };
}

function mapAll(
  content: Extract<IncomingMessage["content"], { kind: "hl7" }>,
  place: string,
  profile: Hl7Profile,
  settings: MapperSettings,
): MappedMessage {
  const encoding = content.encoding === undefined ? undefined : findEncoding(content.encoding);
  const text = content.text.reveal();
  const message = Hl7Message.parse(text, { encoding });
  const mapped = mapMessage(message, text, place, profile, settings);
  if (mapped.verdict !== "refused" && mapped.verdict !== "waiting") return mapped;
  return { ...mapped, echoedNumbers: echoedNumbers(message, profile) };
}

function mapMessage(
  message: Hl7Message,
  text: string,
  place: string,
  profile: Hl7Profile,
  settings: MapperSettings,
): MappedMessage {
  const header = keepableHeader(message.codes);
  const ignored: MappedMessage = { verdict: "ignored", header, orders: [], problems: [] };
  if (isAcknowledgment(message.codes, profile.accept, () => message.first("MSA"))) return ignored;
  const cut = checkEnd(text, message.last, place, profile, settings.unterminated);
  if (cut.length > 0) return refuse(cut, header);
  if (isMessageType(profile.ignore, message.codes)) {
    const problems = checkControlId(message.codes, place, profile);
    return problems.length > 0 ? refuse(problems, header) : ignored;
  }
  const found = checkHeader(message.codes, place, profile, settings.processingId);
  if (found.length > 0) return refuse(found, header);
  try {
    requireWhole(message);
    return { ...mapWhole(message, place, profile, settings), header };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const where = error.place === undefined ? place : `${place}, ${error.place}`;
    return refuse([{ code: error.code, place: where, message: error.message }], header);
  }
}

function mapWhole(
  message: Hl7Message,
  place: string,
  profile: Hl7Profile,
  settings: MapperSettings,
): MappedMessage {
  const subjectOperation = subjectOperationOf(message, profile);
  if (subjectOperation === "MERGE") return mapMerges(message, place, profile, settings);
  if (secondPatient(message) !== undefined) {
    const text = "more than one PID segment, expected the orders of one patient";
    return refuse([{ code: "MAPPING_SECOND_PATIENT", place: `${place}, PID[2]`, message: text }]);
  }
  const finishWhole = (drafts: readonly Draft[]) => {
    const finish = { ...settings, messagePlace: place };
    const mapped = finishAll(drafts, profile, () => viewHl7(message), finish, place);
    return message.first("PID") === undefined ? withoutPatient(mapped, place) : mapped;
  };
  if (subjectOperation !== undefined) {
    return finishWhole([readSubjectOrder(message, profile, place, subjectOperation)]);
  }
  const parts = orderParts(message);
  const drafts = readOrders(parts, profile, place);
  const wishes = mapWishes(parts, profile, place, finishWhole);
  if (drafts.length === 0 && wishes === undefined) {
    const text = "neither ORC nor OBR, expected an order";
    return refuse([{ code: "MAPPING_NO_ORDER", place: `${place}, ORC`, message: text }]);
  }
  const mapped: MappedMessage =
    drafts.length === 0 ? { verdict: "accepted", orders: [], problems: [] } : finishWhole(drafts);
  return wishes === undefined ? mapped : withWishes(mapped, wishes, place);
}

/** Each pair of PID and MRG is a merge of its own; all of them are taken, or none. */
function mapMerges(
  message: Hl7Message,
  place: string,
  profile: Hl7Profile,
  settings: MapperSettings,
): MappedMessage {
  const merges = readMerges(message, profile, place);
  const viewOf = (n: number) => viewHl7(message, merges[n]?.segments);
  const drafts = merges.map(({ draft }) => draft);
  const mapped = finishAll(drafts, profile, viewOf, { ...settings, messagePlace: place }, place);
  return message.first("PID") === undefined ? withoutPatient(mapped, place) : mapped;
}

/** What a message about a subject alone is made: a type that registers does so also where it could bring news. */
function subjectOperationOf(
  { codes }: Hl7Message,
  { register, update, merge }: Hl7Profile,
): "REGISTER" | "UPDATE" | "MERGE" | undefined {
  if (isMessageType(merge, codes)) return "MERGE";
  if (isMessageType(register, codes)) return "REGISTER";
  return isMessageType(update, codes) ? "UPDATE" : undefined;
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
