const UNIT_MS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, y: 31_536_000_000 } as const;
const FORM = /^(\d+(?:\.\d+)?)(ms|s|m|h|d|y)$/;

/** Milliseconds of a duration written like `500ms`, `15s`, `2m`, `1h`, `90d`, `2y` (365 days); undefined for anything else. */
export function parseDuration(text: string): number | undefined {
  const match = FORM.exec(text.trim());
  if (!match) return undefined;
  return Math.round(Number(match[1]) * UNIT_MS[match[2] as keyof typeof UNIT_MS]);
}

/** A duration for people, rounded to its largest sensible unit: `1500` -> `1.5s`. */
export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)}ms`;
  for (const unit of ["d", "h", "m", "s"] as const) {
    const value = ms / UNIT_MS[unit];
    if (value >= 1) return `${Number(value.toFixed(1))}${unit}`;
  }
  return `${ms}ms`;
}

/** A moment for people who may sit elsewhere than the machine: `2026-11-22 10:24 UTC`. */
export function formatMinute(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** A moment that is near: `10:24:07 UTC`. */
export function formatSecond(date: Date): string {
  return `${date.toISOString().slice(11, 19)} UTC`;
}
