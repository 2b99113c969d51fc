/** Days of a week as `Date.getDay` counts them. */
const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;

/** Hours of some days of each week, in the machine's own time. */
export interface Weekly {
  /** As `Date.getDay` counts them. */
  readonly days: ReadonlySet<number>;
  /** Minutes since midnight; the end is not part of it. */
  readonly fromMinute: number;
  readonly toMinute: number;
}

/** The days that `mon-fri`, `mon,wed,fri` or `daily` name; undefined for other texts. */
export function parseDays(text: string): ReadonlySet<number> | undefined {
  if (text === "daily") return new Set([0, 1, 2, 3, 4, 5, 6]);
  const days = new Set<number>();
  for (const part of text.split(",")) {
    const [first = -1, last = first, ...more] = part.split("-").map((day) => DAYS.indexOf(day as never));
    if (first < 0 || last < 0 || more.length > 0) return undefined;
    for (let day = first; ; day = (day + 1) % DAYS.length) {
      days.add(day);
      if (day === last) break;
    }
  }
  return days;
}

/** The minutes since midnight of a time such as `07:30`, up to `24:00`; undefined for other texts. */
export function parseMinute(text: string): number | undefined {
  const match = /^([01]\d|2[0-4]):([0-5]\d)$/.exec(text);
  const minute = match ? Number(match[1]) * 60 + Number(match[2]) : undefined;
  return minute === undefined || minute > 1_440 ? undefined : minute;
}

/** Whether a moment is within the hours. */
export function isWithin({ days, fromMinute, toMinute }: Weekly, now: Date): boolean {
  const minute = now.getHours() * 60 + now.getMinutes();
  return days.has(now.getDay()) && minute >= fromMinute && minute < toMinute;
}

/** How much of the time from one moment to another is within the hours, ms. */
export function msWithin({ days, fromMinute, toMinute }: Weekly, from: Date, to: Date): number {
  let ms = 0;
  const day = new Date(from.getFullYear(), from.getMonth(), from.getDate());
  for (; day < to; day.setDate(day.getDate() + 1)) {
    if (!days.has(day.getDay())) continue;
    const at = (minute: number) => new Date(day).setHours(0, minute);
    ms += Math.max(0, Math.min(at(toMinute), to.getTime()) - Math.max(at(fromMinute), from.getTime()));
  }
  return ms;
}
