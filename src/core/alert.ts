/** What a kind of alert means, and for how long its condition has to hold before it is reported, unless the configuration says. */
interface AlertKindFacts {
  readonly means: string;
  readonly after: string;
}

/** Every kind of alert. Each is a kind of condition; see `src/core/condition.ts`. */
export const ALERT_KINDS = {
  ledgerRestored: { after: "0s", means: "The ledger was put back to an older copy." },
  serviceUnreachable: {
    after: "2m",
    means: "The storage service is out of reach, or refuses the credentials.",
  },
  connectorDown: {
    after: "2m",
    means: "A connector can't take messages, or works badly; one alert for each connector and machine.",
  },
  daemonTrouble: {
    after: "2m",
    means:
      "Something else keeps a daemon from its work: the queue's server, its own load, refills that can't be read.",
  },
  workerDead: { after: "1m", means: "A daemon ended without being asked to." },
  ordersParked: { after: "1m", means: "Orders wait for a person; one alert for each failure code." },
  ordersStalled: {
    after: "1h",
    means: "Orders are tried again and again, or searched for; one alert for each failure code.",
  },
  ordersOld: {
    after: "0s",
    means: "The oldest order has been in a stage for too long; one alert for each stage.",
  },
  ordersFailing: { after: "0s", means: "Too many of the orders that ended within the last hour failed." },
  messagesRefused: {
    after: "0s",
    means: "Too many of a connector's messages of the last hour were refused.",
  },
  codesUnmapped: {
    after: "1m",
    means: "Messages wait for a code that no table knows; one alert for each code.",
  },
  resultsNotTaken: {
    after: "15m",
    means: "The lab can't be reached or doesn't take results; one alert for each connector.",
  },
  connectorOrphaned: {
    after: "5m",
    means: "Something waits of a connector that the configuration no longer names.",
  },
  filesUntaken: { after: "1m", means: "Files lie in a drop folder and are not taken." },
  queuePaused: { after: "1h", means: "A person paused a queue and did not resume it." },
  tasksOpen: { after: "1m", means: "Tasks wait for a person." },
  tankOverdue: { after: "0s", means: "A tank was not refilled for too long." },
  noTraffic: { after: "0s", means: "A connector got no message for longer than its schedule allows." },
  diskFilling: {
    after: "5m",
    means:
      "A disk that holds the ledger or a drop folder is nearly full; one alert for each disk of a machine.",
  },
  certificateExpiring: {
    after: "0s",
    means:
      "A certificate of the configuration, or one that the service or a lab's system showed, ends soon, or has ended.",
  },
  secretExpiring: {
    after: "0s",
    means: "A token or secret that the configuration gives an end ends soon, or has ended.",
  },
  backupOld: {
    after: "0s",
    means: "The last backup of the ledger is old, or none was ever made.",
  },
} as const satisfies Readonly<Record<string, AlertKindFacts>>;

export type AlertKind = keyof typeof ALERT_KINDS;

/** All of them, in the order of the documents. */
export const ALERT_KIND_NAMES = Object.keys(ALERT_KINDS) as readonly AlertKind[];

/** By what an alert is known again: its kind, and what it is about, such as a connector or a code; empty for all. */
export interface AlertSubject {
  readonly kind: AlertKind;
  readonly about: string;
}

/** One line by which an alert is known again. Neither part holds a line end. */
export function alertKey({ kind, about }: { readonly kind: string; readonly about: string }): string {
  return `${kind}\n${about}`;
}

/**
 * What an alert about a part of one machine is about, such as `/data on lab-server`: the same whichever daemon of the machine
 * says so, and whichever daemon sends it.
 */
export function aboutOn(host: string, part: string): string {
  return `${part} on ${host}`;
}

/** Whether an alert is about a part of this machine. */
export function isOn(host: string, about: string): boolean {
  return about.endsWith(aboutOn(host, ""));
}

/** Whether an alert is about this part, of whichever machine. */
export function isAboutPart(part: string, about: string): boolean {
  return about.startsWith(aboutOn("", part));
}

/**
 * How urgent something is. `act`: a person is needed. `wait`: it goes on by itself once its cause is gone. `look`: worth a look.
 */
export type AlertLevel = "act" | "wait" | "look";

/** What is reported of an alert. */
export type AlertEvent = "started" | "over" | "test";

/** What a place is sent of an alert: the body of a webhook, the input of a command. Keys are stable; times are ISO 8601. */
export interface AlertNews {
  /** The same each time that the same is sent again, by whichever machine, and no other ledger's. */
  readonly id: string;
  readonly event: AlertEvent;
  /** The machine that sends it. */
  readonly host: string;
  readonly version: string;
  readonly alert: {
    /** Such as `a12`. */
    readonly id: string;
    readonly kind: AlertKind;
    readonly about: string;
    readonly level: AlertLevel;
    readonly text: string;
    readonly hint: string | null;
    readonly since: string;
    readonly overAt: string | null;
  };
}
