import type { OrderState } from "../../core/order-state.ts";
import { relativeTime } from "../../operator/times.ts";
import { withCommands } from "../components.ts";
import type { ConsoleDeps } from "../deps.ts";
import { type Html, html } from "../html.ts";
import type { Site, Visit } from "../site.ts";
import { readStatus } from "../status.ts";
import type { Attention, Status } from "../status-document.ts";

/** The first page: what needs a person, and how things stand. */
export function addOverview(site: Site, deps: ConsoleDeps, { version }: { readonly version: string }): void {
  site.page("/", async ({ viewer }: Visit) => {
    const status = await readStatus(deps, version);
    const needed = status.attention.filter(({ level }) => level === "act").length;
    return {
      title: needed === 0 ? "Overview" : `(${needed}) Overview`,
      section: "/",
      isLive: true,
      body: html`
<div class="title"><h1>Overview</h1><span class="badge ${status.isReady ? "good" : "bad"}">${status.isReady ? "✓ Taking orders" : "✗ Not taking orders"}</span></div>
${attentionList(status.attention, viewer.clock.now())}
<div class="cards">${GROUPS.map(([title, states]) => countCard(title, states, status))}</div>`,
    };
  });
}

const SIGNS = {
  act: ["✗", "bad", "Needs a person"],
  wait: ["↻", "wait", "Goes on by itself"],
  look: ["·", "", "Worth a look"],
} as const satisfies Record<Attention["level"], readonly [sign: string, tone: string, meaning: string]>;

/** What somebody should know, each with what to do. */
export function attentionList(items: readonly Attention[], nowMs: number): Html {
  if (items.length === 0) return html`<p class="banner good">Nothing needs a person.</p>`;
  return html`<ul class="attention" aria-label="What somebody should know">${items.map(
    ({ level, what, since, hint, command }) => {
      const [sign, tone, meaning] = SIGNS[level];
      return html`<li class="${level}"><span class="sign ${tone}" title="${meaning}">${sign}<span class="unseen">${meaning}: </span></span><div><div class="what">${what}${since === null ? "" : html` <span class="note">${relativeTime(new Date(since), nowMs)}</span>`}</div>${hint === null ? "" : html`<div class="note">${withCommands(hint)}</div>`}${command === null ? "" : html`<code>${command}</code>`}</div></li>`;
    },
  )}</ul>`;
}

const GROUPS: readonly (readonly [title: string, states: readonly OrderState[]])[] = [
  ["Needs a person", ["parked"]],
  ["Waiting here", ["received", "queued", "submitting"]],
  ["At the storage service", ["submitted", "accepted", "in_progress"]],
];

function countCard(title: string, states: readonly OrderState[], { states: counts }: Status): Html {
  if (counts === null) return html``;
  const rows = states.map((state) => {
    const { count = 0, oldestSeconds = null } = counts.find((each) => each.state === state) ?? {};
    return html`<tr><th scope="row"><a href="/orders?state=${state}">${state}</a></th><td class="right">${count}</td><td class="note">${count > 0 && oldestSeconds !== null ? `oldest ${relativeTime(new Date(-oldestSeconds * 1_000), 0)}` : ""}</td></tr>`;
  });
  return html`<section class="card"><h2>${title}</h2><table><tbody>${rows}</tbody></table></section>`;
}
