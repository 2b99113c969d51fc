import type { OrderState } from "../../core/order-state.ts";
import { WHO } from "../../core/who.ts";
import { detailTexts } from "../../operator/column.ts";
import { stateInWords } from "../../operator/order-words.ts";
import { SERVICE_COLUMNS } from "../../operator/service-columns.ts";
import { LEVELS } from "../../operator/signs.ts";
import { counted } from "../../operator/text.ts";
import { roundToUnit } from "../../operator/times.ts";
import { WORKER_STATES } from "../../operator/worker-columns.ts";
import { behindInWords, commandForParked, meaningOf } from "../../standing/attention/orders.ts";
import { sayOnce } from "../../standing/parts.ts";
import type { Attention, Status } from "../../standing/status-document.ts";
import { age, lasting } from "../ages.ts";
import { badge, whoActs } from "../components.ts";
import type { ConsoleDeps } from "../deps.ts";
import { type Html, html } from "../html.ts";
import { pageOf, withCommands } from "../page-of-command.ts";
import type { Site, Visit } from "../site.ts";
import { toneOf } from "../tone.ts";
import { watchTraffic } from "../traffic.ts";
import { connectorTable, trafficCharts } from "./traffic.ts";

/** The first page: what needs a person, and how things stand. */
export function addOverview(site: Site, deps: ConsoleDeps): void {
  const readTraffic = deps.records && watchTraffic(deps, deps.records);
  site.page("/", async (visit: Visit) => {
    const { viewer } = visit;
    const [status, traffic] = await Promise.all([visit.status(), readTraffic?.()]);
    const needed = status.attention.filter(({ level }) => level === "act").length;
    return {
      title: needed === 0 ? "Overview" : `(${needed}) Overview`,
      section: "/",
      isLive: true,
      body: html`
<h1>Overview</h1>
${needed === 0 ? html`<p class="banner good">Nothing needs a person.</p>` : ""}${attentionList(listed(status), viewer.clock.now())}${parkedTable(status, viewer)}${needed === 0 ? "" : whoActs(visit)}
<div class="board">${listTiles(status).map(tilesCard)}</div>
<div class="cards">${serviceCard(deps, status, visit)}${workersCard(status, visit)}</div>
${traffic === undefined ? "" : connectorTable(status, traffic, visit)}
${traffic === undefined ? "" : trafficCharts(traffic)}`,
    };
  });
}

/** What the list has: the strip above says what is down, and parked orders are a table of their own, so that they hide nothing else. */
function listed({ attention, stillOrders }: Status): readonly Attention[] {
  const { ofParts, beside } = sayOnce(attention);
  if (parkedOf(stillOrders).length === 0) return [...ofParts, ...beside];
  const others = beside.filter(({ alerts }) => !alerts.some(({ kind }) => kind === "ordersParked"));
  return [...ofParts, ...others];
}

const parkedOf = (still: Status["stillOrders"]) => (still ?? []).filter(({ kind }) => kind === "parked");

/** Orders that wait for a person, a line for each reason. */
function parkedTable({ stillOrders }: Status, viewer: Visit["viewer"]): Html {
  const groups = parkedOf(stillOrders);
  if (groups.length === 0) return html``;
  const rows = groups.map((group) => {
    const { count, orderId, since, code, hint, who } = group;
    const where = whereToAct(commandForParked(count, orderId, code));
    return html`<tr><td data-head="reason">${withCommands(meaningOf(code ?? "UNCLASSIFIED"))}${behindInWords(group)}</td><td data-head="orders" class="right">${count}</td><td data-head="oldest" class="whole">${age(new Date(since), viewer)}</td><td data-head="who sees to it">${WHO[who]}</td><td data-head="what to do"><div class="note">${hint === null ? "" : withCommands(hint)}</div>${where}</td></tr>`;
  });
  return html`<section class="parked"><h2>Orders that wait for a person</h2><div class="table"><table><thead><tr><th scope="col">reason</th><th scope="col" class="right">orders</th><th scope="col">oldest</th><th scope="col">who sees to it</th><th scope="col">what to do</th></tr></thead><tbody>${rows}</tbody></table></div></section>`;
}

/** What somebody should know, each with what to do; what is only worth a look is behind a click where it is much. */
export function attentionList(items: readonly Attention[], nowMs: number): Html {
  const worthALook = items.filter(({ level }) => level === "look");
  const shown = worthALook.length > 1 ? items.filter(({ level }) => level !== "look") : items;
  const more =
    shown.length === items.length
      ? ""
      : html`<details class="look"><summary>${worthALook.length} things worth a look</summary>${itemList(worthALook, nowMs)}</details>`;
  return html`${shown.length === 0 ? "" : itemList(shown, nowMs)}${more}`;
}

function itemList(items: readonly Attention[], nowMs: number): Html {
  return html`<ul class="attention" aria-label="What somebody should know">${items.map(
    ({ level, what, since, hint, command, who }) => {
      const { sign, meaning, paint } = LEVELS[level];
      return html`<li class="${level}"><span class="sign ${toneOf(paint)}" title="${meaning}">${sign}<span class="unseen">${meaning}: </span></span><div class="grow"><div class="what">${withCommands(what)}${since === null ? "" : html` ${lasting(new Date(since), nowMs)}`}</div>${who === null && hint === null ? "" : html`<div class="note">${who === null ? "" : html`Seen to by ${WHO[who]}. `}${hint === null ? "" : withCommands(hint)}</div>`}${command === null ? "" : whereToAct(command)}</div></li>`;
    },
  )}</ul>`;
}

/** The page where a person acts, or the command where there is no such page. */
export function whereToAct(command: string): Html {
  const page = pageOf(command);
  return page === undefined ? html`<code>${command}</code>` : html`<a href="${page.to}">${page.name}</a>`;
}

/** Counts that belong together, each with a link to the list behind it. */
interface Tiles {
  readonly title: string;
  readonly tiles: readonly Tile[];
  /** What is counted is trouble. */
  readonly isTrouble?: boolean;
}

interface Tile {
  readonly name: string;
  readonly to: string;
  readonly count: number;
  readonly oldestSeconds?: number | null;
}

/** What needs a person, where orders stand, and what the lab is to get, with counts and the oldest ages. */
function listTiles({ states, tasks, deliveries }: Status): Tiles[] {
  if (states === null || tasks === null || deliveries === null) return [];
  const stateTile = (state: OrderState, name: string = stateInWords(state)): Tile => {
    const { count = 0, oldestSeconds = null } = states.find((each) => each.state === state) ?? {};
    return { name, to: `/orders?state=${state}`, count, oldestSeconds };
  };
  const open = { name: "open tasks", to: "/tasks", count: tasks.open, oldestSeconds: tasks.oldestSeconds };
  const parked = { name: "parked results", to: "/results?state=parked", count: deliveries.parked };
  const pending = { name: "results to send", to: "/results?state=pending", count: deliveries.pending };
  return [
    { title: "Needs a person", tiles: [stateTile("parked", "parked orders"), open, parked], isTrouble: true },
    {
      title: "Waiting here",
      tiles: (["received", "submitting"] as const).map((each) => stateTile(each)),
    },
    {
      title: "At the storage service",
      tiles: (["submitted", "accepted", "in_progress"] as const).map((each) => stateTile(each)),
    },
    { title: "For the lab", tiles: [pending] },
  ];
}

function tilesCard({ title, tiles, isTrouble }: Tiles): Html {
  const items = tiles.map(({ name, to, count, oldestSeconds = null }) => {
    const oldest = count > 0 && oldestSeconds !== null && `oldest ${roundToUnit(oldestSeconds * 1_000)}`;
    const tone = count === 0 ? "dim" : isTrouble ? "bad" : "";
    return html`<li><a href="${to}"><strong class="${tone}">${count}</strong> ${name}</a>${oldest && html`<span class="note">${oldest}</span>`}</li>`;
  });
  return html`<section class="card tiles"><h2>${title}</h2><ul>${items}</ul></section>`;
}

function serviceCard({ service: asked }: ConsoleDeps, { service }: Status, { viewer }: Visit): Html {
  if (asked === undefined) return html``;
  const title = "The storage service";
  if (service === null)
    return html`<section class="card"><h2>${title}</h2><p class="note">Another daemon calls it.</p></section>`;
  const lines = detailTexts(SERVICE_COLUMNS, service, viewer).map(({ title, text }) => {
    const paint = SERVICE_COLUMNS.find((column) => column.title === title)?.paint?.(service);
    return html`<div><dt>${title}</dt><dd>${paint === undefined ? text : badge(text, paint)}</dd></div>`;
  });
  return html`<section class="card"><h2>${title}</h2><dl class="details">${lines}</dl></section>`;
}

function workersCard({ workers }: Status, { viewer }: Visit): Html {
  if (workers === null || workers.length === 0) return html``;
  return html`<section class="card"><h2><a href="/workers">Workers</a></h2><ul class="plain">${workers.map(({ id, name, state, seenAt, ordersInHand }) => html`<li>${badge(WORKER_STATES[state].words, WORKER_STATES[state].paint)} ${name} (${id}) <span class="note">${counted(ordersInHand, "order")} in hand, seen ${age(new Date(seenAt), viewer)}</span></li>`)}</ul></section>`;
}
