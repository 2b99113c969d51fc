import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../core/clock.ts";
import type { ConsoleUser } from "./deps.ts";
import { Latest } from "./latest.ts";

export const SESSION_COOKIE = "cryobridge_session";
/** A working day; then the token is asked for again. */
export const SESSION_SECONDS = 12 * 3_600;
/** So long after the last page that a person opened, the token is asked for again, too. */
export const IDLE_SECONDS = 1_800;
/** Beyond this many the oldest ends, so that the list can't grow without end. */
const MAX_SESSIONS = 1_000;

/** What is known of a browser that has signed in. */
export interface Session {
  readonly user: ConsoleUser;
  /** Stands in every form, so that no other site can send one. */
  readonly formToken: string;
  /** What the next page says once, such as what became of an order. */
  notice: Notice | undefined;
}

/** What became of what a person asked for. */
export interface Notice {
  readonly isDone: boolean;
  readonly lines: readonly string[];
}

interface Open {
  readonly session: Session;
  /** Monotonic ms. */
  readonly endsAt: number;
  idleAt: number;
}

/**
 * Who signed in: what a browser keeps instead of the token is a random number that means something here alone. Signing out
 * ends it for every copy of it, and so does a restart.
 */
export class Sessions {
  readonly #clock: Clock;
  /** By the digest of the number, the oldest first. */
  readonly #openByDigest = new Latest<string, Open>(MAX_SESSIONS);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a session and gives what the browser is to keep. */
  begin(user: ConsoleUser): string {
    const number = randomBytes(32).toString("base64url");
    const now = this.#clock.monotonic();
    const session = { user, formToken: randomBytes(32).toString("base64url"), notice: undefined };
    const open = { session, endsAt: now + SESSION_SECONDS * 1_000, idleAt: now + IDLE_SECONDS * 1_000 };
    this.#openByDigest.set(digestOf(number), open);
    return number;
  }

  /**
   * The session that was begun here under this number and has not ended.
   *
   * @param isPerson whether a person asks, not a page that refreshes itself
   */
  find(number: string, isPerson: boolean): Session | undefined {
    const digest = digestOf(number);
    const open = this.#openByDigest.get(digest);
    const now = this.#clock.monotonic();
    if (open === undefined || open.endsAt <= now || open.idleAt <= now) {
      this.#openByDigest.delete(digest);
      return undefined;
    }
    if (isPerson) open.idleAt = now + IDLE_SECONDS * 1_000;
    return open.session;
  }

  end(number: string): void {
    this.#openByDigest.delete(digestOf(number));
  }
}

/** Compares in a time that shows nothing about the texts. */
export function isEqual(given: string, expected: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

function digestOf(number: string): string {
  return createHash("sha256").update(number).digest("base64url");
}
