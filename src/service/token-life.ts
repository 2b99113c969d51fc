/** Assumed when the token endpoint doesn't say how long a token lives (RFC 6749, 5.1 leaves it optional), ms. */
export const ASSUMED_LIFE_MS = 300_000;
const SHORTEST_LIFE_MS = 1_000;
const LONGEST_LIFE_MS = 86_400_000;

/**
 * A token's life from `expires_in`, ms: whole or fractional seconds as a number or as digits; undefined when it is
 * missing, zero, negative or anything else. Held within 1 s and a day: a longer promise is not relied upon.
 */
export function parseExpiresIn(value: unknown): number | undefined {
  const seconds = typeof value === "string" && value.trim() !== "" ? Number(value) : value;
  if (typeof seconds !== "number" || !Number.isFinite(seconds) || seconds <= 0) return undefined;
  return Math.min(LONGEST_LIFE_MS, Math.max(SHORTEST_LIFE_MS, seconds * 1_000));
}

/**
 * When a token is renewed ahead of its end, ms after it was asked for: a minute before the end, but for lives under
 * four minutes at three quarters. 3600 s -> 3540 s, 240 s -> 180 s, 60 s -> 45 s, 5 s -> 3.75 s.
 */
export function renewalAfter(lifeMs: number): number {
  return Math.max(lifeMs * 0.75, lifeMs - 60_000);
}

/**
 * The next assumption for a service that never tells a life. A token that worked and was refused at some age
 * teaches a shorter one; each renewal that came in time tries twice as long again, up to `mostMs`.
 */
export function assumeLife(
  current: number,
  seen: { readonly refusedAtAgeMs: number } | "renewed",
  mostMs = ASSUMED_LIFE_MS,
): number {
  if (seen === "renewed") return Math.min(mostMs, current * 2);
  return Math.max(2_000, Math.min(current, seen.refusedAtAgeMs * 0.9));
}
