import type { FailureCode, Problem } from "../../core/failures.ts";
import type { IncomingMessage, MessageVerdict, Verdict } from "../../core/intake.ts";
import type { Order } from "../../core/order.ts";
import type { ControlRequest } from "../../core/order-control.ts";
import type { OrderAsRead } from "../../core/outcome.ts";
import type { Phi } from "../../core/phi.ts";
import type { ReplyTo } from "../../core/reply.ts";
import { type OrderSnapshot, snapshotOrder } from "../orders/row.ts";

/** A message and what mapping made of it. */
export interface MessageRecord {
  readonly message: IncomingMessage;
  readonly messageControlId?: string | undefined;
  /** Who sent an HL7 message, as far as it says: MSH-3.1 and MSH-4.1 with ^ between. */
  readonly sender?: string | undefined;
  /** MSH-9, such as `OML^O33`; absent for CSV. */
  readonly messageType?: string | undefined;
  /** ORC-2 or the CSV's order number, as far as a refused message could be read. */
  readonly placerOrderNumber?: string | undefined;
  /** What the rows of a table say of their order. */
  readonly asRead?: OrderAsRead | undefined;
  readonly verdict: Exclude<Verdict, "duplicate">;
  readonly problems: readonly Problem[];
  readonly orders: readonly Order[];
  /** What it asks of earlier orders. */
  readonly controlRequests?: readonly ControlRequest[] | undefined;
  /** Whom a waiting message is about. */
  readonly subjectCodes?: readonly Phi[] | undefined;
  /** Numbers of orders that the message names, beside those of its orders. */
  readonly orderNumbers?: readonly string[] | undefined;
  /** Numbers of new orders that the answer would carry, where the message is refused or waits. */
  readonly echoedNumbers?: readonly string[] | undefined;
  /** Numbers and labels of the orders that a refused or waiting message asks for, as far as they could be read. */
  readonly names?: readonly string[] | undefined;
  /** Set for a message that came over a connection. */
  readonly replyTo?: ReplyTo | undefined;
  /** What is to be said of the message as a whole stands in the response to its batch. */
  readonly isAnsweredInBatch?: boolean | undefined;
  /** The message itself, which waited in the ledger and was mapped again. */
  readonly waitedAs?: number | undefined;
}

/** Where messages come from. */
export interface BatchSource {
  /** The file they came in; null for a replay. */
  readonly fileId: number | null;
  readonly connector: string;
  /** Set when a person has an earlier message mapped again. */
  readonly replayOf?: number | undefined;
}

export interface MessageBatch extends BatchSource {
  readonly records: readonly MessageRecord[];
}

/** A message on its way into the ledger, with the decisions taken about it. */
export interface MessageDraft {
  readonly record: MessageRecord;
  readonly messageId: number;
  readonly sha256: Buffer;
  duplicateOf: number | undefined;
  /** An earlier message with the same control id and other content. */
  reuses: number | undefined;
  /** What is answered over the connection that it came by. */
  reply: Buffer | undefined;
  verdict: MessageVerdict["verdict"];
  problems: readonly Problem[];
  readonly orders: OrderDraft[];
  /** Orders of an earlier time that this message names again. */
  readonly repeatedOrderIds: number[];
  /** What parked orders are to ask for from now on. */
  readonly corrections: { readonly orderId: number; readonly order: Order }[];
}

/** Why an order is parked: an earlier one has its number, and it is no repeat of that. */
export interface NumberConflict {
  readonly code: FailureCode;
  readonly text: string;
}

/** An order that a message brings, with its id and what is to become of it. */
interface OrderDraft {
  readonly order: Order;
  readonly orderId: number;
  /** No earlier order of the connector has its number; false where it has none. */
  readonly hasOwnNumber: boolean;
  readonly digest: string;
  readonly conflict: NumberConflict | undefined;
}

/** Whether what was or will be answered on the connection is all that the lab gets about a message as a whole. */
export function isReportedByReply(draft: MessageDraft): boolean {
  return draft.record.replyTo?.isWhole(draft) === true;
}

/** A new order as an outcome's payload has it. */
export function draftSnapshot({ order, orderId, conflict }: OrderDraft): OrderSnapshot {
  return snapshotOrder({ ...order, id: orderId, state: conflict ? "parked" : "received", failure: conflict });
}
