/** A moment for people who may sit elsewhere than the machine: `2026-11-22 10:24 UTC`. */
export function formatMinute(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** A moment that is near: `10:24:07 UTC`. */
export function formatSecond(date: Date): string {
  return `${date.toISOString().slice(11, 19)} UTC`;
}
