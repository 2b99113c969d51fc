import { ALERT_KINDS } from "../../core/condition-kinds.ts";
import type { Alert } from "../../ledger/alerts/alerts.ts";
import type { Silence } from "../../ledger/alerts/silences.ts";
import { ALERT_LIST } from "../../operator/lists/alerts.ts";
import { SILENCE_LIST } from "../../operator/lists/silences.ts";
import { describeMaintenance, maintenanceUntil } from "../../operator/maintenance.ts";
import { LEVELS } from "../../operator/signs.ts";
import { ALERTS, SILENCE, SILENCE_INPUT, SILENCES, TEST_PLACES } from "../../operator/things/alerts.ts";
import type { Attention } from "../../standing/status-document.ts";
import { addActs, beforeRows, formOf, formsOf, inputOf } from "../act-forms.ts";
import { options, section } from "../components.ts";
import type { Records } from "../deps.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../layout.ts";
import { readListPage } from "../list-page.ts";
import { addDetails } from "../record-page.ts";
import type { Site, Visit } from "../site.ts";
import { addSiteAct } from "../site-act-forms.ts";
import { whereToAct } from "./overview.ts";

const PATH = "/alerts";

/** Alerts: the list, the page of one alert, seeing to it, silences, and trying the places. */
export function addAlertPages(site: Site, records: Records): void {
  site.filter(PATH);
  site.page(PATH, (visit) => listPage(visit, records));
  addActs(site, ALERTS, records);
  addActs(site, SILENCES, records);
  addDetails(site, ALERTS, records, {
    arrange: (at) => html`${at("facts")}${at("sent")}<p class="more"><a href="${PATH}">All alerts</a></p>`,
    forms: async (alert, _details, visit) => {
      const command = alert.overAt ? undefined : await commandOf(alert, visit);
      return command && whereToAct(command);
    },
  });
  addSiteAct(site, SILENCE, records, ({ form }) => {
    const what = ALERT_KINDS.find((each) => each === form.get("kind"));
    return what && { what, forMs: SILENCE_INPUT.parse(form.get(SILENCE_INPUT.name) ?? "") };
  });
  addSiteAct(site, TEST_PLACES, records, ({ form }) => ({
    place: form.get("place") || undefined,
  }));
}

/** What leads to what an open alert is about, as the overview has it. */
async function commandOf({ kind, about }: Alert, { status }: Visit): Promise<string | undefined> {
  const { attention } = await status();
  const isMeant = (each: Pick<Attention, "alerts">) =>
    each.alerts.some((one) => one.kind === kind && one.about === about);
  return attention.find(isMeant)?.command ?? undefined;
}

async function listPage(visit: Visit, records: Records): Promise<Page> {
  const { config } = records;
  const alertPlaces = config.alerts.to.map(({ name }) => name);
  const [{ rows: alerts, table, form, more }, silences] = await Promise.all([
    readListPage(ALERT_LIST, PATH, visit, records),
    readListPage(SILENCE_LIST, PATH, visit, records),
  ]);
  const urgency = Object.keys(LEVELS);
  const open = alerts
    .filter(({ overAt }) => overAt === undefined)
    .sort((a, b) => urgency.indexOf(a.level) - urgency.indexOf(b.level));
  const over = alerts.filter(({ overAt }) => overAt !== undefined);
  const quietUntil = maintenanceUntil(config.alerts, new Date(visit.viewer.clock.now()));
  const before = beforeRows("what to do", (each: Silence) => formsOf(SILENCES, each, visit, records), visit);
  return {
    title: open.length === 0 ? "Alerts" : `(${open.length}) Alerts`,
    section: PATH,
    isLive: true,
    body: html`
<h1>Alerts</h1>
${alertPlaces.length === 0 ? html`<p class="banner bad">Alerts are sent to nobody, and nothing is watched: the configuration has no place under <code>alerts.to</code>. The <a href="/">overview</a> says what is wrong.</p>` : html`<p class="note">Sent to ${alertPlaces.join(", ")}.</p>`}
${quietUntil === undefined ? "" : html`<p class="why">${describeMaintenance(quietUntil)}</p>`}
<div class="acts">${alertPlaces.length === 0 ? "" : testForm(alertPlaces, visit)}${silenceForm(visit)}</div>
${section("Alerts that hold", table({ rows: open, nothing: visit.query.has("before") ? "No other." : "No alert holds." }))}
${section("Silences", silences.table(before))}
${section("Over lately", html`${form}${table({ rows: over, nothing: "None." })}`)}
${more}`,
  };
}

function silenceForm(visit: Visit): Html {
  const kinds = ALERT_KINDS.map((kind) => html`<option>${kind}</option>`);
  const inputs = html`<label>Kind<select name="kind">${kinds}</select></label>${inputOf({ ...SILENCE_INPUT, label: SILENCE_INPUT.label() })}`;
  return formOf(SILENCE, SILENCE.path, { what: "", forMs: undefined }, visit, { inputs });
}

function testForm(places: readonly string[], visit: Visit): Html {
  const inputs = html`<label>To<select name="place">${options(places, undefined, "all")}</select></label>`;
  return formOf(TEST_PLACES, TEST_PLACES.path, {}, visit, { inputs });
}
