import type { AlertLevel, AlertSubject } from "./alert.ts";
import {
  type AlertKind,
  CONDITION_KINDS,
  type ConditionKind,
  isAlertKind,
  type KindFacts,
} from "./condition-kinds.ts";
import { FAILURES, type FailureCode } from "./failures.ts";
import { type Who, whoSeesTo } from "./who.ts";

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
  /** The words in which a person gave the reason: shown with the text, and sent nowhere, since they may name a patient. */
  readonly reason?: string | undefined;
  /** What to do about it. */
  readonly hint: string | null;
  /** The command that shows more. */
  readonly command: string | null;
  readonly who: Who;
  /** Whether orders can't be taken because of it. */
  readonly stopsIntake: boolean;
  /** Absent where it has a cause of its own, else what it comes of: where that is told, this need not be. */
  readonly cause?: "ledger" | undefined;
}

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
  const facts: KindFacts = CONDITION_KINDS[kind];
  return {
    ...{ kind, about, level: "act", text, since: null, command: null, stopsIntake: false },
    hint: (code && FAILURES[code].hint) ?? facts.hint ?? null,
    who: code === undefined ? facts.who : whoSeesTo(code),
    ...more,
  };
}

/** A condition that somebody may be called for, as far as alerts have it. */
export type AlertCondition = AlertSubject & Pick<Condition, "level" | "text" | "hint">;

export function isAlerted<Of extends Pick<Condition, "kind">>(each: Of): each is Of & { kind: AlertKind } {
  return isAlertKind(each.kind);
}
