import { hash } from "node:crypto";
import type { OrderName } from "./order-step.ts";

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
