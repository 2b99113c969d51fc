import type { AlertNews } from "../../core/alert.ts";

/** Somewhere that alerts are sent to. */
export interface AlertPlace {
  /** What a person calls it. */
  readonly name: string;
  /**
   * Sends the news there, until the signal is aborted.
   * @throws Error with a sentence that holds no credential.
   */
  send(news: AlertNews, signal: AbortSignal): Promise<void>;
}

/** A credential, revealed only for the call that presents it. */
export interface Hidden {
  reveal(): string;
}

/** How long a place may take in all, ms. */
export const PLACE_TIMEOUT_MS = 10_000;

/** Why a sending was aborted. */
export function whyAborted({ reason }: AbortSignal): string {
  const isLate = reason instanceof Error && reason.name === "TimeoutError";
  return isLate ? `no answer within ${PLACE_TIMEOUT_MS / 1_000} s` : "the daemon stops";
}

/** What the news are, in a line. */
export function headline({ event, alert: { kind, text } }: AlertNews): string {
  if (event === "test") return text;
  return `${event === "over" ? "Over" : "Alert"}: ${kind}: ${text}`;
}
