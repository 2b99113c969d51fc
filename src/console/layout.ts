import { PART_SIGNS } from "../operator/signs.ts";
import { nextTryInWords } from "../operator/times.ts";
import type { StatusPart } from "../standing/status-document.ts";
import { lasting } from "./ages.ts";
import { assetPath } from "./assets.ts";
import type { ConsoleUser } from "./deps.ts";
import { type Content, type Html, html } from "./html.ts";
import { pageOf, withCommands } from "./page-of-command.ts";
import { SECTIONS, type Section } from "./sections.ts";
import type { Notice } from "./session.ts";
import { toneOf } from "./tone.ts";

/** Only the console's own files run, and only this server is asked. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** What a page shows within the console's frame. */
export interface Page {
  readonly title: string;
  readonly section: Section;
  readonly body: Content;
  /** Whether it refreshes itself; not where a person types or reads what a refresh would hide. */
  readonly isLive?: boolean;
  /** How often it refreshes itself, when not every five seconds. */
  readonly refreshSeconds?: number;
  /** HTTP status; 200 unless given. */
  readonly status?: number;
}

/** What the frame shows around a page. */
interface Frame {
  readonly version: string;
  readonly user: ConsoleUser | undefined;
  readonly formToken: string;
  /** The page's own address, for its refresh. */
  readonly path: string;
  readonly notice: Notice | undefined;
  /** How the parts stand of which everything else depends. */
  readonly parts: readonly StatusPart[];
  readonly nowMs: number;
}

/** A page in the console's frame. */
export function layOut({ title, section, body, isLive, refreshSeconds = 5 }: Page, frame: Frame): string {
  const { version, user, formToken, path, notice, parts, nowMs } = frame;
  const menu = Object.entries(SECTIONS).map(
    ([to, name]) =>
      html`<li><a href="${to}"${to === section ? html` aria-current="page"` : ""}>${name}</a></li>`,
  );
  const live = isLive
    ? html` hx-get="${path}" hx-trigger="every ${refreshSeconds}s" hx-select="#page" hx-swap="outerMorph" hx-headers='{"Cryobridge-Refresh":"1"}'`
    : "";
  const finds = user?.role === "operator" ? `${FINDS} or subject code` : FINDS;
  const signOut = user
    ? html`<form method="post" action="/logout" class="signed-in"><input type="hidden" name="formToken" value="${formToken}"><span>${user.name}${user.role === "viewer" ? " (read-only)" : ""}</span><button class="outline secondary small">Sign out</button></form>`
    : "";
  return document(
    title,
    html`
<a class="skip" href="#page">To the content</a>
<header class="top">
  <a class="brand" href="/">Cryobridge</a>
  <search><form method="post" action="${SEARCH_PATH}"><input type="hidden" name="formToken" value="${formToken}"><input id="find" type="search" name="find" maxlength="200" autocomplete="off" placeholder="Find an order" aria-label="Find an order" aria-describedby="find-what" title="${finds}"><span id="find-what" class="unseen">${finds}</span></form></search>
  ${signOut}
  <nav aria-label="Parts of the console"><ul>${menu}</ul></nav>
</header>
<p id="silent" class="banner bad" role="alert" hidden>The daemon does not answer. What stands below is old.</p>
${notice ? noticeBox(notice) : ""}
<main id="page"${live}>
${strip(parts, nowMs)}
${body}
</main>
<footer>${isLive ? html`<button type="button" id="pause" class="outline secondary small" hidden>Pause refreshing</button> ` : ""}Cryobridge ${version}. Times are of the server: ${zoneOf(new Date(nowMs))}. Patients are named only where you ask for it, and each look is recorded.</footer>`,
  );
}

/** Where the search in the header is sent. */
export const SEARCH_PATH = "/orders/find";
/** What it takes; a subject code of those alone who may see patients' data. */
const FINDS = "Order number, id, container, file, control id, number of the service";

/** The server's time zone, such as `Europe/Berlin, UTC+01:00`. */
function zoneOf(now: Date): string {
  const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
  const minutes = -now.getTimezoneOffset();
  if (timeZone === "UTC") return timeZone;
  const two = (value: number) => String(Math.trunc(value)).padStart(2, "0");
  return `${timeZone}, UTC${minutes < 0 ? "-" : "+"}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
}

/** What is down is said on each page, and what it has to do with what is looked at is for the person. */
function strip(parts: readonly StatusPart[], nowMs: number): Html {
  if (parts.length === 0) return html``;
  return html`<ul class="parts now" aria-label="How the parts stand">${parts.map(
    ({ name, state, words, since, nextTryAt, command }) => {
      const { sign, paint } = PART_SIGNS[state];
      const page = command === null ? undefined : pageOf(command);
      const shown = page === undefined ? name : html`<a href="${page.to}">${name}</a>`;
      const next = html`<span class="note">${nextTryInWords(nextTryAt, nowMs)}</span>`;
      const when = since === null ? next : html` ${lasting(new Date(since), nowMs)}${next}`;
      return html`<li class="${toneOf(paint)}"><span class="sign">${sign}</span> ${shown}${state === "up" ? html`<span class="unseen"> ${words}</span>` : html`: ${words}${when}`}</li>`;
    },
  )}</ul>`;
}

function noticeBox({ isDone, lines }: Notice): Html {
  return html`<div id="notice" class="banner ${isDone ? "good" : "bad"}" role="status"><ul>${lines.map((line) => html`<li>${withCommands(line)}</li>`)}</ul></div>`;
}

/**
 * The page that asks for the token.
 *
 * @param to the page that it stands in place of, which follows
 */
export function loginPage(message = "", to = ""): string {
  return document(
    "Sign in",
    html`
<main id="page" class="login">
<h1>Cryobridge</h1>
${message === "" ? "" : html`<p class="banner bad" role="alert">${message}</p>`}
<form method="post" action="/login">
  <input type="hidden" name="to" value="${to}">
  <label for="token">Token</label>
  <input id="token" name="token" type="password" autocomplete="current-password" required autofocus aria-describedby="which">
  <p id="which" class="note">Yours alone: whoever set Cryobridge up gave it to you.</p>
  <button>Sign in</button>
</form>
</main>`,
  );
}

/**
 * What a person reads where no page can be shown.
 *
 * @param hint what to do about it
 * @param again the page, where it may be there a while later
 */
export function troublePage(
  title: string,
  words: string,
  { hint, again }: { readonly hint?: string | undefined; readonly again?: string | undefined } = {},
): string {
  return document(
    title,
    html`
<main id="page" class="login">
<h1>${title}</h1>
<p>${words}</p>
${hint === undefined ? "" : html`<p class="note">${withCommands(hint)}</p>`}
<p class="links">${again === undefined ? "" : html`<a href="${again}">Try again</a> `}<a href="/">To the overview</a></p>
</main>`,
  );
}

function document(title: string, body: Html): string {
  return `<!doctype html>
${html`<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="htmx-config" content='{"noSwap":[204,304,"4xx","5xx"],"history":false,"morphIgnore":["data-htmx-powered","open"]}'>
<title>${title} · Cryobridge</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${assetPath("pico.css")}">
<link rel="stylesheet" href="${assetPath("console.css")}">
<script src="${assetPath("htmx.js")}" defer></script>
<script src="${assetPath("console.js")}" defer></script>
</head>
<body>${body}
</body>
</html>
`}`;
}
