import type { OrderState } from "../../core/order-state.ts";
import { counted } from "../../operator/text.ts";
import { relativeTime, roundToUnit } from "../../operator/times.ts";
import { age, badge, withCommands } from "../components.ts";
import type { ConsoleDeps } from "../deps.ts";
import { type Content, type Html, html } from "../html.ts";
import type { Site, Visit } from "../site.ts";
import { readStatus } from "../status.ts";
import type { Attention, Status } from "../status-document.ts";
import { pageOf } from "./page-of-command.ts";
import { connectorTable, trafficCharts, watchTraffic } from "./traffic.ts";

/** The first page: what needs a person, and how things stand. */
export function addOverview(site: Site, deps: ConsoleDeps, { version }: { readonly version: string }): void {
  const readTraffic = deps.records && watchTraffic(deps, deps.records);
  site.page("/", async (visit: Visit) => {
    const { viewer } = visit;
    const [status, traffic] = await Promise.all([readStatus(deps, version), readTraffic?.()]);
    const needed = status.attention.filter(({ level }) => level === "act").length;
    return {
      title: needed === 0 ? "Overview" : `(${needed}) Overview`,
      section: "/",
      isLive: true,
      body: html`
<div class="title"><h1>Overview</h1><span class="badge ${status.isReady ? "good" : "bad"}">${status.isReady ? "✓ Taking orders" : "✗ Not taking orders"}</span></div>
${attentionList(status.attention, viewer.clock.now())}
<div class="cards">${GROUPS.map(([title, states]) => countCard(title, states, status))}${serviceCard(deps, visit)}${tasksCard(status)}${workersCard(status, visit)}</div>
${traffic === undefined ? "" : connectorTable(deps, traffic, visit)}
${traffic === undefined ? "" : trafficCharts(traffic)}`,
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
      return html`<li class="${level}"><span class="sign ${tone}" title="${meaning}">${sign}<span class="unseen">${meaning}: </span></span><div class="grow"><div class="what">${what}${since === null ? "" : html` <span class="note">${relativeTime(new Date(since), nowMs)}</span>`}</div>${hint === null ? "" : html`<div class="note">${withCommands(hint)}</div>`}${command === null ? "" : whereToAct(command)}</div></li>`;
    },
  )}</ul>`;
}

/** The page where a person acts, or the command where there is no such page. */
function whereToAct(command: string): Html {
  const page = pageOf(command);
  return page === undefined ? html`<code>${command}</code>` : html`<a href="${page.to}">${page.name}</a>`;
}

const GROUPS: readonly (readonly [title: string, states: readonly OrderState[]])[] = [
  ["Needs a person", ["parked"]],
  ["Waiting here", ["received", "queued", "submitting"]],
  ["At the storage service", ["submitted", "accepted", "in_progress"]],
];

function countCard(title: string, states: readonly OrderState[], { states: counts }: Status): Html {
  if (counts === null) return html``;
  return card(
    title,
    states.map((state) => {
      const { count = 0, oldestSeconds = null } = counts.find((each) => each.state === state) ?? {};
      const oldest = count > 0 ? oldestOf(oldestSeconds) : "";
      return [html`<a href="/orders?state=${state}">${state}</a>`, count, oldest] as const;
    }),
  );
}

function oldestOf(seconds: number | null): string {
  return seconds === null ? "" : `oldest ${relativeTime(new Date(-seconds * 1_000), 0)}`;
}

type Line = readonly [name: Content, value: Content, note: Content];

function card(title: string, lines: readonly Line[]): Html {
  return html`<section class="card"><h2>${title}</h2><table><tbody>${lines.map(([name, value, note]) => html`<tr><th scope="row">${name}</th><td class="right">${value}</td><td class="note">${note}</td></tr>`)}</tbody></table></section>`;
}

function tasksCard({ tasks, deliveries }: Status): Html {
  if (tasks === null || deliveries === null) return html``;
  return card("For a person, and for the lab", [
    [html`<a href="/tasks">open tasks</a>`, tasks.open, oldestOf(tasks.oldestSeconds)],
    [html`<a href="/results?state=pending">results that go out</a>`, deliveries.pending, ""],
    [html`<a href="/results?state=parked">results that are parked</a>`, deliveries.parked, ""],
  ]);
}

const BREAKER = {
  closed: { words: "✓ reachable", paint: "green" },
  "half-open": { words: "↻ tried now", paint: "yellow" },
  open: { words: "✗ not called", paint: "red" },
} as const;

function serviceCard({ service }: ConsoleDeps, { viewer }: Visit): Html {
  if (service === undefined) return html``;
  const row = service();
  const title = "The storage service";
  if (row === undefined)
    return html`<section class="card"><h2>${title}</h2><p class="note">Another daemon calls it.</p></section>`;
  const { breaker, opening, tokenLifeMs, maxRequestsPerSecond, callsAtOnce, calls } = row;
  const lines: (readonly [name: string, value: Content])[] = [
    ["calls", badge(BREAKER[breaker].words, BREAKER[breaker].paint)],
    ...(opening === undefined
      ? []
      : [
          ["since", age(opening.since, viewer)] as const,
          ["why", opening.text] as const,
          ["next try", relativeTime(opening.nextTryAt, viewer.clock.now())] as const,
        ]),
    ["token", tokenLifeMs === undefined ? "an API token, or none yet" : `lives ${roundToUnit(tokenLifeMs)}`],
    ["rate", `at most ${maxRequestsPerSecond} a second, ${callsAtOnce} at once`],
    ["called", `${counted(calls, "time")} since the start`],
  ];
  return html`<section class="card"><h2>${title}</h2><dl class="details">${lines.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl></section>`;
}

/** Where one daemon works alone, there is nothing to say of it. */
function workersCard({ workers }: Status, { viewer }: Visit): Html {
  if (workers === null || workers.length < 2) return html``;
  return html`<section class="card"><h2><a href="/workers">Workers</a></h2><ul class="plain">${workers.map(({ id, name, state, seenAt, ordersInHand }) => html`<li>${badge(state, state === "works" || state === "leads" ? "green" : "yellow")} ${name} (${id}) <span class="note">${counted(ordersInHand, "order")} in hand, seen ${age(new Date(seenAt), viewer)}</span></li>`)}</ul></section>`;
}
