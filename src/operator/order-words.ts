import { type AssigningAuthority, formatAuthority, type OrderSubject } from "../core/order.ts";
import type { OrderState } from "../core/order-state.ts";
import { forPrograms, type Paint, recordJson, type Viewer } from "./column.ts";
import { withHint } from "./text.ts";

/** What an order, a task or an order control request has of the number that the lab gave an order. */
interface Numbered {
  readonly placerOrderNumber?: string | undefined;
  readonly placerAuthority?: AssigningAuthority | undefined;
}

/** An order number for people, with who assigned it where that is known: `1001 (LAB)`; empty where there is none. */
export function showNumber({ placerOrderNumber = "", placerAuthority }: Numbered): string {
  return placerAuthority === undefined
    ? placerOrderNumber
    : `${placerOrderNumber} (${formatAuthority(placerAuthority)})`;
}

/** The same with stable keys, for programs; both null where there is none. */
export function numberJson({ placerOrderNumber, placerAuthority }: Numbered) {
  return {
    placerOrderNumber: placerOrderNumber ?? null,
    placerAuthority: placerAuthority === undefined ? null : formatAuthority(placerAuthority),
  };
}

/** Who assigned an order number, where that is known. */
export const authorityOf = ({ placerAuthority }: Numbered) =>
  placerAuthority && formatAuthority(placerAuthority);

interface Failing {
  readonly failure?: { readonly code: string; readonly text: string } | undefined;
}

/** Why something failed, waits or is parked. */
export const REASON = {
  key: "reason",
  title: "reason",
  isFlexible: true,
  value: ({ failure }: Failing) => failure && withHint(failure),
  show: ({ failure }: Failing) => failure && `${failure.code}: ${failure.text}`,
} as const;

/** A state as people read it: `in progress`. */
export function stateInWords(state: string): string {
  return state.replaceAll("_", " ");
}

/** How a state is coloured: those that a person wants to see stand out. */
export const PAINT_BY_STATE: Readonly<Partial<Record<OrderState, Paint>>> = {
  completed: "green",
  parked: "red",
  failed: "red",
  rejected: "red",
  cancelled: "red",
  discarded: "dim",
};

/** The subject of an order for programs. */
export function subjectJson({ subject }: { readonly subject: OrderSubject }, viewer: Viewer) {
  return recordJson(SUBJECT, subject, viewer);
}

const SUBJECT = forPrograms<OrderSubject>("code", "firstName", "lastName", "dateOfBirth");
