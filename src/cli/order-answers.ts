import { FAILURES, type FailureCode } from "../core/failures.ts";
import type { KeptOrderAnswer } from "../ledger/answers.ts";
import { clean } from "./clean.ts";
import { localTime } from "./times.ts";

/** An answer of the service as JSON. Its body is masked, so nobody needs a right to see it. */
export function answerJson(answer: KeptOrderAnswer) {
  return {
    firstAt: answer.firstAt.toISOString(),
    lastAt: answer.lastAt.toISOString(),
    times: answer.times,
    method: answer.method,
    route: answer.route,
    status: answer.status,
    shape: answer.shape,
    contentType: answer.contentType ?? null,
    errorCode: answer.errorCode ?? null,
    takenAs: answer.failureCode,
    takenAsClass: FAILURES[answer.failureCode as FailureCode]?.class ?? null,
    body: answer.body ?? null,
  };
}

/** An answer of the service for people: what it was, what it was taken to mean, and its masked body. */
export function answerLines(answer: KeptOrderAnswer): string[] {
  const { method, route, status, contentType, errorCode, failureCode, times } = answer;
  const what = [`status ${status}`, errorCode, contentType].filter(Boolean).join(", ");
  const often = times > 1 ? `, ${times} times, last at ${localTime(answer.lastAt)}` : "";
  const body = answer.body ?? (answer.shape === "empty" ? "(no body)" : "(a body that can't be read)");
  return [
    `${localTime(answer.firstAt)}  ${method} ${route}: ${clean(what)}; taken as ${failureCode}${often}`,
    ...body.split("\n").map((line) => `  ${clean(line)}`),
  ];
}
