import type { Problem } from "../../core/failures.ts";
import type { HeaderCodes } from "../../formats/hl7/message.ts";
import type { MessageName } from "./mapped-message.ts";
import { formatMessageType, isMessageType } from "../profile/message-type.ts";
import type { Hl7Profile } from "../profile/profile.ts";
import { quote } from "../profile/transforms.ts";
import { findUnfit, keptIfFit } from "./unfit.ts";

/** What of MSH keeps a message from being mapped: its type, its version, its processing id, its control id. */
export function checkHeader(
  header: HeaderCodes,
  messagePlace: string,
  profile: Hl7Profile,
  processingId: "P" | "T" | "D" | undefined,
): Problem[] {
  const problems: Problem[] = [];
  if (!isMessageType(profile.accept, header)) {
    const type = [header.messageCode, header.triggerEvent].filter((part) => part !== undefined).join("^");
    const known = profile.accept.map(formatMessageType).join(", ");
    problems.push({
      code: "MAPPING_MESSAGE_TYPE_UNSUPPORTED",
      place: `${messagePlace}, MSH-9`,
      message: `${type === "" ? "is empty" : `holds ${quote(type)}`}, expected one of ${known}`,
    });
  }
  const { version } = header;
  if (version === undefined || !profile.versions.some((known) => isVersionOf(version, known))) {
    problems.push({
      code: "MAPPING_VERSION_UNSUPPORTED",
      place: `${messagePlace}, MSH-12`,
      message: `${version === undefined ? "is empty" : `holds ${quote(version)}`}, expected one of ${profile.versions.join(", ")}`,
    });
  }
  const expected = profile.processingId ?? processingId;
  if (expected !== undefined && header.processingId !== expected) {
    const found = header.processingId === undefined ? "is empty" : `holds ${quote(header.processingId)}`;
    problems.push({
      code: "MAPPING_PROCESSING_ID",
      place: `${messagePlace}, MSH-11`,
      message: `${found}; this connector takes ${expected} only`,
    });
  }
  const mode = header.processingMode;
  const reason = NOT_CURRENT.get(mode ?? "");
  if (mode !== undefined && reason !== undefined && !profile.processingModes.includes(mode)) {
    problems.push({
      code: "MAPPING_PROCESSING_MODE",
      place: `${messagePlace}, MSH-11.2`,
      message: `holds ${quote(mode)} (${reason}); what was ordered once is not done anew`,
    });
  }
  problems.push(...checkControlId(header, messagePlace, profile));
  const { messageControlId } = header;
  const unfit = messageControlId === undefined ? undefined : findUnfit(messageControlId, "code");
  if (unfit) problems.push({ code: unfit.code, place: `${messagePlace}, MSH-10`, message: unfit.trouble });
  return problems;
}

/**
 * Why a message without a control id (MSH-10) is not taken: an answer names its message by nothing else (MSA-2), and no
 * repeat of it could be known. Blanks and `""` are none.
 */
export function checkControlId(
  { messageControlId }: HeaderCodes,
  messagePlace: string,
  { controlId, name }: Pick<Hl7Profile, "controlId" | "name">,
): Problem[] {
  if (controlId === "optional" || isControlId(messageControlId)) return [];
  return [
    {
      code: "MAPPING_VALUE_MISSING",
      place: `${messagePlace}, MSH-10`,
      message: `is empty, expected a control id; for a sender that never has one, controlId: optional in profile ${name}`,
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
export function keepableHeader(codes: HeaderCodes): MessageName {
  return {
    messageControlId: isControlId(codes.messageControlId)
      ? keptIfFit(codes.messageControlId, "code")
      : undefined,
    messageCode: keptIfFit(codes.messageCode, "code"),
    triggerEvent: keptIfFit(codes.triggerEvent, "code"),
    sendingApplication: keptIfFit(codes.sendingApplication, "code"),
    sendingFacility: keptIfFit(codes.sendingFacility, "code"),
  };
}
