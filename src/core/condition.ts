import type { AlertLevel, AlertSubject } from "./alert.ts";
import {
  type AlertKind,
  CONDITION_KINDS,
  type ConditionKind,
  isAlertKind,
  type KindFacts,
  type Part,
} from "./condition-kinds.ts";
import { FAILURES, type FailureCode } from "./failures.ts";
import { type Who, whoSeesTo } from "./who.ts";

/** What passes by itself has passed by then, here or at a lab; after that somebody has to know, ms. */
export const PASSES_WITHIN_MS = 3_600_000;

/** What the part says above each page. */
interface Brief {
  /** What follows the part's name. */
  readonly words: string;
  /** ISO 8601; absent where nobody knows. */
  readonly since?: string | null | undefined;
  /** When it is tried next. */
  readonly nextTryAt?: string | null | undefined;
}

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
  /** The part that is down, or kept from its work. */
  readonly part?: Part | undefined;
  /** What that part says of it; absent for the text and its time. */
  readonly brief?: Brief | undefined;
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
    ...(facts.part && { part: facts.part }),
    hint: (code && FAILURES[code].hint) ?? facts.hint ?? null,
    who: code === undefined ? facts.who : whoSeesTo(code),
    ...more,
  };
}

/** A condition that somebody may be called for, as far as alerts have it. */
export type AlertCondition = AlertSubject & Pick<Condition, "level" | "text" | "hint">;

/** Whether others wait for what is down: then it is told before them. */
export function isBeforeOthers({ kind, level, part }: Condition): boolean {
  const facts: KindFacts = CONDITION_KINDS[kind];
  return level !== "look" && (part !== undefined || facts.isBeforeOthers === true);
}

export function isAlerted<Of extends Pick<Condition, "kind">>(each: Of): each is Of & { kind: AlertKind } {
  return isAlertKind(each.kind);
}
