import { Argument, type Command, Option } from "commander";
import { ALERT_KINDS } from "../../core/condition-kinds.ts";
import { ALERT_LIST } from "../../operator/lists/alerts.ts";
import { SILENCE_LIST } from "../../operator/lists/silences.ts";
import { describeMaintenance, maintenanceUntil } from "../../operator/maintenance.ts";
import { ALERTS, SILENCE, SILENCES, TEST_PLACES } from "../../operator/things/alerts.ts";
import { durationWithin, textOr } from "../arguments.ts";
import { defineList } from "../list-command.ts";
import { defineAct } from "../record-commands.ts";
import type { Cli } from "../session.ts";
import { defineSiteAct } from "../site-act-commands.ts";

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
  defineList(alerts, cli, SILENCE_LIST, { name: "silences", examples: ["cryobridge alerts silences"] });
  defineAct(alerts, cli, SILENCES, SILENCES.acts.end, { argument: "s…" });
  defineSiteAct(alerts.command("test"), cli, TEST_PLACES, {
    options: [new Option("--to <name>", "this place alone")],
    on: ({ to }) => ({ place: to as string | undefined }),
  });
}
