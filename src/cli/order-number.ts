import { type AssigningAuthority, formatAuthority } from "../core/assigning-authority.ts";

/** What a wish, an order or a task says of the number that the lab gave an order. */
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
