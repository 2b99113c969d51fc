import { createHmac } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import { type AlertPlace, type Hidden, whyAborted } from "./place.ts";

export interface WebhookSettings {
  readonly name: string;
  /** May hold a credential, so it is never shown. */
  readonly url: Hidden;
  readonly secret: Hidden;
}

/**
 * What proves that a body comes from here and when it was sent: `t=SECONDS,v1=HEX`, the HMAC-SHA256 over the seconds, a dot and the
 * body.
 */
export function signatureOf(secret: string, seconds: number, body: string): string {
  const digest = createHmac("sha256", secret).update(`${seconds}.${body}`).digest("hex");
  return `t=${seconds},v1=${digest}`;
}

/** An address that gets the news as JSON by POST. Any status from 200 to 299 takes them; a redirect is a refusal. */
export function webhookPlace({ name, url, secret }: WebhookSettings, clock: Clock): AlertPlace {
  return {
    name,
    send: async (news, signal) => {
      const address = new URL(url.reveal());
      const body = JSON.stringify(news);
      const seconds = Math.floor(clock.now() / 1_000);
      let answer: Response;
      try {
        answer = await fetch(address, {
          method: "POST",
          body,
          redirect: "manual",
          signal,
          headers: {
            "content-type": "application/json",
            "user-agent": "cryobridge",
            "cryobridge-id": news.id,
            "cryobridge-signature": signatureOf(secret.reveal(), seconds, body),
          },
        });
      } catch (error) {
        const why = signal.aborted ? whyAborted(signal) : causeOf(error);
        throw new Error(`${address.host} can't be reached: ${why}`);
      }
      await answer.body?.cancel();
      if (!answer.ok) throw new Error(`${address.host} answered with status ${answer.status}`);
    },
  };
}

/** The address may stand in an error's own words, so only the code of what is behind it is shown. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return "no answer";
  const { code } = (error.cause ?? {}) as { readonly code?: unknown };
  return typeof code === "string" ? code : "the connection failed";
}
