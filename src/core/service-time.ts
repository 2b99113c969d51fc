const EARLIEST_MS = Date.UTC(1970, 0, 1);
const LATEST_MS = Date.UTC(2200, 0, 1);
const ZONELESS = /^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?$/;

/**
 * A time as the service wrote it, with a zone: the specification has its timestamps in UTC, so one without a zone is
 * taken for that. Left to itself, the runtime would take it for the time of the zone in which the daemon happens to run.
 */
export function inUtcUnlessZoned(text: string): string {
  return ZONELESS.test(text) ? `${text.replace(" ", "T").replace(",", ".")}Z` : text;
}

/** Whether a time names its zone, so that no other reading of it is possible. */
export function hasZone(text: string): boolean {
  return /[T ].*(Z|[+-]\d{2}:?\d{2})$/i.test(text);
}

/** A time as the service wrote it, in ms since the epoch; undefined for a text that is none, or none of our age. */
export function serviceTimeMs(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d{4}-\d{2}-\d{2}[T ]/.test(text)) return undefined;
  const ms = Date.parse(inUtcUnlessZoned(text));
  return ms >= EARLIEST_MS && ms < LATEST_MS ? ms : undefined;
}
