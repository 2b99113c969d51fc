import type { Command } from "commander";
import { testPlaces } from "../../app/alert-places.ts";
import { maintenanceUntil } from "../../app/maintenance.ts";
import { ALERT_KIND_NAMES, type AlertKind } from "../../core/alert.ts";
import { Failure } from "../../core/failures.ts";
import { createLogger } from "../../core/logger.ts";
import { VERSION } from "../../core/version.ts";
import { acknowledgeAlert, findAlert } from "../../ledger/alerts/alerts.ts";
import {
  endSilence,
  findSilence,
  listSilences,
  type Silenced,
  silenceAlerts,
} from "../../ledger/alerts/silences.ts";
import { formatId, parseId } from "../../ledger/ids.ts";
import {
  describeAcknowledged,
  describeMaintenance,
  describeSilenced,
  describeUnsilenced,
  SILENCE_COLUMNS,
} from "../../operator/alert-columns.ts";
import { ALERT_LIST } from "../../operator/lists/alerts.ts";
import { clean } from "../../operator/text.ts";
import { actOnEach, getAllNamed, getNamed, printDone, requireReason } from "../acting.ts";
import { durationWithin, textOr, wholeNumber } from "../arguments.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { type OpenSite, readConfig, withLedger } from "../open.ts";
import { printList } from "../output/list.ts";
import { defineList } from "../output/listing.ts";
import { type Cli, type Session, toAction } from "../session.ts";

const KINDS = ALERT_KIND_NAMES.join(", ");

/** `cryobridge alerts …`. */
export function define(alerts: Command, cli: Cli): void {
  defineList(alerts, cli, ALERT_LIST, {
    ...{ isDefault: true, examples: ["cryobridge alerts list --since 30d"] },
    check: (session, { config }) => {
      if (config.alerts.to.length === 0)
        session.note("Alerts are sent to nobody: the configuration has no place under alerts.to.");
      const until = maintenanceUntil(config.alerts, new Date(session.clock.now()));
      if (until) session.note(describeMaintenance(until));
    },
  });
  alerts
    .command("acknowledge")
    .description("Write down that you see to alerts; your name and reason are kept with them.")
    .argument("<id...>", "a…")
    .requiredOption("--reason <text>", "what you do about it")
    .addHelpText("after", '\nExample:\n  cryobridge alerts acknowledge a12 --reason "called the facility"')
    .action(toAction(cli, acknowledge));
  alerts
    .command("silence")
    .description(
      "Announce nothing of an alert, or of all of a kind, for a while. What still holds then is announced.",
    )
    .argument("<id-or-kind>", `a…, or one of ${KINDS}`, textOr(ALERT_KIND_NAMES))
    .requiredOption(
      "--for <duration>",
      "for how long: from 1m to 90d",
      durationWithin(60_000, 90 * 86_400_000),
    )
    .requiredOption("--reason <text>", "why")
    .addHelpText("after", '\nExample:\n  cryobridge alerts silence noTraffic --for 4h --reason "holiday"')
    .action(toAction(cli, silence));
  alerts
    .command("silences")
    .description("List what is silenced right now.")
    .option("--limit <n>", "at most this many", wholeNumber(1, 10_000), 50)
    .addHelpText("after", "\nExample:\n  cryobridge alerts silences")
    .action(toAction(cli, list));
  alerts
    .command("unsilence")
    .description("End silences: what they kept back is announced if it still holds.")
    .argument("<id...>", "s…")
    .option("--reason <text>", "why")
    .addHelpText("after", "\nExample:\n  cryobridge alerts unsilence s3")
    .action(toAction(cli, unsilence));
  alerts
    .command("test")
    .description("Send each place of alerts.to a test message, and say what came of it. Needs no daemon.")
    .option("--to <name>", "this place alone")
    .addHelpText("after", "\nExample:\n  cryobridge alerts test --to email")
    .action(toAction(cli, test));
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
        return [isDone, describeAcknowledged(isDone)];
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
  session.result({ ...what, until }, [clean(`✓ ${describeSilenced(what, until)}`)]);
}

const SILENCES = { key: "silences", columns: SILENCE_COLUMNS, nothing: "Nothing is silenced." };

async function list(session: Session, { limit }: { readonly limit: number }): Promise<undefined> {
  const rows = await withLedger(session, ({ pool }) => listSilences(pool, limit + 1));
  printList(session, SILENCES, rows, limit);
}

/** Status 1 when one of them had ended. */
async function unsilence(
  session: Session,
  words: readonly string[],
  { reason }: Reasoned,
): Promise<ExitStatus | undefined> {
  const done = await withLedger(session, async ({ pool }) =>
    actOnEach(session, await getAllNamed("s", words, (id) => findSilence(pool, id)), {
      idOf: ({ id }) => formatId("s", id),
      change: async ({ id }) => {
        const isDone = await endSilence(pool, id, { actor: session.actor, reason });
        return [isDone, describeUnsilenced(isDone)];
      },
    }),
  );
  return printDone(session, done);
}

async function subjectOf(pool: OpenSite["pool"], word: string): Promise<Silenced> {
  const kind = ALERT_KIND_NAMES.find((each): each is AlertKind => each === word);
  if (kind !== undefined) return { kind, about: null };
  if (parseId("a", word) === undefined)
    throw new Failure("CLI_USAGE", `${word}: expected the id of an alert, such as a12, or one of ${KINDS}`);
  const alert = await getNamed("a", word, (id) => findAlert(pool, id));
  return { kind: alert.kind, about: alert.about };
}

/** Status 1 when a place did not take it. */
async function test(session: Session, { to }: { readonly to?: string }): Promise<ExitStatus | undefined> {
  const config = readConfig(session);
  const { clock, io, secrets } = session;
  const logger = createLogger({ level: "info" }, io.stderr, secrets);
  const results = await testPlaces(config, { version: VERSION, clock, logger, path: io.env.PATH }, to);
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
