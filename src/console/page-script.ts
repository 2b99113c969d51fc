/**
 * The status page's script: asks `/api/status` every five seconds and writes what it says. All text goes in as text,
 * never as markup, since order numbers and facility names come from outside.
 */
export const PAGE_SCRIPT = `
"use strict";
const PERIOD_MS = 5000;
const GROUPS = [
  ["Waiting here", ["received", "queued", "submitting"]],
  ["At the storage service", ["submitted", "accepted", "in_progress"]],
];
const WORDS = { received: "Received", queued: "Queued", submitting: "Being submitted", submitted: "Submitted, waits for staff",
  accepted: "Accepted, waits for the device", in_progress: "Device is running", completed: "Completed", rejected: "Rejected by staff",
  cancelled: "Cancelled", failed: "Failed", parked: "Parked", discarded: "Discarded" };
const TONES = { completed: "good", parked: "bad", failed: "bad", rejected: "bad" };
const DAEMON = { works: "Works", leads: "Works, leads", stopping: "Stopping", gone: "Gone", lost: "Lost" };
const byId = (id) => document.getElementById(id);
let lastAnswerAt = 0;
let isHeld = false;

function el(tag, className, ...children) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}
function duration(seconds) {
  if (seconds < 90) return Math.max(0, Math.round(seconds)) + " s";
  if (seconds < 5400) return Math.round(seconds / 60) + " min";
  if (seconds < 172800) return Math.round(seconds / 3600) + " h";
  return Math.round(seconds / 86400) + " days";
}
function since(iso, now) {
  const node = el("time", "keep", duration((now - Date.parse(iso)) / 1000));
  node.dateTime = iso;
  node.title = new Date(iso).toLocaleString();
  return node;
}
function code(text) {
  return el("code", "", text);
}
const SIGNS = { act: ["\\u2717 ", "bad", "Needs a person"], wait: ["\\u21bb ", "wait", "Goes on by itself"], look: ["\\u00b7 ", "", "Worth a look"] };
let shownAttention = "";
function attention(items, now) {
  const box = byId("attention");
  const ages = items.map(({ since: iso }) => (iso === null ? null : since(iso, now)));
  // What is read aloud when it changes is written only then; ages change all the time.
  const key = JSON.stringify(items.map(({ level, what }) => level + what));
  if (key === shownAttention) {
    const shown = box.querySelectorAll("time");
    ages.filter((age) => age !== null).forEach((age, index) => { if (shown[index]) shown[index].textContent = age.textContent; });
    return;
  }
  shownAttention = key;
  box.replaceChildren(...items.map(({ level, what, hint, command }, index) => {
    const [sign, tone, meaning] = SIGNS[level] ?? SIGNS.look;
    const mark = el("span", "sign " + tone, sign);
    mark.title = meaning;
    const age = ages[index] === null ? [] : [" \\u00b7 for ", ages[index]];
    const commandLine = command === null ? null : el("div", "command", code(command));
    return el("li", level, mark, el("div", "", el("div", "what", what, ...age), hint === null ? null : el("div", "note", ...ticks(hint)), commandLine));
  }));
  box.hidden = items.length === 0;
}
// Commands stand between backticks.
function ticks(text) {
  return text.split("\\u0060").map((part, index) => (index % 2 === 1 ? code(part) : part));
}
function row(cells) {
  return el("tr", "", ...cells.map((cell) => (cell instanceof Node && cell.nodeName === "TD" ? cell : el("td", "", cell ?? ""))));
}
function countRow(word, count, age, tone) {
  const longest = age === null || count === 0 ? null : el("span", "note", "longest for " + duration(age));
  const head = el("th", "", word, longest);
  head.scope = "row";
  return el("tr", "", head, el("td", count === 0 ? "none" : tone || "", String(count)));
}
function group(title, rows) {
  return el("section", "group", el("h3", "", title), el("table", "", el("tbody", "", ...rows)));
}
function counts(status) {
  const box = byId("counts");
  if (status.states === null) return box.replaceChildren(el("p", "empty", "The ledger does not answer; nothing can be counted."));
  const byState = new Map(status.states.map((each) => [each.state, each]));
  const rowOf = (state) => {
    const { count, oldestSeconds } = byState.get(state) ?? { count: 0, oldestSeconds: null };
    return countRow(WORDS[state] ?? state, count, oldestSeconds, TONES[state]);
  };
  const { pending, parked } = status.deliveries;
  const person = group("Needs a person", [rowOf("parked"), countRow("Results that can't be delivered", parked, null, "bad"),
    countRow("Tasks (cryobridge tasks)", status.tasks.open, status.tasks.oldestSeconds, "bad")]);
  const groups = GROUPS.map(([title, states]) => {
    const rows = states.map(rowOf);
    if (title === "Waiting here") rows.push(countRow("Results on their way to the lab", pending, null, ""));
    return group(title, rows);
  });
  const ended = status.endedLastDay.map(({ state, count }) => countRow(WORDS[state] ?? state, count, null, TONES[state]));
  box.replaceChildren(person, ...groups, group("Ended in the last 24 hours", ended));
}
function stateBadge(state) {
  return el("span", "badge " + (TONES[state] ?? "wait"), WORDS[state] ?? state);
}
function reasonCell(reason) {
  if (!reason) return el("td", "", "");
  const failureCode = reason.code ? el("span", "code", " " + reason.code) : null;
  return el("td", "", el("span", "", reason.text, failureCode));
}
function hintCell(hint) {
  return hint ? el("td", "", el("span", "", ...ticks(hint))) : el("td", "");
}
function numberAtService({ requestId, procedureId }) {
  if (requestId !== null) return String(requestId);
  return procedureId === null ? "" : "procedure " + procedureId;
}
function numberedBy({ placerAuthority }) {
  return placerAuthority === null ? null : el("span", "note", " " + placerAuthority);
}
function orderCells(order) {
  return [
    el("td", "", el("strong", "keep", order.placerOrderNumber ?? "(no number)"), numberedBy(order), el("br"), el("span", "code", order.orderId)),
    el("td", "", order.operation, el("br"), el("span", "note", order.facilityCode)),
    order.connector,
  ];
}
function table(box, heads, rows, nothing) {
  if (rows === null) return box.replaceChildren(el("p", "empty", "The ledger does not answer."));
  if (rows.length === 0) return box.replaceChildren(el("p", "empty", nothing));
  const heading = heads.map((head) => { const th = el("th", "", head); th.scope = "col"; return th; });
  // On a narrow screen each cell stands below its heading.
  for (const each of rows) [...each.children].forEach((cell, index) => { cell.dataset.head = heads[index] ?? ""; });
  box.replaceChildren(el("table", "", el("thead", "", el("tr", "", ...heading)), el("tbody", "", ...rows)));
}
function show(status) {
  const now = Date.parse(status.generatedAt);
  const ready = byId("ready");
  ready.textContent = status.isReady ? "\\u2713 Taking orders" : "\\u2717 Not taking orders";
  ready.className = "badge " + (status.isReady ? "good" : "bad");
  const needed = status.attention.filter(({ level }) => level === "act").length;
  document.title = (status.isReady ? "" : "\\u2717 ") + (needed === 0 ? "" : "(" + needed + ") ") + "Cryobridge";
  attention(status.attention, now);
  counts(status);
  const stuck = status.stuckOrders?.map((order) => row([
    ...orderCells(order), stateBadge(order.state), since(order.changedAt, now), reasonCell(order.reason),
    hintCell(order.reason?.hint),
  ])) ?? null;
  const parked = status.states?.find(({ state }) => state === "parked")?.count ?? 0;
  byId("more").hidden = stuck === null || stuck.length >= parked;
  byId("more").replaceChildren("These wait longest. All " + parked + ": ", code("cryobridge orders list --state parked"));
  table(byId("stuck"), ["Order", "Asks for", "From", "State", "For", "Why", "What to do"], stuck, "Nothing is stuck.");
  const failing = status.failingDeliveries ?? [];
  byId("failing").hidden = failing.length === 0;
  table(byId("results"), ["Through", "Results", "State", "For", "Why", "What to do"], failing.map((each) => row([
    el("td", "", el("strong", "keep", each.connector)), String(each.count),
    el("td", "", el("span", "badge " + (each.state === "parked" ? "bad" : "wait"), each.state === "parked" ? "Parked" : "Tried again")),
    since(each.since, now), reasonCell(each), hintCell(each.hint),
  ])), "");
  const waiting = status.waitingMessages ?? [];
  byId("waiting").hidden = waiting.length === 0;
  table(byId("codes"), ["Waits for", "Code", "From", "Messages", "For"], waiting.map((each) => row([
    each.kind === "earlier" ? "an earlier message" : each.kind, el("td", "", el("strong", "keep", each.code ?? "")),
    each.connector, String(each.messages), since(each.since, now),
  ])), "");
  const workers = status.workers ?? [];
  byId("workers").hidden = workers.length < 2;
  table(byId("daemons"), ["Daemon", "Machine", "Version", "Does", "State", "Orders in hand", "Since", "Last seen"], workers.map((each) => row([
    el("td", "", el("strong", "keep", each.name), el("br"), el("span", "code", each.id)), each.host, each.version, each.roles.join(", "),
    el("td", "", el("span", "badge " + (each.state === "works" || each.state === "leads" ? "good" : each.state === "stopping" ? "wait" : "bad"), DAEMON[each.state])),
    String(each.ordersInHand), since(each.since, now), since(each.seenAt, now),
  ])), "");
  const overdue = status.overdueTanks ?? [];
  byId("tanks").hidden = overdue.length === 0;
  table(byId("overdue"), ["Tank", "Facility", "Last refill", "Without one for"], overdue.map((tank) => row([
    el("td", "", el("strong", "keep", tank.storage)), tank.facilityCode,
    tank.lastRefillAt === null ? "none seen" : new Date(tank.lastRefillAt).toLocaleString(), since(tank.since, now),
  ])), "");
  const recent = status.recentOrders?.map((order) => row([
    ...orderCells(order), stateBadge(order.state), since(order.changedAt, now),
    numberAtService(order), reasonCell(order.reason),
  ])) ?? null;
  table(byId("recent"), ["Order", "Asks for", "From", "State", "For", "Request", "Reason"], recent, "No order has come in yet.");
}
async function refresh() {
  try {
    const answer = await fetch("/api/status", { headers: { accept: "application/json" }, cache: "no-store", signal: AbortSignal.timeout(15000) });
    if (answer.status === 401) return location.reload();
    if (!answer.ok) throw new Error("HTTP " + answer.status);
    const status = await answer.json();
    byId("silent").hidden = true;
    // Nothing moves under someone who is marking an order number to copy it; but what is old must not look new.
    isHeld = String(getSelection()) !== "" && lastAnswerAt !== 0;
    if (!isHeld) { show(status); lastAnswerAt = Date.now(); }
  } catch {
    byId("silent").hidden = false;
  } finally {
    byId("updated").textContent = lastAnswerAt === 0 ? "no answer yet" : "as of " + new Date(lastAnswerAt).toLocaleTimeString() + (isHeld ? ", held while text is marked" : "");
    setTimeout(refresh, PERIOD_MS);
  }
}
refresh();
`;
