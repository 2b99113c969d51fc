import { createTransport } from "nodemailer";
import type { AlertPlaceConfig } from "../../config/alerts-schema.ts";
import type { AlertNews } from "../../core/alert.ts";
import { formatMinute } from "../../core/duration.ts";
import { tlsTroubleOf } from "../../core/tls-trouble.ts";
import { type AlertPlace, type Hidden, headline, PLACE_TIMEOUT_MS, whyAborted } from "./place.ts";

/** A mail server and whom it sends to, with what its certificates come from, and where the console is, for people. */
type EmailSettings = Omit<Extract<AlertPlaceConfig, { readonly type: "email" }>, "type" | "password"> & {
  readonly password?: Hidden | undefined;
  readonly consoleUrl?: string | undefined;
};

/** A server that is silent for this long at one step is given up, ms. */
const STEP_MS = PLACE_TIMEOUT_MS / 2;

/** People who get the news by e-mail. */
export function emailPlace(settings: EmailSettings): AlertPlace {
  const { name, host, port, tls, ca, user, password, from, to } = settings;
  return {
    name,
    send: async (news, signal) => {
      const transport = createTransport({
        host,
        port,
        secure: tls === "tls",
        requireTLS: tls === "starttls",
        ignoreTLS: tls === "none",
        ...(ca === undefined ? {} : { tls: { ca } }),
        ...(user === undefined ? {} : { auth: { user, pass: password?.reveal() ?? "" } }),
        dnsTimeout: STEP_MS,
        connectionTimeout: STEP_MS,
        greetingTimeout: STEP_MS,
        socketTimeout: STEP_MS,
        disableFileAccess: true,
        disableUrlAccess: true,
      });
      try {
        await transport.sendMail({
          signal,
          from,
          to: [...to],
          subject: subjectOf(news),
          text: textOf(news, settings.consoleUrl),
          messageId: `<${news.id}@${from.slice(from.indexOf("@") + 1)}>`,
          headers: { "Auto-Submitted": "auto-generated", "X-Cryobridge-Id": news.id },
        });
      } catch (error) {
        throw new Error(
          `the mail server ${host}:${port} did not take the message: ${signal.aborted ? whyAborted(signal) : inWords(error)}`,
        );
      } finally {
        transport.close();
      }
    },
  };
}

const MOST_SUBJECT = 160;

function subjectOf(news: AlertNews): string {
  const subject = `[Cryobridge ${news.host}] ${headline(news)}`.replace(/\s+/g, " ");
  return subject.length <= MOST_SUBJECT ? subject : `${subject.slice(0, MOST_SUBJECT - 1)}…`;
}

function textOf(news: AlertNews, consoleUrl: string | undefined): string {
  const { event, host, version, alert } = news;
  const { id, kind, text, hint, since, overAt } = alert;
  const over = overAt === null ? [] : [`Over since ${formatMinute(new Date(overAt))}.`];
  return [
    event === "over" ? `This is over: ${text}` : text,
    "",
    ...(event === "test" ? [] : [`Since ${formatMinute(new Date(since))}. ${over.join("")}`.trim()]),
    ...(hint === null || event === "over" ? [] : [hint]),
    "",
    ...(event === "started" ? [`To see to it: cryobridge alerts acknowledge ${id} --reason TEXT`] : []),
    ...(consoleUrl === undefined ? [] : [pageOf(news, consoleUrl)]),
    `Alert ${id} (${kind}) of Cryobridge ${version} on ${host}.`,
    "",
  ].join("\n");
}

/** The console's page about it. */
function pageOf({ event, alert }: AlertNews, consoleUrl: string): string {
  return `${consoleUrl.replace(/\/$/, "")}/alerts${event === "test" ? "" : `/${alert.id}`}`;
}

/** What the server said, as its status alone, since it may repeat what it was sent; or why it could not be asked. */
function inWords(error: unknown): string {
  const { responseCode } = error as { readonly responseCode?: number };
  if (responseCode !== undefined) return `status ${responseCode}`;
  if (!(error instanceof Error)) return "the connection failed";
  // The library writes its own code over that of Node.js.
  const { originalCode: code } = error as { readonly originalCode?: unknown };
  const coded = code === undefined ? error : Object.assign(error, { code });
  const tls = tlsTroubleOf(coded, { ca: "its `ca`", name: "its `host`" });
  return tls === undefined ? error.message : `${tls.why}: ${tls.lead}`;
}
