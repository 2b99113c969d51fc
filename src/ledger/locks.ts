/*
 * The numbers of the ledger's advisory locks, any numbers of our own; 7264006 is that of the audit's chain, in the schema. They
 * hold in the whole database, so each is for one thing. Messages that come twice are locked by a hash of 64 bits instead
 * (`messages/commit.ts`).
 */

/** One daemon at a time makes the tables. */
export const MIGRATION_LOCK = 7_264_001;
/** Workers enter themselves holding it in common; a restore, which lets none in, alone. */
export const ENTRY_LOCK = 7_264_009;
/** Shows that a worker lives, which holds it as long; the second key is its id. */
export const WORKER_LOCK = 7_264_002;
/** What one worker at a time does, such as leading, or sending a connector's results; the second key is a hash of its name. */
export const WORK_LOCK = 7_264_003;
/** One release of waiting messages at a time: two would lock the same messages in turn. */
export const RELEASE_LOCK = 7_264_004;
/** No two orders pass the guard for one label at a time; the second key is the label's group. */
export const LABEL_LOCK = 7_264_005;
/** One worker at a time takes orders: two that looked at once could take two of a lane. */
export const CLAIM_LOCK = 7_264_008;
/** A command holds it in common with others while it calls the service a lot: it counts as one more worker there. */
export const CALLER_LOCK = 7_264_007;
