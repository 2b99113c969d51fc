/** So many calls of the service in so long, by all workers of a ledger together. */
export interface Quota {
  readonly calls: number;
  readonly windowMs: number;
}

/** Where a quota comes from: the configuration, headers of the service, or the calls that it refused with a 429. */
export type QuotaSource = "set" | "header" | "learned";

/** What a worker found out about how many calls the service takes. Times are spans, since clocks differ. */
export interface FoundQuotas {
  readonly source: Exclude<QuotaSource, "set">;
  readonly quotas: readonly Quota[];
  /** How long ago the service said so, or refused a call, ms. */
  readonly ageMs: number;
}

/**
 * What a call is for. Where calls wait, reconciling comes first: finding out what a lost call did, which holds up its lane. The
 * others follow in this order, and none has to wait for ever; `other` is what people, refills and the inventory ask for.
 */
export const CALL_PURPOSES = ["reconciling", "submitting", "following", "locating", "other"] as const;

/** What is counted: requests for tokens serve all of them. */
export const COUNTED_PURPOSES = ["tokens", ...CALL_PURPOSES] as const;

export type CallPurpose = (typeof CALL_PURPOSES)[number];
