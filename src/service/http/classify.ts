import { type Backoff, longestBackoffMs } from "../../core/backoff.ts";
import type { FailureCode } from "../../core/failures.ts";
import { type Answer, parseRetryAfter } from "./answer.ts";
import { readReport } from "./refusal.ts";
import type { Method, WireResult } from "./wire.ts";

type Broken = Extract<WireResult, { kind: "broken" }>;

/** What is known of an exchange when it is judged. */
export type Seen = { readonly broken: Broken } | { readonly answer: Answer };

/** What an exchange means: `ok` hands the answer on, anything else is a failure. */
export type AnswerMeaning = "ok" | FailureCode;

/** What a site knows of the service's errors. */
export interface ErrorPolicy {
  /** Statuses that say "nothing was done, come back later". */
  readonly notExecuted: ReadonlySet<number>;
  /** The site's own rules; the first that fits goes before everything here. */
  readonly errors: readonly ErrorRule[];
}

interface Row {
  /** For people and tests: which exchanges the row is about. */
  readonly name: string;
  readonly when: (seen: Seen, policy: ErrorPolicy, call: CallKind) => boolean;
  /** What it means for a call that only reads; absent where the row is about others only. */
  readonly read?: AnswerMeaning;
  /** What it means for a call that changes the service. */
  readonly write: AnswerMeaning;
}

/**
 * 4xx statuses that by RFC 9110 say "refused, nothing was done". Not among them: 408 and unknown ones, which
 * gateways make up for answers that they did not wait for (499, 460).
 */
const REFUSALS = new Set([400, 402, 403, 404, 405, 406, 409, 410, 411, 413, 414, 415, 417, 422, 428, 451]);

const broken = (test: (b: Broken) => boolean) => (seen: Seen) => "broken" in seen && test(seen.broken);
const answered = (test: (a: Answer) => boolean) => (seen: Seen) => "answer" in seen && test(seen.answer);
const isSuccess = (status: number) => status >= 200 && status < 300;

/** The specification's only error code (Errors 1), also where a service writes it in the way of addresses. */
const isValidationError = (code: string) => code.toUpperCase().replaceAll("-", "_") === "VALIDATION_ERROR";

/**
 * The built-in table from what was seen to what it means; the first row that fits decides. The specification leaves
 * statuses and error bodies open (Errors 3 and 4), so the rows lean on RFC 9110, and whatever is not certainly
 * "nothing was done" is ambiguous for a call that changes the service.
 */
export const VERDICTS: readonly Row[] = [
  {
    name: "stopped by us before it was sent",
    when: broken((b) => !b.isSent && b.why === "stopped"),
    read: "SERVICE_STOPPED",
    write: "SERVICE_STOPPED",
  },
  {
    name: "not sent: refused, DNS, connect timeout, TLS",
    when: broken((b) => !b.isSent),
    read: "SERVICE_UNREACHABLE",
    write: "SERVICE_UNREACHABLE",
  },
  {
    name: "stopped by us after it was sent",
    when: broken((b) => b.why === "stopped"),
    read: "SERVICE_STOPPED",
    write: "SERVICE_NO_ANSWER",
  },
  {
    name: "sent, but no whole answer: timeout, reset, cut, too large",
    when: broken(() => true),
    read: "SERVICE_UNAVAILABLE",
    write: "SERVICE_NO_ANSWER",
  },
  {
    name: "JSON with the error code VALIDATION_ERROR, whatever its status, for a retrieval that was to be created",
    when: (seen, _policy, call) =>
      call.creates === "RETRIEVAL" &&
      "answer" in seen &&
      readReport(seen.answer).codes.some(isValidationError),
    write: "CONTAINER_OF_OTHER_SUBJECT",
  },
  {
    name: "2xx with JSON",
    when: answered((a) => isSuccess(a.status) && a.shape === "json"),
    read: "ok",
    write: "ok",
  },
  {
    name: "2xx without a body, for the call that cancels",
    when: (seen, _policy, call) =>
      call.cancels === true &&
      "answer" in seen &&
      isSuccess(seen.answer.status) &&
      seen.answer.shape === "empty",
    write: "ok",
  },
  {
    name: "204 without a body",
    when: answered((a) => a.status === 204),
    read: "ok",
    write: "SERVICE_NO_ANSWER",
  },
  {
    name: "2xx in bytes that are no text",
    when: answered((a) => isSuccess(a.status) && a.unread !== undefined),
    read: "SERVICE_ANSWER_UNREADABLE",
    write: "SERVICE_NO_ANSWER",
  },
  {
    name: "2xx with an empty, cut, HTML or other body",
    when: answered((a) => isSuccess(a.status)),
    read: "SERVICE_UNAVAILABLE",
    write: "SERVICE_NO_ANSWER",
  },
  {
    name: "429, and the statuses of `service.notExecuted`",
    when: (seen, policy) => "answer" in seen && policy.notExecuted.has(seen.answer.status),
    read: "SERVICE_BUSY",
    write: "SERVICE_BUSY",
  },
  {
    name: "401 as an HTML page: some gateway, which may have passed the call on before",
    when: answered((a) => a.status === 401 && a.shape === "html"),
    read: "SERVICE_CREDENTIALS_REFUSED",
    write: "SERVICE_NO_ANSWER",
  },
  {
    name: "401; and 431, since the token is the only header of a call that can be too large",
    when: answered((a) => a.status === 401 || a.status === 431),
    read: "SERVICE_CREDENTIALS_REFUSED",
    write: "SERVICE_CREDENTIALS_REFUSED",
  },
  {
    name: "403 or 404 as an HTML page: a gateway, or a wrong base address",
    when: answered((a) => (a.status === 403 || a.status === 404) && a.shape === "html"),
    read: "SERVICE_UNAVAILABLE",
    write: "SERVICE_NO_ANSWER",
  },
  {
    name: "404 or 410",
    when: answered((a) => a.status === 404 || a.status === 410),
    read: "SERVICE_NOT_FOUND",
    write: "SERVICE_REFUSED",
  },
  {
    name: `another status by which HTTP says that nothing was done: ${[...REFUSALS].join(", ")}`,
    when: answered((a) => REFUSALS.has(a.status)),
    read: "SERVICE_REFUSED",
    write: "SERVICE_REFUSED",
  },
  {
    name: "anything else: 1xx, redirects, 408, unknown 4xx, 5xx",
    when: () => true,
    read: "SERVICE_UNAVAILABLE",
    write: "SERVICE_NO_ANSWER",
  },
];

/** What a site's rule makes of an answer: of one to a read, and of one to a call that changes the service. */
export const MEANINGS: Readonly<
  Record<Meaning, { readonly read: FailureCode; readonly write: FailureCode }>
> = {
  refused: { read: "SERVICE_REFUSED", write: "SERVICE_REFUSED" },
  notExecuted: { read: "SERVICE_BUSY", write: "SERVICE_BUSY" },
  unknown: { read: "SERVICE_UNAVAILABLE", write: "SERVICE_NO_ANSWER" },
  credentials: { read: "SERVICE_CREDENTIALS_REFUSED", write: "SERVICE_CREDENTIALS_REFUSED" },
  notFound: { read: "SERVICE_NOT_FOUND", write: "SERVICE_REFUSED" },
};

/**
 * What an exchange means for a call: by the site's rules, else by the table. A rule can make any answer a failure, and
 * none a success.
 */
export function classify(call: CallKind, seen: Seen, policy: ErrorPolicy): AnswerMeaning {
  const isRead = call.method === "GET";
  const rule = "answer" in seen ? findErrorRule(policy.errors, call, seen.answer) : undefined;
  if (rule) return MEANINGS[rule.means][isRead ? "read" : "write"];
  const row = VERDICTS.find((each) => each.when(seen, policy, call));
  // The last row fits everything, and no row without a verdict for reads fits one.
  return (isRead ? row?.read : row?.write) ?? "UNCLASSIFIED";
}

/**
 * What a site says an error answer means.
 * - `refused`: for good; nothing was done.
 * - `notExecuted`: for now; nothing was done.
 * - `unknown`: it may have been done.
 * - `credentials`: the token or the client was not accepted; nothing was done.
 * - `notFound`: there is no such record; nothing was done.
 */
type Meaning = "refused" | "notExecuted" | "unknown" | "credentials" | "notFound";

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

/** Tries of one read, the first included. */
const MOST_TRIES = 5;
/** Pauses at their longest: 100, 200, 400 and 800 ms. */
const PAUSES: Backoff = { firstMs: 100, maxMs: 800 };

/**
 * Decides whether a read that failed is tried again at once, since a read has no effect: only after what passes by itself
 * (no connection, a reset, a cut answer, a 5xx, "too many requests"). The service's `Retry-After` is respected; one that asks
 * for a longer pause than `longestPauseMs` is asked again by the caller's own schedule.
 *
 * @param tries tries so far, from 1
 * @param random a number in [0, 1)
 * @returns the pause before the next try in ms; undefined when the failure is final
 */
export function readPauseMs(
  seen: Seen,
  verdict: AnswerMeaning,
  step: {
    readonly tries: number;
    readonly nowMs: number;
    readonly random: number;
    readonly longestPauseMs: number;
  },
): number | undefined {
  if (step.tries >= MOST_TRIES || !isPassing(seen, verdict)) return undefined;
  const askedMs = "answer" in seen ? parseRetryAfter(seen.answer.headers, step.nowMs) : undefined;
  if (askedMs !== undefined && askedMs > step.longestPauseMs) return undefined;
  const longestMs = longestBackoffMs(step.tries, PAUSES);
  return Math.ceil((askedMs ?? 0) + longestMs * (0.5 + step.random / 2));
}

function isPassing(seen: Seen, verdict: AnswerMeaning): boolean {
  if (verdict === "SERVICE_BUSY" || verdict === "SERVICE_UNREACHABLE") return true;
  if (verdict !== "SERVICE_UNAVAILABLE") return false;
  if ("broken" in seen) return seen.broken.why !== "too_large";
  const { status, shape } = seen.answer;
  // A redirect, or a form that we don't read, comes again.
  if (status >= 300 && status < 400) return false;
  return status >= 500 || status === 408 || shape === "html" || (status < 300 && shape !== "empty");
}
