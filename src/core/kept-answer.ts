import type { Phi } from "./phi.ts";

/**
 * An answer of the service that a person may have to look at: what came back to a call that was refused, or that may
 * or may not have had an effect. The patient's own values in its body are masked before it is made; what else it says may
 * be about anybody, so it is shown to operators who ask for it, and never logged.
 */
export interface KeptAnswer {
  readonly method: string;
  /** The path as the specification writes it, such as `/api/procedures/{id}`. */
  readonly route: string;
  readonly status: number;
  readonly shape: "json" | "html" | "empty" | "other";
  /** The media type without its parameters, when the answer had one. */
  readonly contentType?: string | undefined;
  /** The service's own error code, such as `VALIDATION_ERROR`, where it is made of the words of errors alone. */
  readonly errorCode?: string | undefined;
  /** The masked body, at most some KB; absent when there was none, or none that could be read. */
  readonly body?: Phi | undefined;
}
