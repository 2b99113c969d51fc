import { ALERT_KIND_NAMES, type AlertKind } from "../../core/alert.ts";
import { parseDuration } from "../../core/duration.ts";
import { acknowledgeAlert, findAlert } from "../../ledger/alerts/alerts.ts";
import {
  endSilence,
  findSilence,
  listSilences,
  type Silence,
  type Silenced,
  silenceAlerts,
} from "../../ledger/alerts/silences.ts";
import { formatId, parseId } from "../../ledger/ids.ts";
import {
  ALERT_COLUMNS,
  ALERT_MESSAGE_COLUMNS,
  type AlertRow,
  describeAcknowledged,
  describeMaintenance,
  describeSilenced,
  describeUnsilenced,
  LEVELS,
  SILENCE_COLUMNS,
  withMessages,
} from "../../operator/alert-columns.ts";
import { ALERT_LIST } from "../../operator/lists/alerts.ts";
import { actForm, age, badge, details, listTable, options, section } from "../components.ts";
import type { Records } from "../deps.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { readListPage } from "../listing.ts";
import { withCommands } from "../page-of-command.ts";
import type { Answer, ReasonedSubmission, Site, Visit } from "../site.ts";
import type { Attention } from "../status-document.ts";
import { whereToAct } from "./overview.ts";

const PATH = "/alerts";
/** A person makes each of them, so nobody has more. */
const SILENCES = 1_000;

/** Alerts: the list, the page of one alert, seeing to it, silences, and trying the places. */
export function addAlertPages(site: Site, records: Records): void {
  const { pool, acts } = records;
  const find = async ({ params: { id = "" } }: Visit) => {
    const number = parseId("a", id);
    return number === undefined ? undefined : findAlert(pool, number);
  };
  /** What leads to what an open alert is about, as the overview has it. */
  const commandOf = async ({ kind, about }: AlertRow, { status }: Visit) => {
    const { attention } = await status();
    const isMeant = (each: Pick<Attention, "alerts">) =>
      each.alerts.some((one) => one.kind === kind && one.about === about);
    return attention.find(isMeant)?.command ?? undefined;
  };
  site.filter(PATH);
  site.page(PATH, (visit) => listPage(visit, records));
  site.page(`${PATH}/:id`, async (visit) => {
    const alert = await find(visit);
    const [row] = alert === undefined ? [] : await withMessages(pool, [alert]);
    return row && alertPage(row, row.overAt ? undefined : await commandOf(row, visit), visit);
  });
  site.reasonedForm(`${PATH}/:id/acknowledge`, async (submission) => {
    const alert = await find(submission);
    if (!alert) return undefined;
    const id = formatId("a", alert.id);
    const isDone = await acknowledgeAlert(pool, alert.id, submission.act);
    const lines = [`${id} ${describeAcknowledged(isDone)}.`];
    return { to: `${PATH}/${id}`, notice: { isDone, lines } };
  });
  site.reasonedForm(`${PATH}/:id/silence`, async (submission) => {
    const alert = await find(submission);
    const { kind, about } = alert ?? {};
    if (alert === undefined || kind === undefined || about === undefined) return undefined;
    return silence({ kind, about }, `${PATH}/${formatId("a", alert.id)}`, submission, records);
  });
  site.reasonedForm(`${PATH}/silence`, async (submission) => {
    const kind = ALERT_KIND_NAMES.find((each): each is AlertKind => each === submission.form.get("kind"));
    return kind && silence({ kind, about: null }, PATH, submission, records);
  });
  site.form(`${PATH}/silences/:id/end`, async ({ params: { id = "" }, act }) => {
    const number = parseId("s", id);
    if (number === undefined || !(await findSilence(pool, number))) return undefined;
    const isDone = await endSilence(pool, number, act);
    return { to: PATH, notice: { isDone, lines: [`${id} ${describeUnsilenced(isDone)}.`] } };
  });
  site.form(`${PATH}/test`, async ({ form, act }) => {
    const tested = await acts.testAlerts(form.get("place") || undefined, act);
    const lines = tested.map(({ place, failure }) => `${place}: ${failure ?? "sent"}`);
    return { to: PATH, notice: { isDone: tested.every(({ failure }) => failure === undefined), lines } };
  });
}

async function listPage(visit: Visit, records: Records): Promise<Page> {
  const { pool, alertPlaces, maintenanceUntil } = records;
  const [{ rows: alerts, form, more }, silences] = await Promise.all([
    readListPage(ALERT_LIST, PATH, visit, records),
    listSilences(pool, SILENCES),
  ]);
  const urgency = Object.keys(LEVELS);
  const open = alerts
    .filter(({ overAt }) => overAt === undefined)
    .sort((a, b) => urgency.indexOf(a.level) - urgency.indexOf(b.level));
  const over = alerts.filter(({ overAt }) => overAt !== undefined);
  const quietUntil = maintenanceUntil(new Date(visit.viewer.clock.now()));
  const before = { title: "what to do", cell: (each: Silence) => endForm(each, visit) };
  return {
    title: open.length === 0 ? "Alerts" : `(${open.length}) Alerts`,
    section: PATH,
    isLive: true,
    body: html`
<h1>Alerts</h1>
${alertPlaces.length === 0 ? html`<p class="banner bad">Alerts are sent to nobody, and nothing is watched: the configuration has no place under <code>alerts.to</code>. The <a href="/">overview</a> says what is wrong.</p>` : html`<p class="note">Sent to ${alertPlaces.join(", ")}.</p>`}
${quietUntil === undefined ? "" : html`<p class="why">${describeMaintenance(quietUntil)}</p>`}
<div class="acts">${alertPlaces.length === 0 ? "" : testForm(alertPlaces, visit)}${silenceForm(
      {
        action: `${PATH}/silence`,
        label: "Silence a kind…",
        explains: "Nothing is announced of any alert of the kind for a while; what still holds then is.",
        what: html`<label>Kind<select name="kind">${ALERT_KIND_NAMES.map((kind) => html`<option>${kind}</option>`)}</select></label>`,
      },
      visit,
    )}</div>
${section("What is wrong now", listTable(ALERT_COLUMNS, open, visit.viewer, { nothing: visit.query.has("before") ? "No other." : "No alert holds." }))}
${section("Silences", listTable(SILENCE_COLUMNS, silences, visit.viewer, { nothing: "Nothing is silenced.", ...(visit.mayAct ? { before } : {}) }))}
${section("Over lately", html`${form}${listTable(ALERT_COLUMNS, over, visit.viewer, { nothing: "None." })}`)}
${more}`,
  };
}

function alertPage(alert: AlertRow, command: string | undefined, visit: Visit): Page {
  const { viewer } = visit;
  const { level, kind, text, hint, since, overAt, acknowledgedAt } = alert;
  const id = formatId("a", alert.id);
  const { meaning, paint } = LEVELS[level];
  const facts = ALERT_COLUMNS.filter(({ key }) => !["id", "text", "hint"].includes(key ?? ""));
  const forms = [
    acknowledgedAt === undefined &&
      actForm(
        {
          ...{ action: `${PATH}/${id}/acknowledge`, label: "Acknowledge…", reason: "required" },
          explains: "Your name and what you do about it are kept, for everybody to see.",
        },
        visit,
      ),
    silenceForm(
      {
        ...{ action: `${PATH}/${id}/silence`, label: "Silence…" },
        explains: "Nothing is announced of it for a while; what still holds then is.",
      },
      visit,
    ),
  ];
  return {
    title: `${id} ${kind}`,
    section: PATH,
    isLive: true,
    body: html`
<div class="title"><h1>Alert ${id}</h1>${overAt ? badge("over", "dim") : badge(meaning, paint)}<span class="note">${kind}, ${age(since, viewer)}</span></div>
<div class="why${level === "act" && !overAt ? " act" : ""}"><strong class="what">${text}</strong>${hint === undefined ? "" : html`<div class="note">${withCommands(hint)}</div>`}${command === undefined ? "" : whereToAct(command)}</div>
${overAt ? "" : html`<div class="acts">${forms}</div>`}
${section("The alert", details(facts, alert, viewer))}
${section("What was sent of it", listTable(ALERT_MESSAGE_COLUMNS, alert.messages, viewer, { nothing: "Nothing yet." }))}
<p class="more"><a href="${PATH}">All alerts</a></p>`,
  };
}

/** For how long something is silenced, as a person chooses it. */
const SPANS = [
  ["1h", "an hour"],
  ["4h", "4 hours"],
  ["1d", "a day"],
  ["7d", "a week"],
  ["30d", "30 days"],
] as const;

function silenceForm(
  {
    what,
    ...form
  }: { readonly action: string; readonly label: string; readonly explains: string; readonly what?: Html },
  visit: Visit,
): Html {
  const spans = SPANS.map(([value, name]) => html`<option value="${value}">${name}</option>`);
  const inputs = html`${what}<label>For<select name="for">${spans}</select></label>`;
  return actForm({ ...form, reason: "required", inputs }, visit);
}

async function silence(
  silenced: Silenced,
  to: string,
  { form, act }: ReasonedSubmission,
  { pool }: Records,
): Promise<Answer> {
  const span = SPANS.find(([value]) => value === form.get("for"))?.[0] ?? "";
  const forMs = parseDuration(span);
  if (forMs === undefined)
    return { to, notice: { isDone: false, lines: ["Say for how long: nothing was silenced."] } };
  const until = await silenceAlerts(pool, silenced, forMs, act);
  return { to, notice: { isDone: true, lines: [describeSilenced(silenced, until)] } };
}

function endForm({ id }: Silence, visit: Visit): Html {
  return actForm({ action: `${PATH}/silences/${formatId("s", id)}/end`, label: "End it" }, visit);
}

function testForm(places: readonly string[], visit: Visit): Html {
  return actForm(
    {
      ...{ action: `${PATH}/test`, label: "Send a test…" },
      explains: "Each place gets a message which says that it is a test, and that nothing is wrong.",
      inputs: html`<label>To<select name="place">${options(places, undefined, "all")}</select></label>`,
    },
    visit,
  );
}
