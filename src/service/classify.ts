import type { FailureCode } from "../core/failures.ts";
import type { Answer } from "./answer.ts";
import type { WireResult } from "./wire.ts";

type Broken = Extract<WireResult, { kind: "broken" }>;

/** What is known of an exchange when it is judged. */
export type Seen = { readonly broken: Broken } | { readonly answer: Answer };

/** What an exchange means: `ok` hands the answer on, anything else is a failure. */
export type Verdict = "ok" | FailureCode;

interface Row {
  /** For people and tests: which exchanges the row is about. */
  readonly name: string;
  readonly when: (seen: Seen, notExecuted: ReadonlySet<number>) => boolean;
  /** What it means for a call that only reads. */
  readonly read: Verdict;
  /** What it means for a call that changes the service. */
  readonly write: Verdict;
}

/**
 * 4xx statuses that by RFC 9110 say "refused, nothing was done". Not among them: 408 and unknown ones, which
 * gateways make up for answers that they did not wait for (499, 460).
 */
const REFUSALS = new Set([
  400, 402, 403, 404, 405, 406, 409, 410, 411, 413, 414, 415, 417, 422, 428, 431, 451,
]);

const broken = (test: (b: Broken) => boolean) => (seen: Seen) => "broken" in seen && test(seen.broken);
const answered = (test: (a: Answer) => boolean) => (seen: Seen) => "answer" in seen && test(seen.answer);
const isSuccess = (status: number) => status >= 200 && status < 300;

/**
 * The one table from what was seen to what it means; the first row that fits decides. The specification leaves
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
    name: "2xx with JSON",
    when: answered((a) => isSuccess(a.status) && a.shape === "json"),
    read: "ok",
    write: "ok",
  },
  {
    name: "204 without a body",
    when: answered((a) => a.status === 204),
    read: "ok",
    write: "SERVICE_NO_ANSWER",
  },
  {
    name: "2xx with an empty, cut, HTML or other body",
    when: answered((a) => isSuccess(a.status)),
    read: "SERVICE_UNAVAILABLE",
    write: "SERVICE_NO_ANSWER",
  },
  {
    name: "429, and statuses the site knows to mean that nothing was done",
    when: (seen, notExecuted) => "answer" in seen && notExecuted.has(seen.answer.status),
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
    name: "401",
    when: answered((a) => a.status === 401),
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
    name: "404",
    when: answered((a) => a.status === 404 || a.status === 410),
    read: "SERVICE_NOT_FOUND",
    write: "SERVICE_REFUSED",
  },
  {
    name: "refused",
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

/** What an exchange means for a call of that method. */
export function classify(method: "GET" | "POST", seen: Seen, notExecuted: ReadonlySet<number>): Verdict {
  const row = VERDICTS.find((each) => each.when(seen, notExecuted));
  // The last row fits everything.
  if (!row) return "UNCLASSIFIED";
  return method === "GET" ? row.read : row.write;
}
