import { type Command, Option } from "commander";
import { maintenanceUntil } from "../../app/maintenance.ts";
import { ALERT_KINDS, type AlertKind } from "../../core/condition-kinds.ts";
import { Failure } from "../../core/failures.ts";
import { listSilences, type Silenced, silenceAlerts } from "../../ledger/alerts/silences.ts";
import { parseId } from "../../ledger/ids.ts";
import { describeMaintenance, describeSilenced, SILENCE_COLUMNS } from "../../operator/alert-columns.ts";
import { ALERT_LIST } from "../../operator/lists/alerts.ts";
import { clean } from "../../operator/text.ts";
import { ALERTS, SILENCES, TEST_PLACES } from "../../operator/things/alerts.ts";
import { durationWithin, textOr, wholeNumber } from "../arguments.ts";
import { type OpenSite, withLedger } from "../open.ts";
import { printList } from "../output/list.ts";
import { defineList } from "../output/listing.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import { defineSiteAct } from "../site-acts.ts";
import { defineAct, getNamed, requireReason } from "../things.ts";

const KINDS = ALERT_KINDS.join(", ");

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
  defineAct(alerts, cli, ALERTS, ALERTS.acts.acknowledge, { argument: "a…" });
  alerts
    .command("silence")
    .description(
      "Announce nothing of an alert, or of all of a kind, for a while. What still holds then is announced.",
    )
    .argument("<id-or-kind>", `a…, or one of ${KINDS}`, textOr(ALERT_KINDS))
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
  defineAct(alerts, cli, SILENCES, SILENCES.acts.end, { argument: "s…" });
  defineSiteAct(alerts.command("test"), cli, TEST_PLACES, {
    options: [new Option("--to <name>", "this place alone")],
    on: ({ to }) => ({ place: to as string | undefined }),
  });
}

interface Reasoned {
  readonly reason?: string;
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

const SILENCE_LIST = { key: "silences", columns: SILENCE_COLUMNS, nothing: "Nothing is silenced." };

async function list(session: Session, { limit }: { readonly limit: number }): Promise<undefined> {
  const rows = await withLedger(session, ({ pool }) => listSilences(pool, limit + 1));
  printList(session, SILENCE_LIST, rows, limit);
}

async function subjectOf(pool: OpenSite["pool"], word: string): Promise<Silenced> {
  const kind = ALERT_KINDS.find((each): each is AlertKind => each === word);
  if (kind !== undefined) return { kind, about: null };
  if (parseId("a", word) === undefined)
    throw new Failure("CLI_USAGE", `${word}: expected the id of an alert, such as a12, or one of ${KINDS}`);
  const alert = await getNamed(ALERTS, { pool }, word);
  return { kind: alert.kind, about: alert.about };
}
