import { createHash } from "node:crypto";
import type { Outcome } from "../../core/outcome.ts";

/** Long enough for any order number in use, short enough for every file system. */
const MAX_SUBJECT_LENGTH = 80;

/** Leaves room for what follows it within the 255 bytes of a name, even where each character takes two. */
const MAX_INPUT_NAME_LENGTH = 100;

/**
 * `<placer order number>_<control id>.hl7`. An answer to a message without order numbers is named by the message's own
 * control id. Characters that some file system or shell takes amiss become `_`; the control id keeps names apart.
 */
export function resultFileName(outcome: Outcome): string {
  return `${safeName(subjectOf(outcome))}_${safeName(outcome.controlId)}.hl7`;
}

function subjectOf(outcome: Outcome): string {
  if (outcome.kind === "changed") return outcome.order.placerOrderNumber ?? outcome.order.orderId;
  const [named] =
    outcome.kind === "acknowledged" ? outcome.orders : outcome.kind === "control" ? outcome.answers : [];
  return named?.placerOrderNumber ?? outcome.message.messageControlId ?? outcome.message.messageId;
}

/** Letters, digits, `-`, `_` and inner dots; never empty, never hidden. */
export function safeName(text: string): string {
  const name = text.replace(/[^A-Za-z0-9._-]/g, "_").replace(/^\.+|\.+$/g, "_");
  return name.slice(0, MAX_SUBJECT_LENGTH) || "_";
}

/** Names of dropped files are the lab's own; only what no file system takes is changed, and a digest then keeps two names apart. */
export function distinctName(fileName: string): string {
  const name = fileName.replace(/[\p{Cc}/\\:*?"<>|]/gu, "_").replace(/^[. ]+|[. ]+$/g, "_");
  if (name === fileName && name.length <= MAX_INPUT_NAME_LENGTH) return name;
  const digest = createHash("sha256").update(fileName).digest("hex").slice(0, 8);
  return `${name.slice(0, MAX_INPUT_NAME_LENGTH)}-${digest}`;
}
