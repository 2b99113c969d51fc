import { ALERT_LEVELS, alertKey } from "../../core/alert.ts";
import { type Condition, condition, isAlerted, isBeforeOthers } from "../../core/condition.ts";
import { counted } from "../../operator/text.ts";
import { pausedInWords } from "../../operator/things/queues.ts";
import type { Answers } from "../ask.ts";
import { partNameOf } from "../parts.ts";
import type { Attention, Status } from "../status-document.ts";
import { codesInOne, refusalsOf, waitingOf } from "./messages.ts";
import { before, deliveriesOf, goingOnOf, ordersOf } from "./orders.ts";
import { orphanedCondition } from "./orphaned.ts";
import { restoredCondition } from "./restored.ts";
import { untakenOf } from "./untaken.ts";
import { configurationsOf, lostWorkersOf, workerConditionsOf } from "./workers.ts";

type Facts = Omit<Status, "attention" | "parts" | "version" | "connectors">;

/**
 * Everything that somebody should know: what is down first, then what needs a person; empty when all is well. What several say is said by the first of
 * them alone: what is true of the service, of a machine that has two daemons, or of a folder that two machines share.
 */
export function listConditions(
  facts: Facts,
  {
    own,
    restored,
    machine,
    limits,
    unread,
  }: Pick<Answers, "own" | "restored" | "machine" | "limits" | "unread">,
): Condition[] {
  const said = new Set<string>();
  const ofWorkers = workerConditionsOf(facts);
  const deliveries = deliveriesOf(facts, [...own, ...ofWorkers.flat()]);
  // What a daemon says of a lab is among what waits for it.
  const away = new Set(deliveries.flatMap(({ part, about }) => (part === "lab" ? [about] : [])));
  const further = (all: readonly Condition[]) =>
    all.filter(({ part, about }) => part !== "lab" || !away.has(about));
  const found = [
    restored ? [restoredCondition(restored)] : [],
    further(own).map((each) => ({ ...each, command: each.command ?? "cryobridge check" })),
    unreadOf(facts, unread),
    ordersOf(facts),
    goingOnOf(facts),
    deliveries,
    orphanedOf(facts),
    waitingOf(facts),
    tasksOf(facts),
    pausesOf(facts),
    placesOf(facts),
    untakenOf(facts),
    limits ?? [],
    machine ?? [],
    lostWorkersOf(facts),
    ...ofWorkers.map(further),
    configurationsOf(facts),
    tanksOf(facts),
    refusalsOf(facts),
  ].flatMap((source) => {
    const keyOf = (each: Condition) => `${alertKey(each)}\n${each.part}`;
    const news = source.filter((each) => !said.has(keyOf(each)));
    for (const each of news) said.add(keyOf(each));
    return news;
  });
  const rank = (each: Condition) =>
    ALERT_LEVELS.indexOf(each.level) - (isBeforeOthers(each) ? ALERT_LEVELS.length : 0);
  return found.sort((one, other) => rank(one) - rank(other));
}

/** Conditions as lines. All codes are in one, since a person adds them together. */
export function listAttention(
  conditions: readonly Condition[],
  { waitingMessages }: Pick<Status, "waitingMessages">,
): Attention[] {
  const lines = Map.groupBy(conditions, (each) => (each.kind === "codesUnmapped" ? each.kind : each));
  return [...lines.values()].flatMap((all) =>
    all.slice(0, 1).map((first) => {
      const { level, text, reason, since, hint, command, who, kind } = first;
      return {
        ...{ level, what: reason === undefined ? text : `${text} (the reason given: ${reason})` },
        ...{ since, hint, command, who: level === "wait" ? null : who, part: partNameOf(first) ?? null },
        ...(kind === "codesUnmapped" ? codesInOne(waitingMessages ?? []) : {}),
        alerts: all
          .filter(isAlerted)
          .map((each) => ({ kind: each.kind, about: each.about, text: each.text })),
      };
    }),
  );
}

/** A ledger that is away altogether is among the reasons already. */
function unreadOf({ isReady, states }: Facts, unread: readonly string[]): Condition[] {
  if (unread.length === 0 || (!isReady && states === null)) return [];
  const text = `the ledger did not answer in time, or at all: ${unread.join(", ")}; more may be wrong than stands here`;
  const hint = "Look at the log, and whether the database is overloaded or something locks its tables.";
  return [condition("ledgerUnread", "", text, { hint })];
}

function orphanedOf({ orphaned }: Facts): Condition[] {
  return (orphaned ?? []).map(orphanedCondition);
}

function tasksOf({ tasks, generatedAt }: Facts): Condition[] {
  if (!tasks || tasks.open === 0) return [];
  const what = `${counted(tasks.open, "task is", "tasks are")} open`;
  return [
    condition("tasksOpen", "", what, {
      since: before(generatedAt, tasks.oldestSeconds),
      hint: "See to it, then write that down with `cryobridge tasks done ID`.",
      command: "cryobridge tasks",
    }),
  ];
}

function pausesOf({ pausedQueues }: Facts): Condition[] {
  return (pausedQueues ?? []).map(({ queue, since, actor, reason }) => {
    const effect = PAUSED[queue] ?? "its work waits";
    const what = `the queue ${queue} was paused by ${actor}: ${effect}`;
    const command = `cryobridge queue resume ${queue}`;
    const brief = { words: `${pausedInWords({ actor, reason })}; ${effect}`, since };
    return condition("queuePaused", queue, what, { since, command, brief, reason: reason ?? undefined });
  });
}

function placesOf({ failingAlertPlaces }: Facts): Condition[] {
  return (failingAlertPlaces ?? []).map(({ place, count, since, failure }) => {
    const text = `${place} does not take ${counted(count, "message")} about alerts: ${failure}`;
    return condition("alertsNotTaken", place, text, {
      ...{ since, command: "cryobridge alerts list" },
      hint: "Correct the place in `alerts.to`; `cryobridge alerts test` shows whether it takes them. They are tried again by themselves.",
    });
  });
}

const PAUSED: Readonly<Record<string, string>> = {
  submit: "orders are taken, and nothing is sent to the service",
  track: "the service isn't asked how orders stand",
  deliver: "the lab gets no results",
};

function tanksOf({ overdueTanks }: Facts): Condition[] {
  return (overdueTanks ?? []).map(({ storage, facilityCode, since }) => {
    const what = `tank ${storage} of ${facilityCode} was not refilled for too long`;
    const more = { since, hint: "Call the facility.", command: "cryobridge refills tanks" };
    return condition("tankOverdue", `${facilityCode} ${storage}`, what, more);
  });
}
