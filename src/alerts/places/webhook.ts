import { createHmac } from "node:crypto";
import { basicCredentials } from "../../core/basic-credentials.ts";
import type { Clock } from "../../core/clock.ts";
import { type AlertPlace, type Hidden, whyAborted } from "./place.ts";

interface WebhookSettings {
  readonly name: string;
  /** May hold a credential, so it is never shown. */
  readonly url: Hidden;
  readonly secret: Hidden;
}

/**
 * What proves that a body comes from here and when it was sent: `t=SECONDS,v1=HEX`, the HMAC-SHA256 over the seconds, a dot and the
 * body.
 */
function signatureOf(secret: string, seconds: number, body: string): string {
  const digest = createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
  return `t=${seconds},v1=${digest}`;
}

/** A request, and the status that it was answered with. @throws Error that says why there is none, without the address */
export type Post = (
  request: { readonly url: URL; readonly headers: Readonly<Record<string, string>>; readonly body: string },
  signal: AbortSignal,
) => Promise<number>;

/** An address that gets the news as JSON by POST. Any status from 200 to 299 takes them; a redirect is a refusal. */
export function webhookPlace({ name, url, secret }: WebhookSettings, clock: Clock, post: Post): AlertPlace {
  return {
    name,
    send: async (news, signal) => {
      const address = new URL(url.reveal());
      const body = JSON.stringify(news);
      const seconds = Math.floor(clock.now() / 1_000);
      const authorization = basicCredentials(address);
      const headers = {
        "content-type": "application/json",
        "user-agent": "cryobridge",
        "cryobridge-id": news.id,
        "cryobridge-signature": signatureOf(secret.reveal(), seconds, body),
        ...(authorization === undefined ? {} : { authorization }),
      };
      const status = await post({ url: address, headers, body }, signal).catch((error: Error) => {
        const why = signal.aborted ? whyAborted(signal) : error.message;
        throw new Error(`${address.host} can't be reached: ${why}`);
      });
      if (status < 200 || status > 299) throw new Error(`${address.host} answered with status ${status}`);
    },
  };
}
