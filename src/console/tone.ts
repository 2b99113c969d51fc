import type { Paint } from "../operator/column.ts";

const TONES: Readonly<Partial<Record<Paint, string>>> = {
  green: "good",
  red: "bad",
  yellow: "wait",
  dim: "dim",
};

/** The class of a colour that a terminal would use. */
export function toneOf(paint: Paint | readonly Paint[] | undefined): string {
  const [first] = typeof paint === "string" || paint === undefined ? [paint] : paint;
  return (first && TONES[first]) ?? "";
}
