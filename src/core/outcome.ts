import type { FailureCode, Problem } from "./failures.ts";
import type { FileDialect } from "./intake.ts";
import type { MessageEcho } from "./message-echo.ts";
import type { Operation } from "./order.ts";
import type { Control, ControlRefusal, FillerNumber } from "./order-control.ts";
import type { OrderState } from "./order-state.ts";
import type { Phi } from "./phi.ts";
import type { Place } from "./place.ts";

/** Where a container stands, as far as the service shows it. Parts that it does not show are undefined. */
export interface ContainerLocation {
  readonly storageId?: number | undefined;
  readonly storageName?: string | undefined;
  readonly canister?: string | undefined;
  readonly cane?: string | undefined;
  /** Free text naming canister, cane and slot (request surface). */
  readonly position?: string | undefined;
  /** ISO 8601 timestamp, as the service wrote it. */
  readonly storedAt?: string | undefined;
}

/** A container of an order and what the service knows of it. */
export interface OutcomeContainer {
  readonly label: string;
  readonly description: string;
  /** The service's integer id. */
  readonly containerId?: number | undefined;
  readonly location?: ContainerLocation | undefined;
}

/** An order as it is reported to the lab. The ledger keeps it as plain JSON, with the subject codes in clear. */
export interface OutcomeOrder<Code = Phi> {
  /** The ledger's id, such as `o17`. */
  readonly orderId: string;
  readonly operation: Operation;
  readonly placerOrderNumber?: string | undefined;
  /** Another order has that number, so nothing that is written of this one may carry it. */
  readonly sharesNumber?: boolean | undefined;
  /** Where its message has the number, where another order has it too. */
  readonly numberPlace?: Place | undefined;
  readonly facilityCode: string;
  readonly subjectCode: Code;
  /** MERGE: the identifier that goes. */
  readonly priorSubjectCode?: Code | undefined;
  readonly state: OrderState;
  /** The lab has put it on hold. */
  readonly isHeld?: boolean | undefined;
  readonly requestId?: number | undefined;
  readonly procedureId?: number | undefined;
  readonly procedureCode?: string | undefined;
  readonly containers: readonly OutcomeContainer[];
  /** Why it was rejected, failed or parked, in words for a lab that has none of its own for the code; no patient's values. */
  readonly reason?: { readonly code: FailureCode; readonly text: string } | undefined;
}

/** What became of a request, as it is reported to the lab. */
export interface ControlAnswer {
  readonly control: Control;
  readonly placerOrderNumber?: string | undefined;
  readonly fillerNumber?: FillerNumber | undefined;
  /** Absent: done as requested. */
  readonly refusal?: ControlRefusal | undefined;
  /** The order as it stood then; absent where there is none, or where the request was not about its subject. */
  readonly order?: OutcomeOrder | undefined;
}

/** The message an outcome answers; what a reply must echo. */
export interface OutcomeMessage {
  /** The ledger's id, such as `m12`; empty for a file as a whole. */
  readonly messageId: string;
  readonly connector: string;
  readonly messageControlId?: string | undefined;
  /** Name of the file it came in. */
  readonly fileName?: string | undefined;
  /** Where it stands there. */
  readonly place?: Place | undefined;
  /** How that file is written; undefined for HL7. */
  readonly dialect?: FileDialect | undefined;
  readonly receivedAt: Date;
  /** What is repeated of it; undefined for CSV and once retention has pruned it. */
  readonly echo?: Phi<MessageEcho> | undefined;
}

/**
 * What rows say of an order that is not made of them, for good or for now, as far as it could be read; nothing is guessed. The
 * ledger keeps it as plain JSON, with the subject code in clear.
 */
export interface OrderAsRead<Code = Phi> {
  readonly operation?: string | undefined;
  readonly facilityCode?: string | undefined;
  readonly subjectCode?: Code | undefined;
  readonly labels: readonly string[];
  /** What each of its rows says, where it has several; the values above are then what they agree about. */
  readonly rows?: readonly RowAsRead<Code>[] | undefined;
}

/** One of several rows of {@link OrderAsRead}. */
interface RowAsRead<Code = Phi> extends Omit<OrderAsRead<Code>, "rows"> {
  readonly line: number;
  readonly placerOrderNumber?: string | undefined;
}

/** The same with another form of subject codes. */
export function withCodes<From, To>(
  { rows, ...asRead }: OrderAsRead<From>,
  change: (code: From | undefined) => To | undefined,
): OrderAsRead<To> {
  const common = { ...asRead, subjectCode: change(asRead.subjectCode) };
  if (rows === undefined) return common;
  return { ...common, rows: rows.map((row) => ({ ...row, subjectCode: change(row.subjectCode) })) };
}

/** Why no order was made of a message, for good or for now. */
interface WithProblems {
  /** A whole file, of which no message was taken. CSV only. */
  readonly isFile?: boolean | undefined;
  readonly problems: readonly Problem[];
  /** The order number as far as it could be read, and where no other order has it. */
  readonly placerOrderNumber?: string | undefined;
  /** CSV only. */
  readonly asRead?: OrderAsRead | undefined;
}

/**
 * A fact that is to be sent to the lab.
 * `acknowledged`, `refused` and `waiting` answer a message as a whole, and one that waits gets a second answer once it
 * doesn't any more; `changed` reports an order that reached a new state.
 */
export type Outcome = {
  /** The ledger's number for it; outcomes of one order are sent in this order. */
  readonly outcomeId: string;
  /** MSH-10 of what is sent: the same for every repeat, unique among ledgers, at most 20 characters. */
  readonly controlId: string;
  readonly occurredAt: Date;
  readonly message: OutcomeMessage;
} & (
  | { readonly kind: "acknowledged"; readonly orders: readonly OutcomeOrder[]; readonly isDuplicate: boolean }
  | ({ readonly kind: "refused" } & WithProblems)
  | ({ readonly kind: "waiting" } & WithProblems)
  | { readonly kind: "changed"; readonly order: OutcomeOrder }
  /** Answers what a message asked of earlier orders, as far as it was decided together; one answer at least. */
  | { readonly kind: "control"; readonly answers: readonly ControlAnswer[] }
);
