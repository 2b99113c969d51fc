import { assetPath } from "./assets.ts";
import type { ConsoleUser } from "./deps.ts";
import { type Content, type Html, html } from "./html.ts";
import type { Notice } from "./session.ts";

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

/** The parts of the console, as its menu names them. */
const SECTIONS = {
  "/": "Overview",
  "/orders": "Orders",
  "/messages": "Messages",
  "/files": "Files",
  "/results": "Results",
  "/queue": "Queue",
  "/tasks": "Tasks",
  "/refills": "Refills",
  "/reports": "Reports",
  "/workers": "Workers",
  "/audit": "Audit",
} as const;

export type Section = keyof typeof SECTIONS;

/** What a page shows within the console's frame. */
export interface Page {
  readonly title: string;
  readonly section: Section;
  readonly body: Content;
  /** Whether it refreshes itself every five seconds; not where a person types or reads what a refresh would hide. */
  readonly isLive?: boolean;
  /** HTTP status; 200 unless given. */
  readonly status?: number;
}

/** What the frame shows around a page. */
export interface Frame {
  readonly version: string;
  readonly user: ConsoleUser | undefined;
  readonly formToken: string;
  /** The page's own address, for its refresh. */
  readonly path: string;
  readonly notice: Notice | undefined;
}

/** A page in the console's frame. */
export function layOut({ title, section, body, isLive }: Page, frame: Frame): string {
  const { version, user, formToken, path, notice } = frame;
  const menu = Object.entries(SECTIONS).map(
    ([to, name]) =>
      html`<li><a href="${to}"${to === section ? html` aria-current="page"` : ""}>${name}</a></li>`,
  );
  const live = isLive
    ? html` hx-get="${path}" hx-trigger="every 5s" hx-select="#page" hx-swap="outerMorph" hx-headers='{"Cryobridge-Refresh":"1"}'`
    : "";
  const signOut = user
    ? html`<form method="post" action="/logout" class="signed-in"><input type="hidden" name="formToken" value="${formToken}"><span>${user.name}${user.role === "viewer" ? " (looks only)" : ""}</span><button class="outline secondary small">Sign out</button></form>`
    : "";
  return document(
    title,
    html`
<a class="skip" href="#page">To the content</a>
<header class="top">
  <a class="brand" href="/">Cryobridge</a>
  <nav aria-label="Parts of the console"><ul>${menu}</ul></nav>
  ${signOut}
</header>
<p id="silent" class="banner bad" role="alert" hidden>The daemon does not answer. What stands below is old.</p>
<main id="page"${live}>
${notice ? noticeBox(notice) : ""}
${body}
</main>
<footer>Cryobridge ${version}. Patients are named only where you ask for it, and each look is recorded.</footer>`,
  );
}

function noticeBox({ isDone, lines }: Notice): Html {
  return html`<div class="banner ${isDone ? "good" : "bad"}" role="status"><ul>${lines.map((line) => html`<li>${line}</li>`)}</ul></div>`;
}

/** The page that asks for the token. */
export function loginPage(message = ""): string {
  return document(
    "Sign in",
    html`
<main id="page" class="login">
<h1>Cryobridge</h1>
${message === "" ? "" : html`<p class="banner bad" role="alert">${message}</p>`}
<form method="post" action="/login">
  <label for="token">Token</label>
  <input id="token" name="token" type="password" autocomplete="current-password" required autofocus aria-describedby="which">
  <p id="which" class="note">Your own token, or console.token of the configuration.</p>
  <button>Sign in</button>
</form>
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
<meta name="htmx-config" content='{"noSwap":[204,304,"4xx","5xx"],"history":false}'>
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
