/**
 * How often a daemon looks at something by itself, ms. Work that comes wakes who has to do it (a folder's watcher, a commit, the end of a
 * job, a queue); these are for what only time makes due, and for wake-ups that get lost. Not in here: what a site sets.
 */
export const EVERY_MS = {
  /** Shows the other workers that it lives, and hears what they report. They take over after four that are missing. */
  heartbeat: 1_000,
  /** One statement asks what is due; nothing else is asked while nothing is. */
  due: 1_000,
  /** Looks for jobs that a queue lost, and for what this worker's jobs gave up, while orders are in hand. */
  lostJobs: 2_500,
  /** Looks for jobs whose worker died, in each queue of which this worker wanted any within the last minute. */
  stalledJobs: 2_500,
  /** The same in the others, where another worker's wait; and how long a wake-up of a queue may stay unheard. */
  quietQueue: 30_000,
  /** Looks whether a clock that was ahead has left anything due in a distant future. */
  farOff: 300_000,
  /** Counts the epoch, by which a ledger that went back is noticed. */
  epoch: 60_000,
  /** Notes the end of the audit in its file. */
  auditEnd: 60_000,
  /** Prunes what is kept no longer. */
  prune: 3_600_000,
  /** Tries a service whose calls were held back, once a try is allowed. */
  serviceTry: 1_000,
  /** Notes its own conditions in the ledger, where they changed. */
  ownConditions: 5_000,
  /** Looks whether the configuration's files changed. */
  configuration: 2_000,
  /** Looks whether the event loop goes round. */
  eventLoop: 250,
} as const;
