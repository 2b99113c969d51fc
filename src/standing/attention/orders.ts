import { type Condition, condition, PASSES_WITHIN_MS } from "../../core/condition.ts";
import { FAILURES, type FailureCode, LASTING } from "../../core/failures.ts";
import { whoSeesTo } from "../../core/who.ts";
import { saysLabIsAway } from "../../jobs/deliver/lab-breaker.ts";
import { counted } from "../../operator/text.ts";
import type { Status, StatusStillOrders } from "../status-document.ts";

type Facts = Pick<Status, "states" | "stillOrders" | "failingDeliveries" | "generatedAt">;

const PARKED = "cryobridge orders list --state parked";
const HINT_PARKED =
  "`cryobridge orders show ID` says why; fix the cause, then retry, resolve or discard the order.";

/** Parked orders, a line for each reason; one for all while the reasons are not known. */
export function ordersOf({ states, stillOrders, generatedAt }: Facts): Condition[] {
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

/** Orders that go on without a person here, a line for each reason; one that goes on failing for long, or until something is changed, needs a person. */
export function goingOnOf({ stillOrders, generatedAt }: Facts): Condition[] {
  return (stillOrders ?? [])
    .filter(({ kind }) => kind !== "parked")
    .map((each) => {
      const isLong =
        each.code !== null &&
        (LASTING.has(each.code) || Date.parse(generatedAt) - Date.parse(each.since) > PASSES_WITHIN_MS);
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

/**
 * Results that were tried and that the lab doesn't have, a line for each connector and reason. A lab may put one off and take the others:
 * it is away where that failure says so, or the daemon that sends to it.
 *
 * @param said what daemons say
 */
export function deliveriesOf(
  { failingDeliveries, generatedAt }: Facts,
  said: readonly Pick<Condition, "kind" | "about" | "brief">[] = [],
): Condition[] {
  return (failingDeliveries ?? []).map(({ connector, state, count, deliveryId, since, code, text, hint }) => {
    const isParked = state === "parked";
    const away = said.find(({ kind, about }) => kind === "resultsNotTaken" && about === connector);
    const isAway = !isParked && (away !== undefined || saysLabIsAway(code));
    const words = `${counted(count, "result waits", "results wait")}, ${text} (${code})`;
    const isLong = Date.parse(generatedAt) - Date.parse(since) > PASSES_WITHIN_MS;
    const tail = isParked ? "" : "; tried again by itself";
    const what = `the lab doesn't have ${counted(count, "result")} through ${connector}: ${text} (${code})${tail}; later results of the same orders wait`;
    return condition("resultsNotTaken", connector, what, {
      level: isParked || isLong ? "act" : "wait",
      command: count === 1 ? `cryobridge results show ${deliveryId}` : "cryobridge queue",
      ...{ since, hint, who: whoSeesTo(code) },
      ...(isAway && { part: "lab", brief: { since, ...away?.brief, words } }),
    });
  });
}

/** A time that is so many seconds before another one; null where nobody knows. */
export function before(generatedAt: string, seconds: number | null): string | null {
  return seconds === null ? null : new Date(Date.parse(generatedAt) - seconds * 1_000).toISOString();
}
