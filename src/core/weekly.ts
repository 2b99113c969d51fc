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

/** When the hours began that a moment is in; undefined while it is in none. */
export function beganAt({ days, fromMinute, toMinute }: Weekly, now: Date): Date | undefined {
  const minute = now.getHours() * 60 + now.getMinutes();
  if (!days.has(now.getDay()) || minute < fromMinute || minute >= toMinute) return undefined;
  return new Date(now.getFullYear(), now.getMonth(), now.getDate(), 0, fromMinute);
}
