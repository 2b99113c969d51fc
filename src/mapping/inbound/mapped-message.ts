import type { Problem } from "../../core/failures.ts";
import type { Verdict } from "../../core/intake.ts";
import type { Order } from "../../core/order.ts";
import type { ControlRequest } from "../../core/order-control.ts";
import type { Phi } from "../../core/phi.ts";
import type { HeaderCodes } from "../../formats/hl7/message.ts";
import { presentable } from "./unfit.ts";

export interface MapperSettings {
  /** The service's facility id by the lab's name, from the configuration's `facilities`. */
  readonly facilityIdByCode: ReadonlyMap<string, number>;
  /** What MSH-11 must say (P, T or D) where the profile does not; unset: any. */
  readonly processingId?: "P" | "T" | "D" | undefined;
  /** HL7: whether the sender never ends the last segment of a message; one that is not ended is refused unless set. */
  readonly unterminated?: "refuse" | "accept" | undefined;
  /** How many labels one order may have; 500 unless set. */
  readonly labelsPerOrder?: number | undefined;
  /** What becomes of a message with which nothing is wrong but such codes; it waits unless set. */
  readonly unknownCodes?: "wait" | "refuse" | undefined;
}

/** What names an HL7 message to its sender. */
export type MessageName = Pick<
  HeaderCodes,
  "messageControlId" | "messageCode" | "triggerEvent" | "sendingApplication" | "sendingFacility"
>;

/** What a message asks for. */
export interface MappedMessage {
  /**
   * `ignored`: well-formed, and of a type that the profile says to leave alone, or an acknowledgement. `waiting`: nothing is wrong but
   * facility or operation codes that no table knows.
   */
  readonly verdict: Exclude<Verdict, "duplicate">;
  /** What MSH of an HL7 message says of it, as far as that could be read and can be kept. */
  readonly header?: MessageName | undefined;
  /** The order number of the rows, where they have one, even when they are refused. CSV only. */
  readonly placerOrderNumber?: string | undefined;
  /** Empty unless accepted. */
  readonly orders: readonly Order[];
  /** What it wants of earlier orders; absent unless it was accepted and there is something. */
  readonly wishes?: readonly ControlRequest[] | undefined;
  /** Empty unless refused or waiting; every mistake of the message, each with its place. */
  readonly problems: readonly Problem[];
  /**
   * Whom a waiting message is about, and its order numbers: no later message about the same may overtake it. An accepted
   * one names the earlier orders that it wants something of.
   */
  readonly subjectCodes?: readonly Phi[] | undefined;
  readonly orderNumbers?: readonly string[] | undefined;
  /**
   * Numbers of new orders that the answer to a refused or waiting message would carry: it must not where they are those
   * of other orders.
   */
  readonly echoedNumbers?: readonly string[] | undefined;
}

/** A message that is not taken, with the reasons in a form that can be told. */
export function refuse(problems: readonly Problem[], header?: MessageName): MappedMessage {
  return {
    verdict: "refused",
    ...(header === undefined ? {} : { header }),
    orders: [],
    problems: problems.map(presentable),
  };
}
