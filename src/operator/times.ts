import type { Clock } from "../core/clock.ts";
import { parseDuration } from "../core/duration.ts";
import { Failure } from "../core/failures.ts";
import { hasZone } from "../core/service-time.ts";

/** Local time as ISO 8601 without its zone: `2026-11-21 16:28:05`. */
export function localTime(date: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** A time of the service as local time; what is no time, or one without a zone, stays as it came. */
export function serviceTime(text: string): string {
  const time = new Date(text);
  return hasZone(text) && !Number.isNaN(time.getTime()) ? localTime(time) : text;
}

/** How far a time is from now: `3m ago`, `in 45s`, `now` within a second. */
export function relativeTime(date: Date, nowMs: number): string {
  const ms = date.getTime() - nowMs;
  if (Math.abs(ms) < 1_000) return "now";
  const rounded = roundToUnit(Math.abs(ms));
  return ms > 0 ? `in ${rounded}` : `${rounded} ago`;
}

/** Both: `2026-11-21 16:28:05 (3m ago)`. */
export function timeWithAge(date: Date, nowMs: number): string {
  return `${localTime(date)} (${relativeTime(date, nowMs)})`;
}

/** When something that is away is tried next, such as `; next try in 45s`; empty where that is not known. */
export function nextTryInWords(nextTryAt: string | null | undefined, nowMs: number): string {
  if (!nextTryAt) return "";
  const at = new Date(nextTryAt);
  return `; next try ${at.getTime() <= nowMs ? "now" : relativeTime(at, nowMs)}`;
}

/** Seconds and minutes are whole; `1.5h` and `2.3d` keep their digit. */
export function roundToUnit(ms: number): string {
  if (ms < 59_500) return `${Math.max(1, Math.round(ms / 1_000))}s`;
  if (ms < 3_570_000) return `${Math.round(ms / 60_000)}m`;
  const hours = ms / 3_600_000;
  return hours < 23.5 ? `${Number(hours.toFixed(1))}h` : `${Number((hours / 24).toFixed(1))}d`;
}

/**
 * The time that `--since` names: a while ago (`2h`, `3d`), or an ISO 8601 date or time; undefined without it.
 * @throws Failure CLI_USAGE
 */
export function parseSince(text: string | undefined, { clock }: { readonly clock: Clock }): Date | undefined {
  if (text === undefined) return undefined;
  const ago = parseDuration(text);
  if (ago !== undefined) return new Date(clock.now() - ago);
  const isIso = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/.test(text);
  // A date alone means midnight here, not in Greenwich.
  const date = new Date(/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00` : text);
  if (isIso && !Number.isNaN(date.getTime())) return date;
  throw new Failure(
    "CLI_USAGE",
    `--since ${text}: expected a duration such as 2h, or a time such as 2026-11-21T08:00`,
  );
}
