import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../core/clock.ts";

export const SESSION_COOKIE = "cryobridge_session";
/** A working day; then the token is asked for again. */
export const SESSION_SECONDS = 12 * 3_600;
/** Beyond this many the oldest ends, so that the list can't grow without end. */
const MAX_SESSIONS = 1_000;

/**
 * Who signed in: what a browser keeps instead of the token is a random number that means something here alone. Signing out
 * ends it for every copy of it, and so does a restart.
 */
export class Sessions {
  readonly #clock: Clock;
  /** By the digest of the number, when it ends (monotonic ms); the oldest first. */
  readonly #endsAtByDigest = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Begins a session and gives what the browser is to keep. */
  begin(): string {
    const session = randomBytes(32).toString("base64url");
    this.#endsAtByDigest.set(digestOf(session), this.#clock.monotonic() + SESSION_SECONDS * 1_000);
    const [oldest] = this.#endsAtByDigest.keys();
    if (this.#endsAtByDigest.size > MAX_SESSIONS && oldest !== undefined) this.#endsAtByDigest.delete(oldest);
    return session;
  }

  /** Whether a session was begun here and has not ended. */
  isOpen(session: string): boolean {
    const endsAt = this.#endsAtByDigest.get(digestOf(session));
    return endsAt !== undefined && endsAt > this.#clock.monotonic();
  }

  end(session: string): void {
    this.#endsAtByDigest.delete(digestOf(session));
  }
}

/** Compares in a time that shows nothing about the texts. */
export function isEqual(given: string, expected: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(given), digest(expected));
}

/** The value of a cookie in a `Cookie` header. */
export function cookieOf(header: string | undefined, name: string): string | undefined {
  for (const part of header?.split(";") ?? []) {
    const [key, value] = part.trim().split("=", 2);
    if (key === name) return value;
  }
  return undefined;
}

function digestOf(session: string): string {
  return createHash("sha256").update(session).digest("base64url");
}
