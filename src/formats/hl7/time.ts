/** A date or time as HL7 writes it (TS, DT, DTM: `YYYY[MM[DD[HH[MM[SS[.S…]]]]]][+/-ZZZZ]`, HL7 chapter 2A). */
interface Hl7Date {
  /** `YYYY-MM-DD` as written, without any shift of time zone; undefined when the day or month is not given. */
  readonly date: string | undefined;
  readonly precision: "year" | "month" | "day" | "time";
  /** The time of day as written, `HH`, `HHMM`, `HHMMSS` or with fractions; undefined when not given. */
  readonly time: string | undefined;
  /** `+0100`, `-0500`; undefined when not given. */
  readonly zone: string | undefined;
}

const FORM =
  /^\d{4}(?:\d\d(?:\d\d(?:(?:[01]\d|2[0-3])(?:[0-5]\d(?:[0-5]\d(?:\.\d{1,4})?)?)?)?)?)?(?:[+-](?:0\d|1[0-4])[0-5]\d)?$/;

/** Reads a date or time; undefined when it is not written as HL7 does or names a day that the calendar does not have. */
export function parseHl7Date(text: string): Hl7Date | undefined {
  if (!FORM.test(text)) return undefined;
  // All parts have a fixed place and length, but for the fractions of a second.
  const sign = text.charAt(text.length - 5);
  const zoneAt = sign === "+" || sign === "-" ? text.length - 5 : text.length;
  const year = text.slice(0, 4);
  const month = zoneAt > 4 ? text.slice(4, 6) : undefined;
  const day = zoneAt > 6 ? text.slice(6, 8) : undefined;
  const time = zoneAt > 8 ? text.slice(8, zoneAt) : undefined;
  const zone = zoneAt < text.length ? text.slice(zoneAt) : undefined;
  if (!isRealDay(Number(year), Number(month ?? 1), Number(day ?? 1))) return undefined;
  const precision = time ? "time" : day ? "day" : month ? "month" : "year";
  return { date: day ? `${year}-${month}-${day}` : undefined, precision, time, zone };
}

function isRealDay(year: number, month: number, day: number): boolean {
  if (year < 1 || month < 1 || month > 12 || day < 1) return false;
  const isLeapDay = month === 2 && day === 29;
  if (isLeapDay) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return day <= (DAYS[month - 1] ?? 0);
}

const DAYS: readonly number[] = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** A moment as `YYYYMMDDHHMMSS+0000`: UTC with its zone, so that no reader has to guess. */
export function formatHl7DateTime(date: Date): string {
  const digits = date.toISOString().replace(/[-:T]/g, "");
  return `${digits.slice(0, 14)}+0000`;
}
