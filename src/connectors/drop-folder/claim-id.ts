import { randomBytes } from "node:crypto";
import { encodeCrockford, encodeCrockfordNumber } from "../../core/crockford.ts";

const TIME_CHARACTERS = 10;
const SEQUENCE_CHARACTERS = 4;
const LAST_SEQUENCE = 32 ** SEQUENCE_CHARACTERS - 1;
const RANDOM_BYTES = 8;
const RANDOM_CHARACTERS = 12;
const CLAIM_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/**
 * Makes names of our own, in the form of a ULID: unique everywhere, and sorting in the order in which they were made,
 * also within a millisecond and when the clock goes back. After a crash files are taken up again in that order.
 */
export class ClaimIds {
  #lastMs = 0;
  #sequence = 0;

  /** `now` is wall time, ms. */
  next(now: number): string {
    this.#sequence = now > this.#lastMs ? 0 : this.#sequence + 1;
    this.#lastMs = Math.max(now, this.#lastMs);
    if (this.#sequence > LAST_SEQUENCE) {
      this.#lastMs += 1;
      this.#sequence = 0;
    }
    const time = encodeCrockfordNumber(this.#lastMs).padStart(TIME_CHARACTERS, "0");
    const sequence = encodeCrockfordNumber(this.#sequence).padStart(SEQUENCE_CHARACTERS, "0");
    return time + sequence + encodeCrockford(randomBytes(RANDOM_BYTES)).slice(0, RANDOM_CHARACTERS);
  }
}

/** Whether a text has the form of a claim id. */
export function isClaimId(text: string): boolean {
  return CLAIM_ID.test(text);
}

/** When the claim id was made. */
export function claimedAt(claimId: string): Date {
  let ms = 0;
  for (const character of claimId.slice(0, TIME_CHARACTERS)) {
    ms = ms * 32 + "0123456789ABCDEFGHJKMNPQRSTVWXYZ".indexOf(character);
  }
  return new Date(ms);
}
