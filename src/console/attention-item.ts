import type { AlertKind } from "../core/alert.ts";
import type { Attention } from "./status-document.ts";

/** An item with what it has besides its level and words. */
export function item(
  level: Attention["level"],
  what: string,
  more: Partial<Omit<Attention, "level" | "what">> = {},
): Attention {
  return { level, what, since: null, hint: null, command: null, alerts: [], ...more };
}

/** The one alert that an item is a condition of. */
export function alert(kind: AlertKind, about: string, text: string): Pick<Attention, "alerts"> {
  return { alerts: [{ kind, about, text }] };
}
