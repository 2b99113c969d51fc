import { createHash, createHmac, timingSafeEqual } from "node:crypto";

export const SESSION_COOKIE = "cryobridge_session";
/** A working day; then the token is asked for again. */
export const SESSION_SECONDS = 12 * 3_600;

/**
 * What a browser keeps instead of the token: its end and a seal over it, made with the token. It needs no memory, so
 * it outlives a restart; a new token ends all sessions.
 */
export function issueSession(token: string, nowMs: number): string {
  const endsAt = String(Math.floor(nowMs / 1_000) + SESSION_SECONDS);
  return `${endsAt}.${seal(token, endsAt)}`;
}

/** Whether a session was issued under this token and has not ended. */
export function isSessionValid(token: string, session: string, nowMs: number): boolean {
  const [endsAt = "", given = ""] = session.split(".", 2);
  return isEqual(given, seal(token, endsAt)) && Number(endsAt) * 1_000 > nowMs;
}

/** Compares in a time that tells nothing about the texts. */
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

function seal(token: string, endsAt: string): string {
  return createHmac("sha256", token).update(`console session until ${endsAt}`).digest("base64url");
}
