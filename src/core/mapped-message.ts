import type { Problem } from "./failures.ts";
import type { Verdict } from "./intake.ts";
import type { MessageEcho } from "./message-echo.ts";
import type { Order } from "./order.ts";
import type { ControlRequest } from "./order-control.ts";
import type { OrderAsRead } from "./outcome.ts";
import type { Phi } from "./phi.ts";

/** What names an HL7 message to its sender, as far as it could be read and can be kept. */
export interface MessageName {
  /** MSH-10. */
  readonly messageControlId?: string | undefined;
  /** Who sent it: MSH-3.1 and MSH-4.1 with ^ between. */
  readonly sender?: string | undefined;
  /** MSH-9, such as `OML^O33`. */
  readonly messageType?: string | undefined;
}

/** What a message asks for. */
export interface MappedMessage extends MessageName {
  /**
   * `ignored`: well-formed, and of a type that the profile says to leave alone, or an acknowledgement. `waiting`: nothing is wrong but
   * facility or operation codes that no table knows.
   */
  readonly verdict: Exclude<Verdict, "duplicate">;
  /** The order number of the rows, where they have one, even when they are refused. CSV only. */
  readonly placerOrderNumber?: string | undefined;
  /** What the rows say of their order, even when they are refused. CSV only. */
  readonly asRead?: OrderAsRead | undefined;
  /** Empty unless accepted. */
  readonly orders: readonly Order[];
  /** What it wants of earlier orders; absent unless it was accepted and there is something. */
  readonly controlRequests?: readonly ControlRequest[] | undefined;
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
  /** HL7: what is repeated of it in what is said about it. */
  readonly echo?: Phi<MessageEcho> | undefined;
  /** Numbers and labels of the orders that a refused or waiting message asks for, as far as they could be read. */
  readonly names?: readonly string[] | undefined;
}

/** Whether a message brings nothing but requests about earlier orders: then their answers answer it. */
export function isControlOnly({
  orders,
  controlRequests = [],
}: Pick<MappedMessage, "controlRequests"> & { readonly orders: readonly unknown[] }): boolean {
  return orders.length === 0 && controlRequests.length > 0;
}

/** How a message that came over a connection is answered there, once its verdict is known. */
export interface ReplyTo {
  /** Address of the sender, for people. */
  readonly peer: string;
  /** Whether a message whose control id was used before, with other content, is refused or taken. */
  readonly reusedControlId: "refuse" | "take";
  /** The answer, of one message or two; undefined where the sender wants none. */
  compose(decided: Decided): Buffer | undefined;
  /** Whether the answer on the connection is all that the sender gets about the message as a whole. */
  isWhole(decided: Pick<Decided, "verdict" | "problems">): boolean;
}

/** What the ledger has decided about a message, right before it commits that. */
export interface Decided {
  readonly verdict: Verdict;
  readonly problems: readonly Problem[];
  /** The ledger's number for the message. */
  readonly messageId: number;
}
