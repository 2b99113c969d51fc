import { alertKey } from "../core/alert.ts";
import { type Condition, condition, isAlerted } from "../core/condition.ts";
import type { AlertKind } from "../core/condition-kinds.ts";
import { formatMinute } from "../core/duration.ts";
import { FAILURES, type FailureCode, LASTING } from "../core/failures.ts";
import type { UntakenReason } from "../core/untaken-files.ts";
import { whoSeesTo } from "../core/who.ts";
import type { Restored } from "../ledger/restored/restore.ts";
import { counted } from "../operator/text.ts";
import type { Answers } from "./ask.ts";
import { configurationsOf, lostWorkersOf, workerConditionsOf } from "./attention-workers.ts";
import { orphanedCondition } from "./orphaned.ts";
import type { Attention, Status, StatusStillOrders, StatusWaiting } from "./status-document.ts";

type Facts = Omit<Status, "attention" | "parts" | "version">;

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
  const found = [
    restored ? [restoredCondition(restored)] : [],
    own.map((each) => ({ ...each, command: each.command ?? "cryobridge check" })),
    unreadOf(facts, unread),
    ordersOf(facts),
    goingOnOf(facts),
    deliveriesOf(facts),
    orphanedOf(facts),
    waitingOf(facts),
    tasksOf(facts),
    pausesOf(facts),
    placesOf(facts),
    untakenOf(facts),
    limits ?? [],
    machine ?? [],
    lostWorkersOf(facts),
    ...workerConditionsOf(facts),
    configurationsOf(facts),
    tanksOf(facts),
    refusalsOf(facts),
  ].flatMap((source) => {
    const further = source.filter((each) => !said.has(alertKey(each)));
    for (const each of further) said.add(alertKey(each));
    return further;
  });
  const order = ["act", "wait", "look"];
  const rank = ({ level, kind }: Condition) =>
    order.indexOf(level) - (OF_PARTS.has(kind) && level !== "look" ? order.length : 0);
  return found.sort((one, other) => rank(one) - rank(other));
}

/** What is down, or kept from its work, has others wait: it is told before them. */
const OF_PARTS: ReadonlySet<string> = new Set<AlertKind>([
  ...(["ledgerRestored", "serviceUnreachable", "connectorDown", "daemonTrouble"] as const),
  ...(["workerDead", "queuePaused", "diskFilling"] as const),
]);

/** Conditions as lines. All codes are in one, since a person adds them together. */
export function listAttention(
  conditions: readonly Condition[],
  { waitingMessages }: Pick<Status, "waitingMessages">,
): Attention[] {
  const lines = Map.groupBy(conditions, (each) => (each.kind === "codesUnmapped" ? each.kind : each));
  return [...lines.values()].flatMap((all) =>
    all.slice(0, 1).map(({ level, text, reason, since, hint, command, who, kind }) => ({
      ...{ level, what: reason === undefined ? text : `${text} (the reason given: ${reason})` },
      ...{ since, hint, command, who: level === "wait" ? null : who },
      ...(kind === "codesUnmapped" ? codesInOne(waitingMessages ?? []) : {}),
      alerts: all.filter(isAlerted).map((each) => ({ kind: each.kind, about: each.about, text: each.text })),
    })),
  );
}

/** A ledger that is away altogether is among the reasons already. */
function unreadOf({ isReady, states }: Facts, unread: readonly string[]): Condition[] {
  if (unread.length === 0 || (!isReady && states === null)) return [];
  const text = `the ledger did not answer in time, or at all: ${unread.join(", ")}; more may be wrong than stands here`;
  const hint = "Look at the log, and whether the database is overloaded or something locks its tables.";
  return [condition("ledgerUnread", "", text, { hint })];
}

/** How a restored ledger stands, in one sentence. */
export function describeRestored(restored: Restored): string {
  const { at, by, open, uncompared, adopted, parked, free, forgottenSince, watchedUntil } = restored;
  const noticed = `the ledger is an older copy (restored; noticed at ${formatMinute(at)}: ${by})`;
  const found = `${adopted} found there, ${parked} parked, ${free} not there and sent as usual`;
  if (uncompared > 0) {
    const compared = Math.max(0, open - uncompared);
    return `${noticed}; ${compared} of ${open} open orders were compared with the service (${found}), and nothing is submitted until all are`;
  }
  return `${noticed}; open orders were compared with the service (${found}); what came since ${formatMinute(forgottenSince)} may be missing in it, and until ${formatMinute(watchedUntil)} each order is compared with the service before it is sent`;
}

/** What a person does about it. */
const HINT_RESTORED =
  "Have the lab send again what it sent since then: what is here already is recognised. Once nothing is missing, or to stop comparing, `cryobridge orders release-after-restore --reason TEXT`.";

/** That the ledger was restored from an older copy; nothing is submitted while open orders are still to be compared. */
export function restoredCondition(restored: Restored): Condition {
  const isHeld = restored.uncompared > 0;
  return condition("ledgerRestored", "", describeRestored(restored), {
    level: isHeld ? "act" : "look",
    since: restored.at.toISOString(),
    hint: HINT_RESTORED,
    command: isHeld ? "cryobridge orders list --state received,submitting,parked" : null,
  });
}

const PARKED = "cryobridge orders list --state parked";
const HINT_PARKED =
  "`cryobridge orders show ID` says why; fix the cause, then retry, resolve or discard the order.";

/** Parked orders, a line for each reason; one for all while the reasons are not known. */
function ordersOf({ states, stillOrders, generatedAt }: Facts): Condition[] {
  const groups = (stillOrders ?? []).filter(({ kind }) => kind === "parked");
  if (groups.length > 0)
    return groups.map((group) => {
      const { count, orderId, orderIds, since, code, hint, who } = group;
      const what = `${counted(count, "order waits", "orders wait")} for a person${named(orderIds)}: ${meaningOf(code ?? "UNCLASSIFIED")}${behindInWords(group)}`;
      const command = commandForParked(count, orderId, code);
      return condition("ordersParked", code ?? "UNCLASSIFIED", what, {
        ...{ since, command, who, hint: hint ?? HINT_PARKED },
      });
    });
  const parked = states?.find(({ state }) => state === "parked");
  if (!parked || parked.count === 0) return [];
  const what = `${counted(parked.count, "order waits", "orders wait")} for a person`;
  const since = before(generatedAt, parked.oldestSeconds);
  return [condition("ordersParked", "", what, { since, command: PARKED, hint: HINT_PARKED })];
}

/** `; 3 later orders of the same subjects wait for that`; empty where none does. */
export function behindInWords({ behind }: Pick<StatusStillOrders, "behind">): string {
  return behind
    ? `; ${counted(behind, "later order of the same subject waits", "later orders of the same subjects wait")} for that`
    : "";
}

/** What shows the one order that is parked for a reason, or all of them. */
export function commandForParked(count: number, orderId: string, code: string | null): string {
  if (count === 1) return `cryobridge orders show ${orderId}`;
  return code === null ? PARKED : `${PARKED} --failure ${code}`;
}

/** Where there are several: ` (o4, o7)`. */
function named(orderIds: readonly string[]): string {
  return orderIds.length > 1 ? ` (${orderIds.join(", ")})` : "";
}

/** What a code means, in the words that follow a colon: `the subject has no such container (CONTAINER_UNKNOWN)`. */
export function meaningOf(code: string): string {
  const [sentence = ""] = FAILURES[code as FailureCode]?.meaning.split(/\.(?: |$)/) ?? [];
  if (sentence === "") return code;
  const isWord = /^[A-Z]?[a-z ]/.test(sentence);
  return `${isWord ? sentence.charAt(0).toLowerCase() : sentence.charAt(0)}${sentence.slice(1)} (${code})`;
}

/** What passes by itself has passed by then, here or at a lab; after that somebody has to know. */
const LONG_MS = 3_600_000;

/** Orders that go on without a person here, a line for each reason; one that goes on failing for long, or until something is changed, needs a person. */
function goingOnOf({ stillOrders, generatedAt }: Facts): Condition[] {
  return (stillOrders ?? [])
    .filter(({ kind }) => kind !== "parked")
    .map((each) => {
      const isLong =
        each.code !== null &&
        (LASTING.has(each.code) || Date.parse(generatedAt) - Date.parse(each.since) > LONG_MS);
      return { ...goingOn(each), ...(isLong ? { level: "act" as const } : {}) };
    });
}

function goingOn(still: StatusStillOrders): Condition {
  const { kind, count, orderId, orderIds, since, code, text, hint, who } = still;
  const ids = named(orderIds);
  const said = code === null ? "" : `: ${text ?? ""} (${code})`;
  const stalled = (what: string, more: Partial<Condition>) =>
    condition("ordersStalled", code ?? "", what, { level: "wait", since, hint, who, ...more });
  const [itself, them] = count === 1 ? ["itself", "it"] : ["themselves", "them"];
  if (kind === "on_hold") {
    const what = `${counted(count, "order")}${ids} ${count === 1 ? "is" : "are"} on hold by the lab (ORC-1 HD), until the lab releases or cancels ${them}`;
    const command = "cryobridge orders list --state received";
    return condition("ordersOnHold", "", what, { level: "wait", since, command });
  }
  if (kind === "missing") {
    const requests = count === 1 ? "the request of 1 order" : `the requests of ${count} orders`;
    const what = `the service does not know ${requests} any more, or does not let ${count === 1 ? "it" : "them"} be read: ${text ?? ""} (${code})`;
    return stalled(what, { level: "act", command: `cryobridge orders show ${orderId}` });
  }
  if (kind === "reconciling") {
    const what = `no sure answer came to the call for ${counted(count, "order")}${ids}; the service is searched for what the call did before anything is sent again${said}`;
    return stalled(what, { command: "cryobridge orders list --state submitting" });
  }
  if (kind === "waiting") {
    const what = `${counted(count, "order waits", "orders wait")}${ids} at least until the service takes calls again: ${text ?? ""}`;
    return stalled(what, { command: "cryobridge queue" });
  }
  const what = `${counted(count, "order is", "orders are")} tried again by ${itself}${ids}${said}`;
  return stalled(what, { command: "cryobridge queue" });
}

function deliveriesOf({ failingDeliveries, generatedAt }: Facts): Condition[] {
  return (failingDeliveries ?? []).map(({ connector, state, count, deliveryId, since, code, text, hint }) => {
    const isParked = state === "parked";
    const isLong = Date.parse(generatedAt) - Date.parse(since) > LONG_MS;
    const tail = isParked ? "" : "; tried again by itself";
    const what = `the lab doesn't have ${counted(count, "result")} through ${connector}: ${text} (${code})${tail}; later results of the same orders wait`;
    return condition("resultsNotTaken", connector, what, {
      level: isParked || isLong ? "act" : "wait",
      command: count === 1 ? `cryobridge results show ${deliveryId}` : "cryobridge queue",
      ...{ since, hint, who: whoSeesTo(code) },
    });
  });
}

function orphanedOf({ orphaned }: Facts): Condition[] {
  return (orphaned ?? []).map(orphanedCondition);
}

/** Codes of which there are more are counted. */
const MOST_CODES = 8;

/** A condition for each code, and what waits behind those messages and goes on by itself. */
function waitingOf({ waitingMessages }: Facts): Condition[] {
  const byCode = Map.groupBy(waitingMessages ?? [], ({ kind, code }) =>
    kind === "earlier" ? undefined : `${kind} ${code ?? ""}`,
  );
  const behind = byCode.get(undefined) ?? [];
  return [
    ...[...byCode].flatMap(([name, each]) => (name ? [unknownCode(name, each)] : [])),
    ...behind.map(behindOf),
  ];
}

const HINT_CODES = "`cryobridge messages waiting` names the place for each; then `cryobridge reload`.";

function unknownCode(name: string, groups: readonly StatusWaiting[]): Condition {
  const messages = groups.reduce((sum, each) => sum + each.messages, 0);
  const wait = counted(messages, "message waits", "messages wait");
  return condition("codesUnmapped", name, `${wait} for a code that no table knows: ${name}`, {
    since: earliest(groups),
    hint: groups[0]?.hint ?? HINT_CODES,
    command: "cryobridge messages waiting",
  });
}

function codesInOne(waiting: readonly StatusWaiting[]): Pick<Attention, "what" | "since" | "hint"> {
  const groups = waiting.filter(({ kind }) => kind !== "earlier");
  const byCode = [...Map.groupBy(groups, ({ kind, code }) => `${kind} ${code ?? ""}`)];
  const named = byCode.slice(0, MOST_CODES).map(([name, each]) => {
    const counts = each.map(
      ({ connector, messages }) => `${counted(messages, "message")} through ${connector}`,
    );
    return `${name} (${counts.join(", ")})`;
  });
  const more = byCode.length > MOST_CODES ? [`and ${byCode.length - MOST_CODES} more`] : [];
  const [hint, ...others] = new Set(groups.map((each) => each.hint));
  return {
    what: `messages wait for codes that no table knows: ${[...named, ...more].join(", ")}`,
    since: earliest(groups),
    hint: others.length > 0 ? HINT_CODES : (hint ?? HINT_CODES),
  };
}

function behindOf({ connector, code, messages, since }: StatusWaiting): Condition {
  const what = `${counted(messages, "message")} through ${connector} ${messages === 1 ? "waits" : "wait"} for an earlier message of the same subject or order${code === null ? "" : `, which waits until code ${code} is added`}; goes on with it`;
  const command = "cryobridge messages list --verdict waiting";
  return condition("messagesBehind", connector, what, { level: "wait", since, command });
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
    const what = `the queue ${queue} was paused by ${actor}: ${PAUSED[queue] ?? "its work waits"}`;
    const command = `cryobridge queue resume ${queue}`;
    return condition("queuePaused", queue, what, { since, command, reason: reason ?? undefined });
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

/** Dropped files that aren't taken. A name that is never taken may be the file system's own, so somebody should look; the others are files that somebody means. */
export function untakenOf({ untakenFiles }: Pick<Facts, "untakenFiles">): Condition[] {
  return (untakenFiles ?? []).map(({ connector, reason, count, since, marker }) => {
    const { what, hint } = describeUntaken(reason, count, marker ?? "");
    const level = reason === "name" ? "look" : "act";
    const where = `in the drop folder of connector ${connector}, ${what}`;
    return condition("filesUntaken", `${connector} ${reason}`, where, { level, since, hint });
  });
}

function describeUntaken(
  reason: UntakenReason,
  count: number,
  marker: string,
): { readonly what: string; readonly hint: string } {
  const [byStem, byName] = marker.startsWith("{stem}")
    ? [marker, marker.slice(6)]
    : [`{stem}${marker}`, marker];
  const forms = [
    { setting: byName, words: `NAME.EXT${byName} for NAME.EXT` },
    { setting: `"${byStem}"`, words: `NAME${byName} for NAME.EXT` },
  ] as const;
  const [own, other] = marker === byStem ? [forms[1], forms[0]] : forms;
  switch (reason) {
    case "name":
      return {
        what: `${counted(count, "file is", "files are")} never taken by name: a dot at the beginning, or an ending such as .tmp, .part, .partial, .filepart, .upload or ~, means that a file isn't done, and \`files\` of the connector may leave others out`,
        hint: "Have the sender rename each file once it is whole; rename or remove what was left there.",
      };
    case "marker":
      return {
        what: `${counted(count, "file waits for its marker", "files wait for their markers")} (${own.words})`,
        hint: `Have the sender write the marker once a file is whole, or write it yourself. Where it writes ${other.words}, set marker: ${other.setting} for this connector.`,
      };
    case "lone_marker":
      return {
        what: `${counted(count, "marker has", "markers have")} no file (${own.words})`,
        hint: "Ask the sender for the files; remove markers that nobody needs.",
      };
    case "folder":
      return {
        what: `${counted(count, "folder lies", "folders lie")} there, and nothing in ${count === 1 ? "it" : "them"} is taken`,
        hint: "Move the files into the drop folder itself, then remove the folder; have the sender drop them there.",
      };
    case "changing":
      return {
        what: `${counted(count, "file keeps", "files keep")} changing, and can't be taken before it rests`,
        hint: "Look what writes to it; have the sender write elsewhere and rename the finished file into the folder.",
      };
  }
}

function tanksOf({ overdueTanks }: Facts): Condition[] {
  return (overdueTanks ?? []).map(({ storage, facilityCode, since }) => {
    const what = `tank ${storage} of ${facilityCode} was not refilled for too long`;
    const more = { since, hint: "Call the facility.", command: "cryobridge refills tanks" };
    return condition("tankOverdue", `${facilityCode} ${storage}`, what, more);
  });
}

/** Messages of a connector that refuses too many of the last hour's have their line among the limits. */
function refusalsOf({ refusals, limits }: Facts): Condition[] {
  const known = new Set(limits?.flatMap(({ kind, about }) => (kind === "messagesRefused" ? [about] : [])));
  const others = refusals?.filter(({ kind, connector }) => kind === "file" || !known.has(connector));
  return (others ?? []).map(({ kind, connector, count, latestAt }) => {
    const was = `through ${connector} ${count === 1 ? "was" : "were"} refused`;
    const when = `within the last day, the latest at ${formatMinute(new Date(latestAt))}`;
    const isFile = kind === "file";
    const refused = counted(count, isFile ? "file" : "message");
    const command = `cryobridge messages list --verdict refused --connector ${connector} --since 1d`;
    return condition(
      "refusedLately",
      `${connector} ${kind}`,
      `${refused} ${was}${isFile ? " as a whole" : ""} ${when}`,
      {
        level: "look",
        ...(isFile ? { hint: HINT_REFUSED_FILE } : { command }),
      },
    );
  });
}

const HINT_REFUSED_FILE =
  "The folder error has each with its report, which says where and why; have the lab correct them and drop them again.";

/** ISO 8601 in UTC sorts as text. */
function earliest(all: readonly { readonly since: string }[]): string | null {
  return all.map(({ since }) => since).sort()[0] ?? null;
}

function before(generatedAt: string, seconds: number | null): string | null {
  return seconds === null ? null : new Date(Date.parse(generatedAt) - seconds * 1_000).toISOString();
}
