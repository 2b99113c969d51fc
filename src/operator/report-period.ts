import { Failure } from "../core/failures.ts";
import type { Period } from "../ledger/reports/report.ts";

/** A day or a month of the calendar where this program runs. */
export interface NamedPeriod extends Period {
  readonly kind: "day" | "month";
  /** `2026-11-23`, or `2026-11`. */
  readonly name: string;
  /** The names of the day or month before and after. */
  readonly previous: string;
  readonly next: string;
  /** Whose midnights are meant, such as `Europe/Vienna`. */
  readonly timeZone: string;
}

/** What a person writes for each. */
const FORMS = {
  day: { form: /^(\d{4})-(\d{2})-(\d{2})$/, example: "2026-11-23" },
  month: { form: /^(\d{4})-(\d{2})$/, example: "2026-11" },
} as const;

/**
 * The day or month that a text names; the current one without a text. A day of a change of the clocks has 23 or 25 hours.
 * @throws Failure CLI_USAGE
 */
export function parsePeriod(kind: NamedPeriod["kind"], text: string | undefined, nowMs: number): NamedPeriod {
  const { form, example } = FORMS[kind];
  const name = text ?? nameOf(kind, new Date(nowMs));
  const [, year, month, day = 1] = (form.exec(name) ?? []).map(Number);
  const steps = kind === "day" ? [0, 1] : [1, 0];
  const at = (by: number) =>
    new Date(Number(year), Number(month) - 1 + by * (steps[0] ?? 0), day + by * (steps[1] ?? 0));
  // What no calendar has, such as a 30th of February, comes out as another day.
  if (year === undefined || year < 1000 || nameOf(kind, at(0)) !== name)
    throw new Failure("CLI_USAGE", `${JSON.stringify(name)} is no ${kind}: expected one such as ${example}`);
  return {
    kind,
    name,
    from: at(0),
    to: at(1),
    previous: nameOf(kind, at(-1)),
    next: nameOf(kind, at(1)),
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  };
}

function nameOf(kind: NamedPeriod["kind"], date: Date): string {
  const two = (value: number) => String(value).padStart(2, "0");
  const month = `${String(date.getFullYear()).padStart(4, "0")}-${two(date.getMonth() + 1)}`;
  return kind === "day" ? `${month}-${two(date.getDate())}` : month;
}
