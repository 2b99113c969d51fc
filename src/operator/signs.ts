import type { AlertLevel } from "../core/alert.ts";
import type { Paint } from "./column.ts";

/** How urgent something is, by sign, words and colour. */
export const LEVELS = {
  act: { sign: "✗", meaning: "needs a person", paint: "red" },
  wait: { sign: "↻", meaning: "goes on by itself", paint: "yellow" },
  look: { sign: "·", meaning: "worth a look", paint: "cyan" },
} as const satisfies Record<
  AlertLevel,
  { readonly sign: string; readonly meaning: string; readonly paint: Paint }
>;

/** How a part stands of which everything else depends. */
export const PART_SIGNS = {
  up: { sign: "✓", paint: "green" },
  waits: { sign: "◦", paint: "yellow" },
  down: { sign: "✗", paint: "red" },
  unknown: { sign: "·", paint: "dim" },
} as const satisfies Record<string, { readonly sign: string; readonly paint: Paint }>;
