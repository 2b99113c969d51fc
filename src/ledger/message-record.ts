import type { Problem } from "../core/failures.ts";
import type { IncomingMessage } from "../core/intake.ts";
import type { Order } from "../core/order.ts";

/** A message and what mapping made of it. */
export interface MessageRecord {
  readonly message: IncomingMessage;
  readonly messageControlId?: string | undefined;
  /** MSH-9, such as `OML^O33`; absent for CSV. */
  readonly messageType?: string | undefined;
  /** ORC-2 or the CSV's order number, as far as a refused message could be read. */
  readonly placerOrderNumber?: string | undefined;
  readonly verdict: "accepted" | "refused" | "ignored";
  readonly problems: readonly Problem[];
  readonly orders: readonly Order[];
}

export interface MessageBatch {
  /** The file they came in; null for a replay. */
  readonly fileId: number | null;
  readonly connector: string;
  /** Set when a person has an earlier message mapped anew. */
  readonly replayOf?: number | undefined;
  readonly records: readonly MessageRecord[];
}
