import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import type { AlertPlaceConfig } from "../../config/alerts-schema.ts";
import type { AlertNews } from "../../core/alert.ts";
import { basicCredentials } from "../../core/basic-credentials.ts";
import type { Clock } from "../../core/clock.ts";
import type { Logger } from "../../core/logger.ts";

/** Somewhere that alerts are sent to. */
export interface AlertPlace {
  /** What a person calls it. */
  readonly name: string;
  /**
   * Sends the news there, until the signal is aborted.
   * @throws Error with a sentence that holds no credential.
   */
  send(news: AlertNews, signal: AbortSignal): Promise<void>;
}

/** A credential, revealed only for the call that presents it. */
export interface Hidden {
  reveal(): string;
}

/** How long a place may take in all, ms. */
export const PLACE_TIMEOUT_MS = 10_000;

/** Why a sending was aborted. */
export function whyAborted({ reason }: AbortSignal): string {
  const isLate = reason instanceof Error && reason.name === "TimeoutError";
  return isLate ? `no answer within ${PLACE_TIMEOUT_MS / 1_000} s` : "the daemon stops";
}

/** What the news are, in a line. */
export function headline({ event, alert: { kind, text } }: AlertNews): string {
  if (event === "test") return text;
  return `${event === "over" ? "Over" : "Alert"}: ${kind}: ${text}`;
}

/** The daemon's own log: a warning when an alert starts, a line of information when it is over. */
export function logPlace(name: string, logger: Logger): AlertPlace {
  return {
    name,
    send: async ({ id, event, alert }) => {
      const level = event === "started" ? "warn" : "info";
      logger[level]({ alert: { ...alert, message: id, event } }, `alert ${event}: ${alert.text}`);
    },
  };
}

interface CommandSettings extends Pick<CommandPlace, "name" | "command"> {
  /** Where programs are looked for; all that the command gets of the environment. */
  readonly path: string | undefined;
}

/** A program that gets the news as JSON on its standard input. It is run without a shell, and takes them by ending with 0. */
export function commandPlace({ name, command, path }: CommandSettings): AlertPlace {
  const [program = "", ...args] = command;
  return {
    name,
    send: (news, signal) =>
      new Promise((resolve, reject) => {
        const child = spawn(program, args, {
          shell: false,
          env: path === undefined ? {} : { PATH: path },
          stdio: ["pipe", "ignore", "ignore"],
          signal,
          killSignal: "SIGKILL",
        });
        child.on("error", ({ code }: NodeJS.ErrnoException) =>
          reject(
            new Error(
              signal.aborted
                ? `${program} was ended: ${whyAborted(signal)}`
                : `${program} can't be run: ${code ?? "it failed"}`,
            ),
          ),
        );
        child.on("exit", (status, endedBy) => {
          if (status === 0) resolve();
          else reject(new Error(`${program} ended with ${endedBy ?? `status ${status}`}`));
        });
        // A program that reads nothing is done when it ends.
        child.stdin.on("error", () => undefined);
        child.stdin.end(`${JSON.stringify(news)}\n`);
      }),
  };
}

type CommandPlace = Extract<AlertPlaceConfig, { readonly type: "command" }>;

interface WebhookSettings extends Pick<AlertPlaceConfig, "name"> {
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
