import type { FailureCode, Problem } from "../../core/failures.ts";
import type { IncomingMessage, Verdict } from "../../core/intake.ts";
import type { MappedMessage, ReplyTo } from "../../core/mapped-message.ts";
import type { Order } from "../../core/order.ts";
import { type OrderSnapshot, snapshotOrder } from "../orders/row.ts";

/** A message and what mapping made of it. */
export interface MessageRecord extends MappedMessage {
  readonly message: IncomingMessage;
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
  readonly duplicateOf: number | undefined;
  /** An earlier message with the same control id and other content. */
  readonly reuses: number | undefined;
  /** What is answered over the connection that it came by. */
  reply: Buffer | undefined;
  readonly verdict: Verdict;
  readonly problems: readonly Problem[];
  readonly orders: readonly OrderDraft[];
  /** Orders of an earlier time that this message names again. */
  readonly repeatedOrderIds: readonly number[];
  /** What parked orders are to ask for from now on. */
  readonly corrections: readonly {
    readonly orderId: number;
    readonly order: Order;
    readonly digest: string;
  }[];
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
