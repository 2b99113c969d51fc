/** What a daemon does: take orders in, work them off, show itself. */
export const ROLES = ["intake", "worker", "console"] as const;
export type Role = (typeof ROLES)[number];
