import { createHmac } from "node:crypto";
import type { OrderContainer } from "../core/order.ts";
import type { Phi } from "../core/phi.ts";

/** A procedure request to be created; containers of a retrieval are already resolved to the service's ids. */
export type NewRequest =
  | {
      readonly type: "STORE";
      readonly facilityId: number;
      readonly subjectCode: Phi;
      readonly containers: readonly OrderContainer[];
      /** The correlation token of the order, from `refToken`; used when `correlation` is `token`. */
      readonly ref?: string | undefined;
    }
  | {
      readonly type: "RETRIEVAL";
      readonly facilityId: number;
      readonly subjectCode: Phi;
      readonly containerIds: readonly number[];
      readonly ref?: undefined;
    };

/** Crockford's base32: no I, L, O, U, so that a person can read it out. */
const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
const LENGTH = 12;

/**
 * The correlation token of an order: 12 characters (60 bits) of an HMAC-SHA-256 over its id. The same order always
 * gets the same token, nobody without the secret can tell the order from it, and it says nothing of the patient.
 */
export function refToken(orderId: string, secret: string | Uint8Array): string {
  const digest = createHmac("sha256", secret).update(`cryobridge ref ${orderId}`).digest();
  // Five bits of each byte; the bytes of an HMAC are independent of each other.
  return [...digest.subarray(0, LENGTH)].map((byte) => ALPHABET.charAt(byte & 31)).join("");
}

/**
 * A container's description with the token at its end, as staff see it: `2 straws [ref 7K3MZQ0VX9TB]`.
 * A description that has it already stays as it is.
 */
export function withRef(description: string, ref: string): string {
  if (hasRef(description, ref)) return description;
  return `${description} [ref ${ref}]`.trimStart();
}

/** Whether a description carries that token. */
export function hasRef(description: string, ref: string): boolean {
  return description.includes(`[ref ${ref}]`);
}

/** Whether a description carries the token of some order, this one or another. */
export function hasAnyRef(description: string): boolean {
  return /\[ref [0-9A-HJKMNP-TV-Z]{12}\]/.test(description);
}
