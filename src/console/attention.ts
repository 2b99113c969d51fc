import { FAILURES, type FailureCode } from "../core/failures.ts";
import type { UntakenReason } from "../core/untaken-files.ts";
import { formatMinute } from "../core/utc-minute.ts";
import type { Restored } from "../ledger/restored/restore.ts";
import type { Attention, Status, StatusStillOrders, StatusWaiting } from "./status-document.ts";

type Facts = Omit<Status, "attention">;

/**
 * Everything in a status document that somebody should know, what needs a person first; empty when all is well.
 *
 * @param unread what the ledger did not answer, in words
 */
export function listAttention(status: Facts, unread: readonly string[]): Attention[] {
  const found = [
    ...restoredOf(status),
    ...status.reasons
      .filter((what) => what !== status.restored?.text)
      .map((what) => item("act", what, { hint: hintOf(what), command: "cryobridge check" })),
    ...unreadOf(status, unread),
    ...ordersOf(status),
    ...goingOnOf(status),
    ...deliveriesOf(status),
    ...orphanedOf(status),
    ...waitingOf(status),
    ...tasksOf(status),
    ...pausesOf(status),
    ...untakenOf(status),
    ...workersOf(status),
    ...tanksOf(status),
    ...refusalsOf(status),
  ];
  const order = ["act", "wait", "look"];
  return found.sort((a, b) => order.indexOf(a.level) - order.indexOf(b.level));
}

function item(
  level: Attention["level"],
  what: string,
  more: Partial<Omit<Attention, "level" | "what">> = {},
): Attention {
  return { level, what, since: null, hint: null, command: null, ...more };
}

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
  const { at, by, open, uncompared, forgottenSince, watchedUntil } = restored;
  const noticed = `the ledger is an older copy (restored; noticed at ${formatMinute(at)}: ${by})`;
  if (uncompared > 0) {
    const compared = Math.max(0, open - uncompared);
    return `${noticed}; ${compared} of ${open} open orders were compared with the service, and nothing is submitted until all are`;
  }
  return `${noticed}; what came since ${formatMinute(forgottenSince)} may be missing in it, and until ${formatMinute(watchedUntil)} each order is compared with the service before it is sent`;
}

/** What a person does about it. */
const HINT_RESTORED =
  "Have the lab send again what it sent since then: what is here already is recognised. Once nothing is missing, or to stop comparing, `cryobridge orders release-after-restore --reason TEXT`.";

function restoredOf({ restored }: Facts): Attention[] {
  if (!restored) return [];
  const isHeld = restored.uncomparedOrders > 0;
  return [
    item(isHeld ? "act" : "look", restored.text, {
      since: restored.noticedAt,
      hint: HINT_RESTORED,
      command: isHeld ? "cryobridge orders list --state received,queued,submitting,parked" : null,
    }),
  ];
}

/** Parked orders in one line, by reason. */
function ordersOf({ states, stillOrders, stuckOrders, generatedAt }: Facts): Attention[] {
  const parked = states?.find(({ state }) => state === "parked");
  if (!parked || parked.count === 0) return [];
  const groups = (stillOrders ?? []).filter(({ kind }) => kind === "parked");
  const codes =
    groups.length > 0
      ? groups.map(({ code, count }) => `${count} ${code ?? "UNCLASSIFIED"}`)
      : // The list has the longest waiting ones only.
        [...new Set((stuckOrders ?? []).map(({ reason }) => reason?.code ?? "UNCLASSIFIED"))];
  const what = `${many(parked.count, "order waits", "orders wait")} for a person`;
  const [only, ...others] = groups;
  const why =
    "`cryobridge orders show ID` says why; fix the cause, then retry, resolve or discard the order.";
  return [
    item("act", codes.length === 0 ? what : `${what}: ${codes.join(", ")}`, {
      since: before(generatedAt, parked.oldestSeconds),
      hint: (others.length === 0 && only?.hint) || why,
      command: "cryobridge orders list --state parked",
    }),
  ];
}

/** Orders that go on without a person here, a line for each reason. */
function goingOnOf({ stillOrders }: Facts): Attention[] {
  return (stillOrders ?? []).filter(({ kind }) => kind !== "parked").map(goingOn);
}

function goingOn({ kind, count, since, code, text, hint }: StatusStillOrders): Attention {
  const said = code === null ? "" : `: ${text ?? ""} (${code})`;
  const [itself, them] = count === 1 ? ["itself", "it"] : ["themselves", "them"];
  if (kind === "on_hold") {
    const what = `${many(count, "order is", "orders are")} on hold by the lab (ORC-1 HD), until the lab releases or cancels ${them}`;
    return item("wait", what, { since, command: "cryobridge orders list --state received" });
  }
  if (kind === "reconciling") {
    const what = `no sure answer came to the call for ${many(count, "order", "orders")}; the service is searched for what the call did before anything is sent again${said}`;
    return item("wait", what, { since, command: "cryobridge orders list --state submitting" });
  }
  const what = `${many(count, "order is", "orders are")} tried again by ${itself}${said}`;
  return item("wait", what, { since, hint, command: "cryobridge queue" });
}

/** A lab system is back from a restart sooner; after that somebody over there has to know. */
const LAB_AWAY_MS = 3_600_000;

function deliveriesOf({ failingDeliveries, generatedAt }: Facts): Attention[] {
  return (failingDeliveries ?? []).map(({ connector, state, count, since, code, text, hint }) => {
    const isParked = state === "parked";
    const isLong = Date.parse(generatedAt) - Date.parse(since) > LAB_AWAY_MS;
    const tail = isParked ? "" : "; tried again by itself";
    return item(
      isParked || isLong ? "act" : "wait",
      `the lab doesn't have ${many(count, "result", "results")} through ${connector}: ${text} (${code})${tail}; later results of the same orders wait`,
      { since, hint, command: "cryobridge queue" },
    );
  });
}

function orphanedOf({ orphaned }: Facts): Attention[] {
  return (orphaned ?? []).map(({ text, since, hint }) =>
    item("act", text, { since, hint, command: "cryobridge queue" }),
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
  const several = "`cryobridge messages waiting` names the place for each; then restart the daemon.";
  const [hint] = hints.size === 1 ? hints : [several];
  return [
    item("act", `messages wait for codes that no table knows: ${[...named, ...more].join(", ")}`, {
      since: earliest(groups.map(({ since }) => since)),
      hint: hint ?? several,
      command: "cryobridge messages waiting",
    }),
  ];
}

function behindOf({ connector, code, messages, since }: StatusWaiting): Attention {
  const what = `${many(messages, "message", "messages")} through ${connector} ${messages === 1 ? "waits" : "wait"} for an earlier message of the same subject or order${code === null ? "" : `, which waits until code ${code} is added`}; goes on with it`;
  return item("wait", what, { since, command: "cryobridge messages list --verdict waiting" });
}

function tasksOf({ tasks, generatedAt }: Facts): Attention[] {
  if (!tasks || tasks.open === 0) return [];
  return [
    item("act", `${many(tasks.open, "task is", "tasks are")} open`, {
      since: before(generatedAt, tasks.oldestSeconds),
      hint: "See to it, then write that down with `cryobridge tasks done ID`.",
      command: "cryobridge tasks",
    }),
  ];
}

function pausesOf({ pausedQueues }: Facts): Attention[] {
  return (pausedQueues ?? []).map(({ queue, since, actor }) =>
    item("act", `the queue ${queue} was paused by ${actor}: ${PAUSED[queue] ?? "its work waits"}`, {
      since,
      command: `cryobridge queue resume ${queue}`,
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
    return item(level, `in the drop folder of connector ${connector}, ${what}`, { since, hint });
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
        what: `${many(count, "file is", "files are")} never taken by name: a dot at the beginning, or .tmp, .part, .filepart, .crdownload or ~ at the end, means that a file isn't done`,
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

/** A machine that came back under its name is nothing that somebody has to know. */
function workersOf({ workers }: Facts): Attention[] {
  const there = new Set((workers ?? []).filter(({ state }) => state !== "lost").map(({ name }) => name));
  const lost = (workers ?? []).filter(({ state, name }) => state === "lost" && !there.has(name));
  return lost.map(({ id, name, host, seenAt }) =>
    item("look", `daemon ${name} (${id}) on ${host} is gone; others took its work over`, {
      since: seenAt,
      hint: "Start it again, or take its machine out of service.",
      command: "cryobridge workers",
    }),
  );
}

function tanksOf({ overdueTanks }: Facts): Attention[] {
  return (overdueTanks ?? []).map(({ storage, facilityCode, since }) =>
    item("act", `tank ${storage} of ${facilityCode} was not refilled for too long`, {
      since,
      hint: "Call the facility.",
      command: "cryobridge refills tanks",
    }),
  );
}

function refusalsOf({ refusals }: Facts): Attention[] {
  return (refusals ?? []).map(({ kind, connector, count, latestAt }) => {
    const was = `through ${connector} ${count === 1 ? "was" : "were"} refused`;
    const when = `within the last day, the latest at ${formatMinute(new Date(latestAt))}`;
    return kind === "file"
      ? item("look", `${many(count, "file", "files")} ${was} as a whole ${when}`, {
          hint: "The folder error has each with its report, which says where and why; have the lab correct them and drop them again.",
        })
      : item("look", `${many(count, "message", "messages")} ${was} ${when}`, {
          hint: "Have the lab correct what it sends, or correct the profile and use `cryobridge messages replay ID`.",
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
