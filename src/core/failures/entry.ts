/**
 * How a failure is treated.
 * - `transient`: nothing happened there; trying again is safe.
 * - `permanent`: it will be refused every time; a person must change something.
 * - `ambiguous`: it may have happened; the service is asked before anything is sent again.
 */
export type FailureClass = "transient" | "permanent" | "ambiguous";

/** What the registry says of a failure. */
export interface FailureEntry {
  readonly class: FailureClass;
  /** What happened, one sentence, for `docs/errors.md`. */
  readonly meaning: string;
  /** What the reader does about it, one sentence. */
  readonly hint: string;
}
