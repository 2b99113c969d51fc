import type { Hl7Header } from "./segment.ts";

/** MSA-1 (table 0008). Not to be mixed with the same letters in ORC-1 and ORC-5. */
export type AcknowledgmentCode = "AA" | "AE" | "AR" | "CA" | "CE" | "CR";

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
