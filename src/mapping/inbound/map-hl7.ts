import { Failure, type Problem, problemOf } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import type { IncomingMessage } from "../../core/intake.ts";
import type { MappedMessage, MessageName } from "../../core/mapped-message.ts";
import type { MessageEcho } from "../../core/message-echo.ts";
import { phi } from "../../core/phi.ts";
import { atField, type Place, within } from "../../core/place.ts";
import { findEncoding } from "../../formats/encoding.ts";
import { orderParts, requireWhole, secondPatient } from "../../formats/hl7/groups.ts";
import { Hl7Message } from "../../formats/hl7/message.ts";
import type { Hl7Header } from "../../formats/hl7/segment.ts";
import { formatMessageType, isAcknowledgment, isMessageType } from "../profile/message-type.ts";
import { viewHl7 } from "../profile/module.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { quote } from "../profile/transforms.ts";
import { checkEnd, checkLineEnds } from "./check-structure.ts";
import { nameProfile } from "./code-hint.ts";
import type { Draft } from "./draft.ts";
import { keepEcho } from "./keep-echo.ts";
import { mapControl, withControl } from "./map-control.ts";
import { finishAll, type MapperSettings, refuse } from "./mapped-message.ts";
import { readMerges } from "./merge-hl7.ts";
import { readOrders, readSubjectOrder } from "./order-hl7.ts";
import { findUnfit, keptIfFit } from "./unfit.ts";

/** As many mistakes as anybody reads of one message: an answer with all of a hostile one would be larger than that. */
const MOST_PROBLEMS = 100;

/** What an HL7 message asks for, or what is wrong with it: everything, or where that is endless the first hundred. */
export function mapHl7(
  content: Extract<IncomingMessage["content"], { kind: "hl7" }>,
  place: Place,
  profile: Hl7Profile,
  settings: MapperSettings,
): MappedMessage {
  const encoding = content.encoding === undefined ? undefined : findEncoding(content.encoding);
  const text = content.text.reveal();
  const message = Hl7Message.parse(text, { encoding });
  const mapped = mapMessage(message, text, place, profile, settings);
  if (mapped.verdict !== "refused" && mapped.verdict !== "waiting")
    return { ...mapped, echo: phi(keepEcho(message, profile, content.encoding, mapped)) };
  const [first, ...others] = mapped.problems;
  const more = others.length + 1 - MOST_PROBLEMS;
  const problems =
    first === undefined || more <= 0
      ? mapped.problems
      : [
          ...mapped.problems.slice(0, MOST_PROBLEMS),
          { code: first.code, place, message: `${more} more mistakes are not listed`, unlisted: more },
        ];
  const echo = keepEcho(message, profile, content.encoding, { ...mapped, problems });
  return { ...mapped, problems, echo: phi(echo), echoedNumbers: echoedNumbers(echo) };
}

/**
 * What may be read as the number of a new order in an answer that echoes a message: a message may be refused for its number. One that was
 * refused for its structure has no groups to echo.
 */
function echoedNumbers({ groups }: MessageEcho): string[] {
  const placing = groups.filter(({ control }) => control === undefined);
  return [...new Set(placing.flatMap(({ number, numbers }) => numbers ?? number ?? []))];
}

function mapMessage(
  message: Hl7Message,
  text: string,
  place: Place,
  profile: Hl7Profile,
  settings: MapperSettings,
): MappedMessage {
  const name = nameOfMessage(message.header);
  const ignored: MappedMessage = { verdict: "ignored", ...name, orders: [], problems: [] };
  if (isAcknowledgment(message.header, profile.accept, () => message.first("MSA"))) return ignored;
  const cut = [
    ...checkLineEnds(message, place, profile, settings.mixedLineEnds),
    ...checkEnd(text, message.segments.at(-1), place, profile, settings),
  ];
  if (cut.length > 0) return refuse(cut, name);
  if (isMessageType(profile.ignore, message.header)) {
    const problems = checkControlId(message.header, place, profile);
    return problems.length > 0 ? refuse(problems, name) : ignored;
  }
  const found = checkHeader(message.header, place, profile, settings.processingId);
  if (found.length > 0) return refuse(found, name);
  try {
    requireWhole(message);
    return { ...mapWhole(message, place, profile, settings), ...name };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return refuse([problemOf(error, within(place, error.place ?? {}))], name);
  }
}

function mapWhole(
  message: Hl7Message,
  place: Place,
  profile: Hl7Profile,
  settings: MapperSettings,
): MappedMessage {
  const finishWhole = (drafts: readonly Draft[], viewOf = (_: number) => viewHl7(message)) => {
    const mapped = finishAll(drafts, profile, viewOf, { ...settings, messagePlace: place }, place);
    return message.first("PID") === undefined ? withoutPatient(mapped, place) : mapped;
  };
  const subjectOperation = subjectOperationOf(message, profile);
  if (subjectOperation === "MERGE") {
    // Each pair of PID and MRG is a merge of its own; all of them are taken, or none.
    const merges = readMerges(message, profile);
    const viewOf = (n: number) => viewHl7(message, merges[n]?.segments);
    return finishWhole(
      merges.map(({ draft }) => draft),
      viewOf,
    );
  }
  if (secondPatient(message) !== undefined) {
    const text = "more than one PID segment, expected the orders of one patient";
    return refuse([
      {
        code: "MAPPING_SECOND_PATIENT",
        place: within(place, { spots: [{ segment: "PID", ordinal: 2 }] }),
        message: text,
      },
    ]);
  }
  if (subjectOperation !== undefined) {
    return finishWhole([readSubjectOrder(message, profile, subjectOperation)]);
  }
  const parts = orderParts(message, profile.orders.each);
  const drafts = readOrders(parts, profile);
  const controlRequests = mapControl(parts, profile, place, finishWhole);
  if (drafts.length === 0 && controlRequests === undefined) {
    const text = "neither ORC nor OBR, expected an order";
    return refuse([
      { code: "MAPPING_NO_ORDER", place: within(place, { spots: [{ segment: "ORC" }] }), message: text },
    ]);
  }
  const mapped: MappedMessage =
    drafts.length === 0 ? { verdict: "accepted", orders: [], problems: [] } : finishWhole(drafts);
  return controlRequests === undefined ? mapped : withControl(mapped, controlRequests, place);
}

/** What a message about a subject alone is made: a type that registers does so also where it could bring news. */
function subjectOperationOf(
  { header }: Hl7Message,
  { register, update, merge }: Hl7Profile,
): "REGISTER" | "UPDATE" | "MERGE" | undefined {
  if (isMessageType(merge, header)) return "MERGE";
  if (isMessageType(register, header)) return "REGISTER";
  return isMessageType(update, header) ? "UPDATE" : undefined;
}

/** Says once that PID is missing, instead of naming each of its fields. */
function withoutPatient(mapped: MappedMessage, place: Place): MappedMessage {
  const isOfPatient = ({ order, head, spots: [first] = [] }: Place) =>
    order === undefined &&
    head === undefined &&
    first !== undefined &&
    "segment" in first &&
    first.segment === "PID";
  const others = mapped.problems.filter((problem) => !isOfPatient(problem.place));
  const message = "no PID segment, expected the patient";
  return {
    ...mapped,
    verdict: "refused",
    subjectCodes: undefined,
    orderNumbers: undefined,
    orders: [],
    problems: [
      { code: "MAPPING_NO_PATIENT", place: within(place, { spots: [{ segment: "PID" }] }), message },
      ...others,
    ],
  };
}

/** What of MSH keeps a message from being mapped: its type, its version, its processing id, its control id. */
function checkHeader(
  header: Hl7Header,
  messagePlace: Place,
  profile: Hl7Profile,
  processingId: "P" | "T" | "D" | undefined,
): Problem[] {
  const problems: Problem[] = [];
  if (!isMessageType(profile.accept, header)) {
    const type = [header.messageCode, header.triggerEvent].filter((part) => part !== undefined).join("^");
    const known = profile.accept.map(formatMessageType);
    problems.push({
      code: "MAPPING_MESSAGE_TYPE_UNSUPPORTED",
      place: within(messagePlace, atField("MSH", 9)),
      message: `${type === "" ? "is empty" : `holds ${quote(type)}`}, expected one of ${known.join(", ")}`,
      expected: known,
      ...hintOfType(type, profile),
    });
  }
  const { version } = header;
  if (version === undefined || !profile.versions.some((known) => isVersionOf(version, known))) {
    problems.push({
      code: "MAPPING_VERSION_UNSUPPORTED",
      place: within(messagePlace, atField("MSH", 12)),
      message: `${version === undefined ? "is empty" : `holds ${quote(version)}`}, expected one of ${profile.versions.join(", ")}`,
      expected: profile.versions,
      ...hintOfVersion(version, profile),
    });
  }
  const expected = profile.processingId ?? processingId;
  if (expected !== undefined && header.processingId !== expected) {
    const found = header.processingId === undefined ? "is empty" : `holds ${quote(header.processingId)}`;
    problems.push({
      code: "MAPPING_PROCESSING_ID",
      place: within(messagePlace, atField("MSH", 11)),
      message: `${found}, expected ${expected}`,
      expected: [expected],
      ...hintOfProcessingId(header.processingId, profile),
    });
  }
  const mode = header.processingMode;
  const processingModes: readonly string[] = profile.processingModes;
  const reason = NOT_CURRENT.get(mode ?? "");
  if (mode !== undefined && reason !== undefined && !processingModes.includes(mode)) {
    problems.push({
      code: "MAPPING_PROCESSING_MODE",
      place: within(messagePlace, atField("MSH", 11, 2)),
      message: `holds ${quote(mode)} (${reason}); what was ordered once is not done again`,
      hint: byReload(
        `Keep such messages off this interface. If they are to be carried out, set \`processingModes: [${[...processingModes, mode].join(", ")}]\` in ${nameProfile(profile)}.`,
      ),
    });
  }
  problems.push(...checkControlId(header, messagePlace, profile));
  const { messageControlId } = header;
  const unfit = messageControlId === undefined ? undefined : findUnfit(messageControlId, "code");
  if (unfit)
    problems.push({
      code: unfit.code,
      place: within(messagePlace, atField("MSH", 10)),
      message: unfit.message,
    });
  return problems;
}

/** Lists of a profile replace those of the profile below, so that they are shown whole. */
function hintOfType(type: string, profile: Hl7Profile): Pick<Problem, "hint"> {
  if (!/^[A-Z]{3}\^[A-Z]\d\d$/.test(type)) return {};
  const list = (types: Hl7Profile["accept"]) => `[${[...types.map(formatMessageType), type].join(", ")}]`;
  const registers = type.startsWith("ADT^") ? ` and \`register: ${list(profile.register)}\`` : "";
  const what = registers === "" ? "To take it as orders" : "To have it make the patient known";
  return {
    hint: byReload(
      `To pass over such messages, set \`ignore: ${list(profile.ignore)}\` in ${nameProfile(profile)}. ${what}, set \`accept: ${list(profile.accept)}\`${registers} there. Or stop the sender from sending it here.`,
    ),
  };
}

function hintOfVersion(version: string | undefined, profile: Hl7Profile): Pick<Problem, "hint"> {
  if (version === undefined) return { hint: "Have the sender write its HL7 version into MSH-12." };
  if (!/^2(?:\.\d+){1,2}$/.test(version)) return {};
  const versions = [...profile.versions, version].map((each) => JSON.stringify(each)).join(", ");
  return {
    hint: byReload(
      `Have the sender use an accepted version, or set \`versions: [${versions}]\` in ${nameProfile(profile)}.`,
    ),
  };
}

function hintOfProcessingId(found: string | undefined, profile: Hl7Profile): Pick<Problem, "hint"> {
  if (found === undefined) return { hint: "Have the sender fill in MSH-11: P for production, T for tests." };
  if (!["P", "T", "D"].includes(found)) return {};
  return {
    hint: byReload(
      `Have test messages sent to a test instance. If this connector is for messages with ${found}, set \`processingId: ${found}\` in ${nameProfile(profile)}.`,
    ),
  };
}

/**
 * Why a message without a control id (MSH-10) is not taken: an answer names its message by nothing else (MSA-2), and no
 * repeat of it could be known. Blanks and `""` are none.
 */
function checkControlId(
  { messageControlId }: Hl7Header,
  messagePlace: Place,
  { controlId, name }: Pick<Hl7Profile, "controlId" | "name">,
): Problem[] {
  if (controlId === "optional" || isControlId(messageControlId)) return [];
  return [
    {
      code: "MAPPING_VALUE_MISSING",
      place: within(messagePlace, atField("MSH", 10)),
      message: "is empty; a control id is expected",
      hint: byReload(
        `Have the sender give each message a control id. For a sender that never has one, set \`controlId: optional\` in profile ${name}.`,
      ),
    },
  ];
}

function isControlId(id: string | undefined): id is string {
  return id !== undefined && !["", '""'].includes(id.trim());
}

/** MSH-11.2 (table 0207) of messages that are sent for another reason than that something is to be done now. */
const NOT_CURRENT: ReadonlyMap<string, string> = new Map([
  ["A", "archive"],
  ["R", "restore from archive"],
  ["I", "initial load"],
]);

/** Whether a version is one that a profile names (`2.5`), or a minor one of it (`2.5.1`). */
function isVersionOf(version: string, known: string): boolean {
  return version.startsWith(known) && (version.length === known.length || version[known.length] === ".");
}

/** What names a message to its sender, without the codes that can't be kept. */
function nameOfMessage(header: Hl7Header): MessageName {
  const { messageControlId: id, messageCode, triggerEvent, sendingApplication, sendingFacility } = header;
  const sender = `${keptIfFit(sendingApplication) ?? ""}^${keptIfFit(sendingFacility) ?? ""}`;
  return {
    messageControlId: isControlId(id) ? keptIfFit(id) : undefined,
    sender: sender === "^" ? undefined : sender,
    messageType: [messageCode, triggerEvent].flatMap((code) => keptIfFit(code) || []).join("^"),
  };
}
