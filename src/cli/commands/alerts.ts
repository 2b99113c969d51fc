import type { Command } from "commander";
import { sendTest } from "../../alerts/send.ts";
import { alertPlaces, senderOf } from "../../app/alert-places.ts";
import { ALERT_KIND_NAMES, type AlertKind } from "../../core/alert.ts";
import { Failure } from "../../core/failures.ts";
import { createLogger } from "../../core/logger.ts";
import { VERSION } from "../../core/version.ts";
import { acknowledgeAlert, findAlert, listRecentAlerts } from "../../ledger/alerts/alerts.ts";
import { listAlertDeliveries } from "../../ledger/alerts/messages.ts";
import { silenceAlerts } from "../../ledger/alerts/silences.ts";
import { formatId } from "../../ledger/ids.ts";
import { ALERT_COLUMNS, type AlertRow } from "../../operator/alert-columns.ts";
import { clean } from "../../operator/text.ts";
import { localTime } from "../../operator/times.ts";
import { actOnEach, getAllNamed, getNamed, printDone, requireReason } from "../acting.ts";
import { duration, wholeNumber } from "../arguments.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { type OpenSite, readConfig, withLedger } from "../open.ts";
import { printList } from "../output/list.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge alerts …`. */
export function define(alerts: Command, cli: Cli): void {
  alerts
    .command("list", { isDefault: true })
    .description("List alerts that hold, and those that were over lately.")
    .option(
      "--since <duration>",
      "of those that are over, the ones that ended within this time",
      duration,
      604_800_000,
    )
    .option("--limit <n>", "at most this many", wholeNumber(1, 10_000), 50)
    .addHelpText("after", "\nExample:\n  cryobridge alerts list --since 30d")
    .action(toAction(cli, listAlerts));
  alerts
    .command("acknowledge")
    .description("Write down that you see to alerts; your name and reason are kept with them.")
    .argument("<id...>", "a…")
    .option("--reason <text>", "what you do about it")
    .addHelpText("after", '\nExample:\n  cryobridge alerts acknowledge a12 --reason "called the facility"')
    .action(toAction(cli, acknowledge));
  alerts
    .command("silence")
    .description(
      "Announce nothing of an alert, or of all of a kind, for a while. What still holds then is announced.",
    )
    .argument("<id-or-kind>", `a…, or one of ${ALERT_KIND_NAMES.join(", ")}`)
    .requiredOption("--for <duration>", "for how long", duration)
    .option("--reason <text>", "why")
    .addHelpText("after", '\nExample:\n  cryobridge alerts silence noTraffic --for 4h --reason "holiday"')
    .action(toAction(cli, silence));
  alerts
    .command("test")
    .description("Send each place of alerts.to a test message, and say what came of it. Needs no daemon.")
    .option("--to <name>", "this place alone")
    .addHelpText("after", "\nExample:\n  cryobridge alerts test --to email")
    .action(toAction(cli, test));
}

const ALERTS = {
  key: "alerts",
  columns: ALERT_COLUMNS,
  nothing: "No alert holds, and none was over lately.",
};

interface ListOptions {
  readonly since: number;
  readonly limit: number;
}

async function listAlerts(session: Session, { since, limit }: ListOptions): Promise<undefined> {
  const rows = await withLedger(session, async ({ pool, config }) => {
    if (config.alerts.to.length === 0)
      session.note("Nobody is told: the configuration has no place under alerts.to.");
    const alerts = await listRecentAlerts(pool, since, limit + 1);
    const sent = await listAlertDeliveries(
      pool,
      alerts.map(({ id }) => id),
    );
    const byAlert = Map.groupBy(sent, ({ alertId }) => alertId);
    return alerts.map((alert): AlertRow => ({ ...alert, messages: byAlert.get(alert.id) ?? [] }));
  });
  printList(session, ALERTS, rows, limit);
}

interface Reasoned {
  readonly reason?: string;
}

/** Status 1 when one of them was acknowledged before, or is over. */
async function acknowledge(
  session: Session,
  words: readonly string[],
  options: Reasoned,
): Promise<ExitStatus | undefined> {
  const act = { actor: session.actor, reason: requireReason("alerts acknowledge", options.reason) };
  const done = await withLedger(session, async ({ pool }) =>
    actOnEach(session, await getAllNamed("a", words, (id) => findAlert(pool, id)), {
      idOf: ({ id }) => formatId("a", id),
      change: async ({ id }) => {
        const isDone = await acknowledgeAlert(pool, id, act);
        return [isDone, isDone ? "is acknowledged" : "is over, or somebody sees to it already"];
      },
    }),
  );
  return printDone(session, done);
}

async function silence(
  session: Session,
  word: string,
  options: Reasoned & { readonly for: number },
): Promise<undefined> {
  const act = { actor: session.actor, reason: requireReason("alerts silence", options.reason) };
  const { what, until } = await withLedger(session, async ({ pool }) => {
    const subject = await subjectOf(pool, word);
    return { what: subject, until: await silenceAlerts(pool, subject, options.for, act) };
  });
  const name = what.about === null ? `All alerts ${what.kind}` : word;
  session.result({ ...what, until }, [`✓ ${name}: nothing is announced until ${localTime(until)}`]);
}

async function subjectOf(pool: OpenSite["pool"], word: string) {
  const kind = ALERT_KIND_NAMES.find((each): each is AlertKind => each === word);
  if (kind !== undefined) return { kind, about: null };
  const alert = await getNamed("a", word, (id) => findAlert(pool, id));
  return { kind: alert.kind, about: alert.about };
}

/** Status 1 when a place did not take it. */
async function test(session: Session, { to }: { readonly to?: string }): Promise<ExitStatus | undefined> {
  const config = readConfig(session);
  const { clock, io, secrets } = session;
  const logger = createLogger({ level: "info", pretty: false }, secrets);
  const places = alertPlaces(config, { version: VERSION, clock, logger, path: io.env.PATH });
  const wanted = places.filter(({ name }) => to === undefined || name === to);
  if (wanted.length === 0) {
    const names = places.map(({ name }) => name).join(", ");
    const has =
      names === "" ? "the configuration has no place under alerts.to" : `the configuration has ${names}`;
    throw new Failure("CLI_USAGE", to === undefined ? `${has}: nobody is told` : `--to ${to}: ${has}`);
  }
  const results = await sendTest(wanted, senderOf({ version: VERSION }), clock);
  const lines = results.map(({ place, failure }) =>
    failure === undefined
      ? `${session.paint("green", "✓")} ${place}: sent`
      : `${session.paint("red", "✗")} ${clean(`${place}: ${failure}`)}`,
  );
  const json = results.map(({ place, failure }) => ({
    place,
    isSent: failure === undefined,
    failure: failure ?? null,
  }));
  session.result({ places: json }, lines);
  return results.every(({ failure }) => failure === undefined) ? undefined : EXIT.failed;
}
