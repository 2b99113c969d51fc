import { type AlertKind, type Trouble, trouble } from "../core/alert.ts";
import { formatMinute } from "../core/duration.ts";
import { FAILURES, type FailureCode, LASTING } from "../core/failures.ts";
import type { UntakenReason } from "../core/untaken-files.ts";
import type { Restored } from "../ledger/restored/restore.ts";
import { alert, item } from "./attention-item.ts";
import { configurationsOf, lostWorkersOf, workerTroublesOf } from "./attention-workers.ts";
import type { Attention, Status, StatusStillOrders, StatusWaiting } from "./status-document.ts";

type Facts = Omit<Status, "attention" | "parts" | "version">;

/**
 * Everything in a status document that somebody should know, what needs a person first; empty when all is well.
 *
 * @param unread what the ledger did not answer, in words
 * @param subjectByReason what each of the status's reasons is about, where that is known
 */
export function listAttention(
  status: Facts,
  unread: readonly string[],
  subjectByReason: ReadonlyMap<string, Trouble> = new Map(),
): Attention[] {
  const untaken = untakenOf(status);
  const known = [
    ...subjectByReason.values(),
    ...untaken.flatMap(({ alerts }) => alerts),
    ...(status.limits ?? []),
  ];
  const found = [
    ...restoredOf(status),
    ...status.reasons
      .filter((what) => what !== status.restored?.text)
      .map((what) => {
        const found = subjectByReason.get(what) ?? trouble("daemonTrouble", "", what);
        const more = { hint: hintOf(what), command: "cryobridge check" };
        return item(found.level ?? "act", what, {
          ...more,
          ...alert(found.kind, found.about, what),
        });
      }),
    ...unreadOf(status, unread),
    ...ordersOf(status),
    ...goingOnOf(status),
    ...deliveriesOf(status),
    ...orphanedOf(status),
    ...waitingOf(status),
    ...tasksOf(status),
    ...pausesOf(status),
    ...placesOf(status),
    ...untaken,
    ...lostWorkersOf(status),
    ...workerTroublesOf(status, known),
    ...configurationsOf(status),
    ...tanksOf(status),
    ...limitsOf(status),
    ...refusalsOf(status),
  ];
  const order = ["act", "wait", "look"];
  const rank = ({ level, alerts }: Attention) =>
    order.indexOf(level) * 2 + (alerts.some(({ kind }) => OF_PARTS.has(kind)) ? 0 : 1);
  return found.sort((one, other) => rank(one) - rank(other));
}

/** What is down, or kept from its work, has others wait: it is told before them. */
const OF_PARTS: ReadonlySet<AlertKind> = new Set<AlertKind>([
  ...(["ledgerRestored", "serviceUnreachable", "connectorDown", "daemonTrouble"] as const),
  ...(["workerDead", "queuePaused", "diskFilling"] as const),
]);

/** A ledger that is away altogether is among the reasons already. */
function unreadOf({ isReady, states }: Facts, unread: readonly string[]): Attention[] {
  if (unread.length === 0 || (!isReady && states === null)) return [];
  return [
    item(
      "act",
      `the ledger did not answer in time, or at all: ${unread.join(", ")}; more may be wrong than stands here`,
      {
        hint: "Look at the log, and whether the database is overloaded or something locks its tables.",
      },
    ),
  ];
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

function restoredOf({ restored }: Facts): Attention[] {
  if (!restored) return [];
  const isHeld = restored.uncomparedOrders > 0;
  return [
    item(isHeld ? "act" : "look", restored.text, {
      ...alert("ledgerRestored", "", restored.text),
      since: restored.noticedAt,
      hint: HINT_RESTORED,
      command: isHeld ? "cryobridge orders list --state received,submitting,parked" : null,
    }),
  ];
}

const PARKED = "cryobridge orders list --state parked";
const HINT_PARKED =
  "`cryobridge orders show ID` says why; fix the cause, then retry, resolve or discard the order.";

/** Parked orders, a line for each reason; one for all while the reasons are not known. */
function ordersOf({ states, stillOrders, generatedAt }: Facts): Attention[] {
  const groups = (stillOrders ?? []).filter(({ kind }) => kind === "parked");
  if (groups.length > 0)
    return groups.map(({ count, orderId, orderIds, since, code, hint }) => {
      const what = `${many(count, "order waits", "orders wait")} for a person${named(orderIds)}: ${meaningOf(code ?? "UNCLASSIFIED")}`;
      const command = commandForParked(count, orderId, code);
      const own = alert("ordersParked", code ?? "UNCLASSIFIED", what);
      return item("act", what, { since, command, hint: hint ?? HINT_PARKED, ...own });
    });
  const parked = states?.find(({ state }) => state === "parked");
  if (!parked || parked.count === 0) return [];
  const what = `${many(parked.count, "order waits", "orders wait")} for a person`;
  const since = before(generatedAt, parked.oldestSeconds);
  const more = { since, command: PARKED, hint: HINT_PARKED };
  return [item("act", what, more)];
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
function goingOnOf({ stillOrders, generatedAt }: Facts): Attention[] {
  return (stillOrders ?? [])
    .filter(({ kind }) => kind !== "parked")
    .map((each) => {
      const isLong =
        each.code !== null &&
        (LASTING.has(each.code) || Date.parse(generatedAt) - Date.parse(each.since) > LONG_MS);
      return { ...goingOn(each), ...(isLong ? { level: "act" as const } : {}) };
    });
}

function goingOn(still: StatusStillOrders): Attention {
  const { kind, count, orderId, orderIds, since, code, text, hint } = still;
  const ids = named(orderIds);
  const said = code === null ? "" : `: ${text ?? ""} (${code})`;
  const [itself, them] = count === 1 ? ["itself", "it"] : ["themselves", "them"];
  if (kind === "on_hold") {
    const what = `${many(count, "order", "orders")}${ids} ${count === 1 ? "is" : "are"} on hold by the lab (ORC-1 HD), until the lab releases or cancels ${them}`;
    return item("wait", what, { since, command: "cryobridge orders list --state received" });
  }
  if (kind === "missing") {
    const requests = count === 1 ? "the request of 1 order" : `the requests of ${count} orders`;
    const what = `the service does not know ${requests} any more, or does not let ${count === 1 ? "it" : "them"} be read: ${text ?? ""} (${code})`;
    return item("act", what, {
      ...{ since, hint, command: `cryobridge orders show ${orderId}` },
      ...alert("ordersStalled", code ?? "", what),
    });
  }
  if (kind === "reconciling") {
    const what = `no sure answer came to the call for ${many(count, "order", "orders")}${ids}; the service is searched for what the call did before anything is sent again${said}`;
    return item("wait", what, {
      ...{ since, hint, command: "cryobridge orders list --state submitting" },
      ...alert("ordersStalled", code ?? "", what),
    });
  }
  const what = `${many(count, "order is", "orders are")} tried again by ${itself}${ids}${said}`;
  return item("wait", what, {
    ...{ since, hint, command: "cryobridge queue" },
    ...alert("ordersStalled", code ?? "", what),
  });
}

function deliveriesOf({ failingDeliveries, generatedAt }: Facts): Attention[] {
  return (failingDeliveries ?? []).map(({ connector, state, count, deliveryId, since, code, text, hint }) => {
    const isParked = state === "parked";
    const isLong = Date.parse(generatedAt) - Date.parse(since) > LONG_MS;
    const tail = isParked ? "" : "; tried again by itself";
    const what = `the lab doesn't have ${many(count, "result", "results")} through ${connector}: ${text} (${code})${tail}; later results of the same orders wait`;
    return item(isParked || isLong ? "act" : "wait", what, {
      ...{ since, hint, command: count === 1 ? `cryobridge results show ${deliveryId}` : "cryobridge queue" },
      ...alert("resultsNotTaken", connector, what),
    });
  });
}

function orphanedOf({ orphaned }: Facts): Attention[] {
  return (orphaned ?? []).map(({ connector, text, since, hint }) =>
    item("act", text, {
      ...{ since, hint, command: "cryobridge queue" },
      ...alert("connectorOrphaned", connector, text),
    }),
  );
}

/** Codes of which there are more are counted. */
const MOST_CODES = 8;

/** All codes in one line, since a person adds them together; and what waits behind those messages and goes on by itself. */
function waitingOf({ waitingMessages }: Facts): Attention[] {
  const [earlier, unknown] = partition(waitingMessages ?? [], ({ kind }) => kind === "earlier");
  return [...unknownCodesOf(unknown), ...earlier.map(behindOf)];
}

function unknownCodesOf(groups: readonly StatusWaiting[]): Attention[] {
  const [first] = groups;
  if (first === undefined) return [];
  const byCode = [...Map.groupBy(groups, ({ kind, code }) => `${kind} ${code ?? ""}`)];
  const named = byCode.slice(0, MOST_CODES).map(([name, each]) => {
    const counts = each.map(
      ({ connector, messages }) => `${many(messages, "message", "messages")} through ${connector}`,
    );
    return `${name} (${counts.join(", ")})`;
  });
  const more = byCode.length > MOST_CODES ? [`and ${byCode.length - MOST_CODES} more`] : [];
  const hints = new Set(groups.map(({ hint }) => hint));
  const several = "`cryobridge messages waiting` names the place for each; then `cryobridge reload`.";
  const [hint] = hints.size === 1 ? hints : [several];
  return [
    item("act", `messages wait for codes that no table knows: ${[...named, ...more].join(", ")}`, {
      since: earliest(groups.map(({ since }) => since)),
      hint: hint ?? several,
      command: "cryobridge messages waiting",
      alerts: byCode.map(([name, each]) => {
        const messages = each.reduce((sum, { messages }) => sum + messages, 0);
        const wait = many(messages, "message waits", "messages wait");
        return {
          kind: "codesUnmapped",
          about: name,
          text: `${wait} for a code that no table knows: ${name}`,
        };
      }),
    }),
  ];
}

function behindOf({ connector, code, messages, since }: StatusWaiting): Attention {
  const what = `${many(messages, "message", "messages")} through ${connector} ${messages === 1 ? "waits" : "wait"} for an earlier message of the same subject or order${code === null ? "" : `, which waits until code ${code} is added`}; goes on with it`;
  return item("wait", what, { since, command: "cryobridge messages list --verdict waiting" });
}

function tasksOf({ tasks, generatedAt }: Facts): Attention[] {
  if (!tasks || tasks.open === 0) return [];
  const what = `${many(tasks.open, "task is", "tasks are")} open`;
  return [
    item("act", what, {
      ...alert("tasksOpen", "", what),
      since: before(generatedAt, tasks.oldestSeconds),
      hint: "See to it, then write that down with `cryobridge tasks done ID`.",
      command: "cryobridge tasks",
    }),
  ];
}

function pausesOf({ pausedQueues }: Facts): Attention[] {
  return (pausedQueues ?? []).map(({ queue, since, actor }) => {
    const what = `the queue ${queue} was paused by ${actor}: ${PAUSED[queue] ?? "its work waits"}`;
    const command = `cryobridge queue resume ${queue}`;
    return item("act", what, { since, command, ...alert("queuePaused", queue, what) });
  });
}

/** No alert of its own: it would go to the place that fails. */
function placesOf({ failingAlertPlaces }: Facts): Attention[] {
  return (failingAlertPlaces ?? []).map(({ place, count, since, failure }) =>
    item("act", `${place} does not take ${many(count, "message", "messages")} about alerts: ${failure}`, {
      ...{ since, command: "cryobridge alerts list" },
      hint: "Correct the place in `alerts.to`; `cryobridge alerts test` shows whether it takes them. They are tried again by themselves.",
    }),
  );
}

const PAUSED: Readonly<Record<string, string>> = {
  submit: "orders are taken, and nothing is sent to the service",
  track: "the service isn't asked how orders stand",
  deliver: "the lab gets no results",
};

/** Dropped files that aren't taken. A name that is never taken may be the file system's own, so somebody should look; the others are files that somebody means. */
export function untakenOf({ untakenFiles }: Pick<Facts, "untakenFiles">): Attention[] {
  return (untakenFiles ?? []).map(({ connector, reason, count, since, marker }) => {
    const { what, hint } = describeUntaken(reason, count, marker ?? "");
    const level = reason === "name" ? "look" : "act";
    const where = `in the drop folder of connector ${connector}, ${what}`;
    const own = alert("filesUntaken", `${connector} ${reason}`, where);
    return item(level, where, { since, hint, ...own });
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
        what: `${many(count, "file is", "files are")} never taken by name: a dot at the beginning, or an ending such as .tmp, .part, .partial, .filepart, .upload or ~, means that a file isn't done, and \`files\` of the connector may leave others out`,
        hint: "Have the sender rename each file once it is whole; rename or remove what was left there.",
      };
    case "marker":
      return {
        what: `${many(count, "file waits for its marker", "files wait for their markers")} (${own.words})`,
        hint: `Have the sender write the marker once a file is whole, or write it yourself. Where it writes ${other.words}, set marker: ${other.setting} for this connector.`,
      };
    case "lone_marker":
      return {
        what: `${many(count, "marker has", "markers have")} no file (${own.words})`,
        hint: "Ask the sender for the files; remove markers that nobody needs.",
      };
    case "folder":
      return {
        what: `${many(count, "folder lies", "folders lie")} there, and nothing in ${count === 1 ? "it" : "them"} is taken`,
        hint: "Move the files into the drop folder itself, then remove the folder; have the sender drop them there.",
      };
    case "changing":
      return {
        what: `${many(count, "file keeps", "files keep")} changing, and can't be taken before it rests`,
        hint: "Look what writes to it; have the sender write elsewhere and rename the finished file into the folder.",
      };
  }
}

function tanksOf({ overdueTanks }: Facts): Attention[] {
  return (overdueTanks ?? []).map(({ storage, facilityCode, since }) => {
    const what = `tank ${storage} of ${facilityCode} was not refilled for too long`;
    const more = { since, hint: "Call the facility.", command: "cryobridge refills tanks" };
    return item("act", what, { ...more, ...alert("tankOverdue", `${facilityCode} ${storage}`, what) });
  });
}

function limitsOf({ limits }: Facts): Attention[] {
  return (limits ?? []).map(({ kind, about, text, since, command }) => {
    const more = { since, command, hint: LIMIT_HINTS[kind] ?? null };
    return item(kind === "messagesRefused" ? "look" : "act", text, { ...more, ...alert(kind, about, text) });
  });
}

const HINT_REFUSED =
  "Have the lab correct what it sends, or correct the profile, `cryobridge reload`, then `cryobridge messages replay ID`.";

const LIMIT_HINTS: Readonly<Partial<Record<AlertKind, string>>> = {
  messagesRefused: HINT_REFUSED,
  noTraffic: "Look whether the lab system sends, and whether it reaches this machine.",
  diskFilling: "Free space on it, or move the folder: nothing is taken while the disk is full.",
  certificateExpiring:
    "Put a new certificate in its place, then restart the daemon; one of another machine is for whoever runs that.",
  backupOld:
    "Make one: `cryobridge backup FILE`; `systemctl status cryobridge-backup` says why the nightly one fails. Where the ledger is backed up by other means, set alerts.rules.backupOld.on to false.",
  secretExpiring: "Renew it, then write the new end under alerts.expiries.",
};

/** Messages of a connector that refuses too many of the last hour's have their line among the limits. */
function refusalsOf({ refusals, limits }: Facts): Attention[] {
  const known = new Set(limits?.flatMap(({ kind, about }) => (kind === "messagesRefused" ? [about] : [])));
  const others = refusals?.filter(({ kind, connector }) => kind === "file" || !known.has(connector));
  return (others ?? []).map(({ kind, connector, count, latestAt }) => {
    const was = `through ${connector} ${count === 1 ? "was" : "were"} refused`;
    const when = `within the last day, the latest at ${formatMinute(new Date(latestAt))}`;
    return kind === "file"
      ? item("look", `${many(count, "file", "files")} ${was} as a whole ${when}`, {
          hint: "The folder error has each with its report, which says where and why; have the lab correct them and drop them again.",
        })
      : item("look", `${many(count, "message", "messages")} ${was} ${when}`, {
          hint: HINT_REFUSED,
          command: `cryobridge messages list --verdict refused --connector ${connector} --since 1d`,
        });
  });
}

/** The hint of the failure whose code ends a sentence, as in `… (LEDGER_UNAVAILABLE)`. */
function hintOf(sentence: string): string | null {
  const code = /[([]([A-Z]+_[A-Z_]+)[)\]]$/.exec(sentence)?.[1];
  return FAILURES[code as FailureCode]?.hint ?? null;
}

function partition<T>(all: readonly T[], isFirst: (each: T) => boolean): [T[], T[]] {
  return [all.filter(isFirst), all.filter((each) => !isFirst(each))];
}

/** ISO 8601 in UTC sorts as text. */
function earliest(times: readonly string[]): string | null {
  return [...times].sort()[0] ?? null;
}

function many(count: number, one: string, several: string): string {
  return `${count} ${count === 1 ? one : several}`;
}

function before(generatedAt: string, seconds: number | null): string | null {
  return seconds === null ? null : new Date(Date.parse(generatedAt) - seconds * 1_000).toISOString();
}
