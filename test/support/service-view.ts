import type { ServiceView } from "../../src/operator/service-columns.ts";

const NONE = { tokens: 0, reconciling: 0, submitting: 0, following: 0, locating: 0, other: 0 };

/** The service as a daemon sees it that has not called it yet, but for what is given. */
export function serviceView(given: Partial<ServiceView> = {}): ServiceView {
  return {
    ...{
      isReachable: null,
      answeredAt: null,
      breaker: "closed",
      opening: null,
      hasApiToken: false,
      tokenEndsAt: null,
    },
    ...{ maxRequestsPerSecond: 5, maxRequestsPerMinute: null, callsAtOnce: 2, calls: 0, refused: 0 },
    ...{ callsLastMinute: 0, refusedLastMinute: 0, callsByPurpose: NONE, callsByPurposeInAll: NONE },
    ...{ limit: { calls: 5, seconds: 1, source: "set" }, backlog: null },
    ...given,
  };
}
