import { formatMinute } from "../core/utc-minute.ts";
import type { Opening } from "../service/breaker.ts";

/** Why nothing goes to the service right now, since when, and what becomes of the orders, in words for an operator. */
export function serviceTrouble({ cause, since, text }: Opening): string {
  const when = `since ${formatMinute(since)}`;
  switch (cause) {
    case "SERVICE_CREDENTIALS_REFUSED":
      return `the credentials are refused ${when} (service.auth or its secret): nothing is submitted until they are right, and then orders go on by themselves. Last answer: ${text}`;
    case "SERVICE_TOKEN_UNAVAILABLE":
      return `the token endpoint issues no token ${when}: nothing is submitted until it does, and then orders go on by themselves. Last try: ${text}`;
    default:
      return `the storage service is out of reach ${when}: orders are taken, wait, and go on by themselves. Last try: ${text}`;
  }
}
