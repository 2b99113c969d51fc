import { inUtcUnlessZoned } from "../../core/service-time.ts";

/** Whether the runtime knows a zone: an IANA name or an offset such as `+02:00`. */
export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/**
 * A moment as HL7 writes it, `YYYYMMDDHHMMSS+ZZZZ`, in a zone and with that zone's offset at that moment, so that
 * nobody has to know where it was written.
 */
export function formatHl7Timestamp(moment: Date, timeZone: string): string {
  const second = Math.floor(moment.getTime() / 1_000);
  const last = lastByZone.get(timeZone);
  if (last?.second === second) return last.written;
  const parts = new Map(
    formatterOf(timeZone)
      .formatToParts(moment)
      .map(({ type, value }) => [type, value]),
  );
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? "";
  // `longOffset` gives `GMT+02:00`, and plain `GMT` for no offset.
  const offset = part("timeZoneName").replace("GMT", "").replace(":", "").slice(0, 5) || "+0000";
  const date = part("year").padStart(4, "0") + part("month") + part("day");
  const written = date + part("hour") + part("minute") + part("second") + offset;
  lastByZone.set(timeZone, { second, written });
  return written;
}

/** Messages of one second, of which there may be thousands, get the same text. */
const lastByZone = new Map<string, { readonly second: number; readonly written: string }>();

/** Making one takes far longer than using it; there are as many as the configuration names zones. */
const formatterByZone = new Map<string, Intl.DateTimeFormat>();

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const known = formatterByZone.get(timeZone);
  if (known) return known;
  const formatter = new Intl.DateTimeFormat("en-GB", {
    timeZone,
    calendar: "iso8601",
    numberingSystem: "latn",
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "longOffset",
  });
  formatterByZone.set(timeZone, formatter);
  return formatter;
}

/** The same from an ISO 8601 text of the service; a text that is no moment is given back as it is. */
export function formatServiceTimestamp(text: string, timeZone: string): string {
  const moment = new Date(inUtcUnlessZoned(text));
  return Number.isNaN(moment.getTime()) ? text : formatHl7Timestamp(moment, timeZone);
}

const DATE_TOKENS = /yyyy|MM|M|dd|d|HH|H|mm|ss|XXX|./gs;

/** What is wrong with a date format such as `dd.MM.yyyy HH:mm`, in words; undefined for nothing. */
export function dateFormatMistake(format: string): string | undefined {
  const tokens = format.match(DATE_TOKENS) ?? [];
  const unknown = tokens.find((token) => /^[A-Za-z]$/.test(token) && !/^[MdHT]$/.test(token));
  if (unknown !== undefined)
    return `${format}: ${unknown} stands for nothing; expected yyyy, MM, dd, HH, mm, ss, and XXX for the offset`;
  const lacks = ["yyyy", "M", "d"].find((part) => !tokens.some((token) => token.startsWith(part)));
  return lacks === undefined ? undefined : `${format}: expected yyyy, MM and dd, as in dd.MM.yyyy HH:mm`;
}

/** A moment of the service's or ours in a date format and a zone; a text that is no moment is given back as it is. */
export function formatDate(text: string, format: string, timeZone: string): string {
  const written = formatServiceTimestamp(text, timeZone);
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)([+-]\d\d)(\d\d)$/.exec(written);
  if (match === null) return written;
  const [, yyyy = "", MM = "", dd = "", HH = "", mm = "", ss = "", hours = "", minutes = ""] = match;
  const short = (text: string) => String(Number(text));
  const values: Readonly<Record<string, string>> = {
    ...{ yyyy, MM, dd, HH, mm, ss, M: short(MM), d: short(dd), H: short(HH), XXX: `${hours}:${minutes}` },
  };
  return format.replace(DATE_TOKENS, (token) => values[token] ?? token);
}

/** A moment for people, `2026-11-21 10:15 +0100`. */
export function formatReadableTime(text: string, timeZone: string): string {
  const written = formatServiceTimestamp(text, timeZone);
  const match = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)\d\d([+-]\d{4})$/.exec(written);
  if (match === null) return written;
  const [, year, month, day, hour, minute, offset] = match;
  return `${year}-${month}-${day} ${hour}:${minute} ${offset === "+0000" ? "UTC" : offset}`;
}
