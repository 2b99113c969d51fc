import { createHash } from "node:crypto";
import { PAGE_SCRIPT } from "./page-script.ts";
import { PAGE_STYLE } from "./page-style.ts";

/** Only this style and this script run, and only this server is asked: nothing from elsewhere, hospitals being closed. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `script-src '${hashOf(PAGE_SCRIPT)}'`,
  `style-src '${hashOf(PAGE_STYLE)}'`,
  "img-src data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join("; ");

/** The status page. It is the same for everyone and holds no data; its script asks for them. */
export function statusPage(settings: { readonly version: string; readonly hasLogin: boolean }): string {
  const logout = settings.hasLogin
    ? `<form method="post" action="/logout"><button>Sign out</button></form>`
    : "";
  return page(`
<header>
  <h1>Cryobridge</h1>
  <span id="ready" class="badge wait" role="status">…</span>
  <span id="updated" class="note">no answer yet</span>
  ${logout}
</header>
<main>
  <noscript><p class="alert">This page needs JavaScript. Without it: cryobridge orders list.</p></noscript>
  <div id="silent" class="alert" role="alert" hidden><p>The daemon does not answer. What stands below is old.</p></div>
  <ul id="attention" aria-label="What somebody should know" aria-live="polite" hidden></ul>
  <div id="tanks" hidden>
    <h2>Tanks that were not refilled for too long</h2>
    <div id="overdue" class="wide"></div>
  </div>
  <h2>Orders</h2>
  <div id="counts" class="groups"></div>
  <div id="waiting" hidden>
    <h2>Messages that wait for a code</h2>
    <div id="codes" class="wide"></div>
    <p class="note">Add the code to the configuration, then restart the daemon or use <code>cryobridge messages release</code>.</p>
  </div>
  <div id="workers" hidden>
    <h2>Daemons that share this ledger</h2>
    <div id="daemons" class="wide"></div>
  </div>
  <h2>What is stuck, and why</h2>
  <div id="stuck" class="wide"></div>
  <p id="more" class="note" hidden></p>
  <div id="failing" hidden>
    <h2>Results that the lab doesn't have</h2>
    <div id="results" class="wide"></div>
    <p class="note"><code>cryobridge queue</code> lists them one by one; <code>cryobridge queue retry ID</code> tries one now.</p>
  </div>
  <h2>Last changes</h2>
  <div id="recent" class="wide"></div>
</main>
<footer class="note">Version ${escapeHtml(settings.version)}. Patients are not named here; <code>cryobridge orders show ID --show-phi</code> names them.</footer>
<script>${PAGE_SCRIPT}</script>`);
}

/** The page that asks for the token. */
export function loginPage(message = ""): string {
  const note = message === "" ? "" : `<p class="bad" role="alert">${escapeHtml(message)}</p>`;
  return page(`
<form class="login" method="post" action="/login">
  <h1>Cryobridge</h1>
  ${note}
  <label for="token">Token</label>
  <input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
  <p class="note">It is the value of console.token in the configuration.</p>
  <button>Sign in</button>
</form>`);
}

function page(body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Cryobridge</title>
<link rel="icon" href="data:,">
<style>${PAGE_STYLE}</style>
</head>
<body>${body}
</body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

function hashOf(content: string): string {
  return `sha256-${createHash("sha256").update(content).digest("base64")}`;
}
