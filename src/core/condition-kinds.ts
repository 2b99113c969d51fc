import type { Who } from "./who.ts";

/** A part of which everything else depends, as it stands above each page. */
export type Part = "service" | "lab" | "queue" | "daemons";

/** What every condition of a kind has in common. */
export interface KindFacts {
  /** Who sees to it where no failure says so. */
  readonly who: Who;
  /** What to do about it where no failure says so. */
  readonly hint?: string;
  /** For how long it holds before people are called for it, unless the configuration says; nobody is where there is none. */
  readonly after?: string;
  /** What an alert of it means, for the documents. */
  readonly means?: string;
  /** The part that it is about, where no condition of it says otherwise. */
  readonly part?: Part;
  /** Others wait for it though it is about no part: it is told before them. */
  readonly isBeforeOthers?: true;
}

const HINT_REFUSED =
  "Have the lab correct what it sends, or correct the profile, `cryobridge reload`, then `cryobridge messages replay ID`.";

/** Every kind of condition; first those that people are called for, in the order of the documents. */
export const CONDITION_KINDS = {
  ledgerRestored: {
    who: "it",
    after: "0s",
    means: "The ledger was put back to an older copy.",
    isBeforeOthers: true,
  },
  serviceUnreachable: {
    who: "service",
    part: "service",
    after: "2m",
    means: "The storage service is out of reach, or refuses the credentials.",
  },
  connectorDown: {
    who: "it",
    isBeforeOthers: true,
    after: "2m",
    means: "A connector can't take messages, or works badly; one alert for each connector and machine.",
  },
  daemonTrouble: {
    who: "it",
    isBeforeOthers: true,
    after: "2m",
    means:
      "Something else keeps a daemon from its work: the queue's server, its own load, refills that can't be read.",
  },
  workerDead: {
    who: "it",
    part: "daemons",
    after: "1m",
    means: "A daemon ended without being asked to.",
  },
  ordersParked: {
    who: "lab",
    after: "1m",
    means: "Orders wait for a person; one alert for each failure code.",
  },
  ordersStalled: {
    who: "it",
    after: "1h",
    means: "Orders are tried again and again, or searched for; one alert for each failure code.",
  },
  ordersOld: {
    who: "it",
    after: "0s",
    means: "The oldest order has been in a stage for too long; one alert for each stage.",
  },
  ordersFailing: {
    who: "lab",
    after: "0s",
    means: "Too many of the orders that ended within the last hour failed.",
  },
  messagesRefused: {
    who: "lab",
    after: "0s",
    means: "Too many of a connector's messages of the last hour were refused.",
    hint: HINT_REFUSED,
  },
  codesUnmapped: {
    who: "it",
    after: "1m",
    means: "Messages wait for a code that no table knows; one alert for each code.",
  },
  resultsNotTaken: {
    who: "it",
    after: "15m",
    means: "The lab can't be reached or doesn't take results; one alert for each connector.",
  },
  connectorOrphaned: {
    who: "it",
    after: "5m",
    means: "Something waits of a connector that the configuration no longer names.",
  },
  filesUntaken: { who: "it", after: "1m", means: "Files lie in a drop folder and are not taken." },
  queuePaused: {
    who: "it",
    part: "queue",
    after: "1h",
    means: "A person paused a queue and did not resume it.",
  },
  tasksOpen: { who: "lab", after: "1m", means: "Tasks wait for a person." },
  tankOverdue: { who: "facility", after: "0s", means: "A tank was not refilled for too long." },
  noTraffic: {
    who: "it",
    after: "0s",
    means: "A connector got no message for longer than its schedule allows.",
    hint: "Look whether the lab system sends, and whether it reaches this machine.",
  },
  diskFilling: {
    who: "it",
    isBeforeOthers: true,
    after: "5m",
    means:
      "A disk that holds the ledger or a drop folder is nearly full; one alert for each disk of a machine.",
    hint: "Free space on it, or move the folder: nothing is taken while the disk is full.",
  },
  certificateExpiring: {
    who: "it",
    after: "0s",
    means:
      "A certificate of the configuration, or one that the service or a lab's system showed, ends soon, or has ended.",
    hint: "Put a new certificate in its place, then restart the daemon; one of another machine is for whoever runs that.",
  },
  secretExpiring: {
    who: "it",
    after: "0s",
    means: "A token or secret that the configuration gives an end ends soon, or has ended.",
    hint: "Renew it, then write the new end under alerts.expiries.",
  },
  backupOld: {
    who: "it",
    after: "0s",
    means: "The last backup of the ledger is old, or none was ever made.",
    hint: "Make one: `cryobridge backup FILE`; `systemctl status cryobridge-backup` says why the nightly one fails. Where the ledger is backed up by other means, set alerts.rules.backupOld.on to false.",
  },
  // Shown alone. An alert that places don't take would go to the place that fails.
  checkFailed: { who: "it" },
  ledgerUnread: { who: "it" },
  ordersOnHold: { who: "lab" },
  messagesBehind: { who: "it" },
  alertsNotTaken: { who: "it" },
  configurationDiffers: { who: "it" },
  refusedLately: { who: "lab", hint: HINT_REFUSED },
} as const satisfies Readonly<Record<string, KindFacts>>;

type Kinds = typeof CONDITION_KINDS;

/** What is wrong. */
export type ConditionKind = keyof Kinds;
/** A kind that people are called for. */
export type AlertKind = {
  [Kind in ConditionKind]: Kinds[Kind] extends { readonly after: string } ? Kind : never;
}[ConditionKind];

export function isAlertKind(kind: ConditionKind): kind is AlertKind {
  return "after" in CONDITION_KINDS[kind];
}

/** Those that people are called for, in the order of the documents. */
export const ALERT_KINDS: readonly AlertKind[] = (Object.keys(CONDITION_KINDS) as ConditionKind[]).filter(
  isAlertKind,
);
