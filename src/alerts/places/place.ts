import type { AlertNews } from "../../core/alert.ts";

/** Somewhere that is told of alerts. */
export interface AlertPlace {
  /** What a person calls it. */
  readonly name: string;
  /**
   * Tells it.
   * @throws Error with a sentence that holds no credential.
   */
  send(news: AlertNews): Promise<void>;
}

/** A credential, revealed only for the call that presents it. */
export interface Hidden {
  reveal(): string;
}

/** How long a place may take, ms. */
export const PLACE_TIMEOUT_MS = 10_000;

/** What the news are, in a line. */
export function headline({ event, alert: { kind, text } }: AlertNews): string {
  if (event === "test") return text;
  return `${event === "over" ? "Over" : "Alert"}: ${kind}: ${text}`;
}
