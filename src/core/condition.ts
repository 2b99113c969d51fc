import { ALERT_KINDS, type AlertKind, type AlertLevel, type AlertSubject } from "./alert.ts";
import { FAILURES, type FailureCode } from "./failures.ts";
import { type Who, whoSeesTo } from "./who.ts";

/**
 * Who sees to a kind of condition where no failure says so. Those that are no kinds of alerts are shown, and nobody is called for
 * them; an alert that places don't take would go to the place that fails.
 */
const WHO_BY_KIND = {
  ledgerRestored: "it",
  serviceUnreachable: "service",
  connectorDown: "it",
  daemonTrouble: "it",
  workerDead: "it",
  ordersParked: "lab",
  ordersStalled: "it",
  ordersOld: "it",
  ordersFailing: "lab",
  messagesRefused: "lab",
  codesUnmapped: "it",
  resultsNotTaken: "it",
  connectorOrphaned: "it",
  filesUntaken: "it",
  queuePaused: "it",
  tasksOpen: "lab",
  tankOverdue: "facility",
  noTraffic: "it",
  diskFilling: "it",
  certificateExpiring: "it",
  secretExpiring: "it",
  backupOld: "it",
  ledgerUnread: "it",
  ordersOnHold: "lab",
  messagesBehind: "it",
  alertsNotTaken: "it",
  configurationDiffers: "it",
  refusedLately: "lab",
} as const satisfies Readonly<Record<AlertKind, Who>> & Readonly<Record<string, Who>>;

type ConditionKind = keyof typeof WHO_BY_KIND;

/**
 * Something is wrong, or somebody should know of it: whichever part says so, and whoever is shown it. In words without patients' data,
 * as JSON has it.
 */
export interface Condition {
  readonly kind: ConditionKind;
  /** What of its kind: a connector, a code, a disk of a machine; empty for all. */
  readonly about: string;
  readonly level: AlertLevel;
  /** What is wrong, and what it affects. */
  readonly text: string;
  /** ISO 8601; null where the text says it or nobody knows. */
  readonly since: string | null;
  /** What to do about it. */
  readonly hint: string | null;
  /** The command that shows more. */
  readonly command: string | null;
  readonly who: Who;
  /** Whether orders can't be taken because of it. */
  readonly stopsIntake: boolean;
}

const HINT_REFUSED =
  "Have the lab correct what it sends, or correct the profile, `cryobridge reload`, then `cryobridge messages replay ID`.";

/** What to do about a kind of condition where no failure says so. */
const HINT_BY_KIND: Readonly<Partial<Record<ConditionKind, string>>> = {
  noTraffic: "Look whether the lab system sends, and whether it reaches this machine.",
  diskFilling: "Free space on it, or move the folder: nothing is taken while the disk is full.",
  certificateExpiring:
    "Put a new certificate in its place, then restart the daemon; one of another machine is for whoever runs that.",
  backupOld:
    "Make one: `cryobridge backup FILE`; `systemctl status cryobridge-backup` says why the nightly one fails. Where the ledger is backed up by other means, set alerts.rules.backupOld.on to false.",
  secretExpiring: "Renew it, then write the new end under alerts.expiries.",
  messagesRefused: HINT_REFUSED,
  refusedLately: HINT_REFUSED,
};

type More = Partial<Omit<Condition, "kind" | "about" | "text">> & {
  /** The failure that it comes of: says what to do, and who does. */
  readonly code?: FailureCode | undefined;
};

/** A condition, which needs a person unless it says otherwise. */
export function condition(
  kind: ConditionKind,
  about: string,
  text: string,
  { code, ...more }: More = {},
): Condition {
  return {
    ...{ kind, about, level: "act", text, since: null, command: null, stopsIntake: false },
    hint: (code && FAILURES[code].hint) ?? HINT_BY_KIND[kind] ?? null,
    who: code === undefined ? WHO_BY_KIND[kind] : whoSeesTo(code),
    ...more,
  };
}

/** A condition that somebody may be called for, as far as alerts have it. */
export type AlertCondition = AlertSubject & Pick<Condition, "level" | "text" | "hint">;

export function isAlerted<Of extends Pick<Condition, "kind">>(each: Of): each is Of & { kind: AlertKind } {
  return each.kind in ALERT_KINDS;
}
