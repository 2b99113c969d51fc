import type { Finding } from "./folder-rules.ts";
import type { Path } from "./problem.ts";
import { at } from "./rules.ts";
import { childOf } from "./schema-at.ts";

/** Statuses below 500 of which nobody can say that nothing was done: time-outs, also those that gateways make up. */
const UNSURE = [408, 444, 460, 499];
/** Meanings that say that nothing was done, after which a call may be sent again or its order be given up. */
const SAYS_NOTHING_DONE = ["refused", "notExecuted", "credentials", "notFound"];

/**
 * Rules under which an order could be doubled or lost: that a call which changes the service had no effect, by an
 * answer that a gateway may give after it has passed the call on. Allowed, since a site may know better.
 */
export function errorRiskFindings(value: unknown): Finding[] {
  return [...ruleRisks(value), ...notExecutedRisks(value)];
}

function ruleRisks(value: unknown): Finding[] {
  const rules = at(value, ["service", "errors"]);
  if (!Array.isArray(rules)) return [];
  return rules.flatMap((rule: unknown, index) => {
    const means = childOf(rule, "means");
    const method = childOf(rule, "method");
    const mayBeWrite = method !== "read" && method !== "GET";
    if (!mayBeWrite || typeof means !== "string" || !SAYS_NOTHING_DONE.includes(means)) return [];
    const status = childOf(rule, "status");
    const listed: unknown[] = Array.isArray(status) ? status : [status];
    // Without a status it is about all of them; an error code then shows that it was the service itself that spoke.
    const isAboutAll = status === undefined && childOf(rule, "code") === undefined;
    if (!isAboutAll && !listed.some(isUnsure)) return [];
    const path: Path = ["service", "errors", index, "means"];
    const message = `"${means}" says that a call which changes the service had no effect, but a gateway may give such an answer after it has passed the call on, and an order could then be doubled or lost; say unknown, or method: read, unless you are sure`;
    return [{ path, message }];
  });
}

function notExecutedRisks(value: unknown): Finding[] {
  const statuses = at(value, ["service", "notExecuted"]);
  if (!Array.isArray(statuses)) return [];
  return statuses.flatMap((status: unknown, index) => {
    if (!isUnsure(status)) return [];
    const message = `a gateway may answer ${String(status)} after it has passed a call on; the service is looked at before the call is repeated, but a list that lags would hide what it did, and the order would be doubled; leave it out unless you are sure`;
    return [{ path: ["service", "notExecuted", index], message }];
  });
}

function isUnsure(status: unknown): boolean {
  // 2xx counts only together with an error code in a body without a record: the service's own word.
  if (typeof status === "number") return status >= 500 || UNSURE.includes(status) || isRedirect(status);
  return status === "5xx";
}

function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}
