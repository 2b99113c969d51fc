import { hash } from "node:crypto";
import type { Operation } from "./order.ts";
import type { OrderState } from "./order-state.ts";

/**
 * What takes time in an order's life, as metrics and traces name it: the state that it was in, but `submitting` from the
 * moment when a worker takes the order.
 */
const STAGES = [
  "received",
  "submitting",
  "submitted",
  "accepted",
  "in_progress",
  "parked",
  "failed",
] as const satisfies readonly OrderState[];
type Stage = (typeof STAGES)[number];

/** What metrics, traces and logs may say of an order: nothing of it is about a patient. */
export interface OrderName {
  /** Number of the order in its ledger: 17 of `o17`. */
  readonly orderId: number;
  readonly connector: string;
  readonly operation: Operation;
  readonly facilityCode: string;
}

/** A step of an order that is committed. */
export interface OrderStep extends OrderName {
  /** The kind of the timeline's entry, such as `submitted` or `parked`; `claimed` has none. */
  readonly kind: string;
  /** The state that it came to; undefined when the step moved it nowhere. */
  readonly to: OrderState | undefined;
  /** The stage that ended with the step, and how long it took; undefined when none did. */
  readonly stage: { readonly name: Stage; readonly seconds: number } | undefined;
  /** Since the order was received. */
  readonly ageSeconds: number;
  /** Why, where something went wrong. */
  readonly failureCode: string | undefined;
}

/** A result that the lab has, once that is committed. */
export interface SentResult {
  /** Number of the delivery in its ledger: 5 of `d5`. */
  readonly deliveryId: number;
  readonly connector: string;
  /** The orders that it is about; none for an answer to a message without any. */
  readonly orderIds: readonly number[];
  /** From the first fact in it until the lab had it. */
  readonly seconds: number;
  /** From the moment when its bytes were made until the lab had it. */
  readonly sendingSeconds: number;
}

/** Whether a state is one of the stages. */
export function isStage(state: string): state is Stage {
  return (STAGES as readonly string[]).includes(state);
}

/** Follows the work for an order while it is done. */
export interface OrderTracer {
  /**
   * Runs work for an order as a span of its trace: calls to the service that are made meanwhile belong to it.
   *
   * @param order with the number of the attempt, from 1
   */
  during<T>(
    name: "submit" | "reconcile",
    order: OrderName & { readonly attempt: number },
    work: () => Promise<T>,
  ): Promise<T>;
}

/** Follows nothing. */
export const noTracer: OrderTracer = { during: (_name, _order, work) => work() };

/** Where an order's trace is found. */
export interface TraceIds {
  /** 32 hexadecimal digits. */
  readonly traceId: string;
  /** 16 hexadecimal digits: the span of the whole order, by which all others hang. */
  readonly rootSpanId: string;
}

/**
 * An order's trace. It follows from the ledger's code and the order's number, so that each daemon of the ledger, and each start
 * of one, adds to the same trace without anything being kept.
 */
export function traceOf(instanceCode: string, orderId: number): TraceIds {
  const digits = hash("sha256", `${instanceCode}/o${orderId}`);
  return { traceId: digits.slice(0, 32), rootSpanId: digits.slice(32, 48) };
}
