import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { encodeCrockford, encodeCrockfordNumber } from "../../core/crockford.ts";
import { safeFileName, splitExtension } from "../../core/file-name.ts";

const ID_CHARACTERS = 26;
const SEPARATOR = "__";

/** A dropped file that is ours: it lies in the work folder under `<claim id>__<name>`, and the ledger has a row of that id. */
export interface Claim {
  readonly id: string;
  /** The name it was dropped under, made harmless. */
  readonly name: string;
  readonly folder: string;
  /** Where it lies now. */
  readonly path: string;
  readonly receivedAt: Date;
}

/** The claim of a file of that (harmless) name. */
export function claimOf(folder: string, id: string, name: string): Claim {
  return { id, name, folder, path: join(folder, id + SEPARATOR + name), receivedAt: claimedAt(id) };
}

/** The claim that a name in a work folder stands for; undefined for a report that waits to be published. */
export function parseClaim(folder: string, fileName: string): Claim | undefined {
  const id = fileName.slice(0, ID_CHARACTERS);
  const name = fileName.slice(ID_CHARACTERS + SEPARATOR.length);
  const hasForm = isClaimId(id) && fileName.startsWith(SEPARATOR, ID_CHARACTERS) && name !== "";
  return hasForm ? claimOf(folder, id, name) : undefined;
}

/** `orders.csv` -> `orders.01J….csv`: a name that no other file has. */
export function nameWithReference(name: string, claimId: string): string {
  const { stem, extension } = splitExtension(name);
  return `${stem}.${claimId}${extension}`;
}

const TIME_CHARACTERS = 10;
const SEQUENCE_CHARACTERS = 4;
const LAST_SEQUENCE = 32 ** SEQUENCE_CHARACTERS - 1;
const RANDOM_BYTES = 8;
const RANDOM_CHARACTERS = 12;
const CLAIM_ID = /^[0-9A-HJKMNP-TV-Z]{26}$/;

/**
 * Makes names of our own, in the form of a ULID: unique everywhere, and sorting in the order in which they were made,
 * also within a millisecond and when the clock goes back. After a crash files are worked on again in that order.
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

/** Room is left for our own prefix and suffix within the 255 bytes that file systems give a name. */
const LONGEST_NAME_BYTES = 190;

/** The name by which a dropped file goes on, however it was dropped. */
export function claimName(name: string): string {
  return safeFileName(name, LONGEST_NAME_BYTES);
}
