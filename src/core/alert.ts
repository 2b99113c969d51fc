import type { AlertKind } from "./condition-kinds.ts";

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
 * How urgent something is, the most urgent first. `act`: a person is needed. `wait`: it goes on by itself once its cause is gone.
 * `look`: worth a look.
 */
export const ALERT_LEVELS = ["act", "wait", "look"] as const;
export type AlertLevel = (typeof ALERT_LEVELS)[number];

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
