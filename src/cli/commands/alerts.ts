import { Argument, type Command, Option } from "commander";
import { ALERT_KINDS } from "../../core/condition-kinds.ts";
import { listSilences } from "../../ledger/alerts/silences.ts";
import { describeMaintenance, SILENCE_COLUMNS } from "../../operator/alert-columns.ts";
import { ALERT_LIST } from "../../operator/lists/alerts.ts";
import { maintenanceUntil } from "../../operator/maintenance.ts";
import { ALERTS, SILENCE, SILENCES, TEST_PLACES } from "../../operator/things/alerts.ts";
import { durationWithin, textOr, wholeNumber } from "../arguments.ts";
import { withLedger } from "../open.ts";
import { printList } from "../output/list.ts";
import { defineList } from "../output/listing.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import { defineSiteAct } from "../site-acts.ts";
import { defineAct } from "../things.ts";

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
  const spans = durationWithin(60_000, 90 * 86_400_000);
  defineSiteAct(alerts.command("silence"), cli, SILENCE, {
    argument: new Argument("<id-or-kind>", `a…, or one of ${KINDS}`).argParser(textOr(ALERT_KINDS)),
    options: [
      new Option("--for <duration>", "for how long: from 1m to 90d").argParser(spans).makeOptionMandatory(),
    ],
    on: (asked, what) => ({ what, forMs: asked.for as number }),
  });
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

const SILENCE_LIST = { key: "silences", columns: SILENCE_COLUMNS, nothing: "Nothing is silenced." };

async function list(session: Session, { limit }: { readonly limit: number }): Promise<undefined> {
  const rows = await withLedger(session, ({ pool }) => listSilences(pool, limit + 1));
  printList(session, SILENCE_LIST, rows, limit);
}
