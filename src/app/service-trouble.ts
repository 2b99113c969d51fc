import type { Clock } from "../core/clock.ts";
import { formatMinute } from "../core/utc-minute.ts";
import type { ServiceClient } from "../service/client.ts";
import type { Opening } from "../service/http/breaker.ts";

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

/** How long a change in the shape of the service's answers is shown. */
const CHANGE_SHOWN_MS = 86_400_000;

/** The latest change in how the service answers, for a day after it was noticed. */
export function shapeTroubles({ lastChange }: Pick<ServiceClient, "lastChange">, clock: Clock): string[] {
  if (!lastChange || clock.monotonic() - lastChange.atMs >= CHANGE_SHOWN_MS) return [];
  return [`the storage service answers in another shape (see cryobridge check): ${lastChange.text}`];
}
