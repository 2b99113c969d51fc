import { phi } from "../../src/core/phi.ts";
import type { LostRequest } from "../../src/service/reconcile/match.ts";

/** The correlation token of the lost call. */
export const REF = "7K3M-ZQ0VX9TB4D";
/** When it was sent. */
export const sentAfter = new Date("2026-11-21T10:00:00Z");
/** A lost creation that stores two containers, with what a test sets. */
export const store = (given: Partial<Extract<LostRequest, { type: "STORE" }>> = {}): LostRequest => ({
  type: "STORE",
  facilityId: 12,
  subjectCode: phi("S-4"),
  containers: [
    { label: "V-1", description: "a" },
    { label: "V-2", description: "" },
  ],
  ref: REF,
  sentAfter,
  knownIds: new Set(),
  ...given,
});
/** A lost creation that retrieves two containers, with what a test sets. */
export const retrieval = (given: Partial<Extract<LostRequest, { type: "RETRIEVAL" }>> = {}): LostRequest => ({
  type: "RETRIEVAL",
  facilityId: 12,
  subjectCode: phi("S-4"),
  containerIds: [7, 8],
  sentAfter,
  knownIds: new Set(),
  ...given,
});
