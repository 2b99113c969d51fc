import type { Answer } from "./answer.ts";
import { readReport } from "./refusal.ts";

/** HTTP methods of calls to the service. */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/**
 * What a site says an error answer means.
 * - `refused`: for good; nothing was done.
 * - `notExecuted`: for now; nothing was done.
 * - `unknown`: it may have been done.
 * - `credentials`: the token or the client was not accepted; nothing was done.
 * - `notFound`: there is no such record; nothing was done.
 */
export type Meaning = "refused" | "notExecuted" | "unknown" | "credentials" | "notFound";

/**
 * A site's own word about error answers, which the specification leaves open (Errors 3 and 4). It is about answers
 * that have everything it names; what it doesn't name may be anything. An answer with status 2xx is meant only by a
 * rule that names a code.
 */
export interface ErrorRule {
  /** Statuses, or classes of them such as `4xx`. */
  readonly status?: readonly (number | string)[] | undefined;
  /** Error codes in the body, as they are written there. */
  readonly code?: readonly string[] | undefined;
  readonly body?: Answer["shape"] | undefined;
  /** `write` is every call that changes the service. */
  readonly method?: "read" | "write" | Method | undefined;
  /** A path as the specification writes it; with `*` at its end, whatever begins so. */
  readonly path?: string | undefined;
  readonly means: Meaning;
}

/** Which call an answer belongs to. */
export interface CallKind {
  readonly method: Method;
  /** The path as the specification writes it, such as `/api/procedures/{id}`. */
  readonly route: string;
  /** Set for the call that creates a request or procedure of this type. */
  readonly creates?: "STORE" | "RETRIEVAL" | undefined;
  /** Set for the configured call that cancels, which has nothing to hand back. */
  readonly cancels?: boolean | undefined;
}

/** The first rule that is about this answer. */
export function findErrorRule(
  rules: readonly ErrorRule[],
  call: CallKind,
  answer: Answer,
): ErrorRule | undefined {
  if (rules.length === 0) return undefined;
  const codes = new Set(readReport(answer).codes);
  const isSuccess = answer.status >= 200 && answer.status < 300;
  return rules.find(
    (rule) =>
      (rule.code === undefined ? !isSuccess : rule.code.some((code) => codes.has(code))) &&
      (rule.status === undefined || rule.status.some((each) => hasStatus(each, answer.status))) &&
      (rule.body === undefined || rule.body === answer.shape) &&
      (rule.method === undefined || isOfMethod(rule.method, call.method)) &&
      (rule.path === undefined || isAtPath(rule.path, call.route)),
  );
}

function hasStatus(wanted: number | string, status: number): boolean {
  return typeof wanted === "number" ? wanted === status : wanted[0] === String(status)[0];
}

function isOfMethod(wanted: NonNullable<ErrorRule["method"]>, method: Method): boolean {
  if (wanted === "read") return method === "GET";
  return wanted === "write" ? method !== "GET" : wanted === method;
}

function isAtPath(path: string, route: string): boolean {
  return path.endsWith("*") ? route.startsWith(path.slice(0, -1)) : route === path;
}
