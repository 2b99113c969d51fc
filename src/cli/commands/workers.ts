import type { Command } from "commander";
import { Failure } from "../../core/failures.ts";
import { readWorkerOverview } from "../../operator/overviews/workers.ts";
import { DRAIN } from "../../operator/things/workers.ts";
import type { ExitStatus } from "../exit-status.ts";
import { type KeptSite, type Watching, watched, watchOption } from "../live/watched.ts";
import { printOverview } from "../output/print-parts.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import { actOnSite } from "../site-act-commands.ts";

/** `cryobridge workers`. */
export function define(command: Command, cli: Cli): void {
  command
    .option(
      "--drain <name>",
      "have the daemon of this name (or id, such as w12) finish what it has in hand and end",
    )
    .option("--reason <text>", "why, for the audit")
    .addOption(watchOption())
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge workers\n  cryobridge workers --drain lab-server-2 --reason 'upgrade'",
    )
    .action(toAction(cli, showOrDrain));
}

interface Options extends Watching {
  readonly drain?: string;
  readonly reason?: string;
}

function showOrDrain(session: Session, options: Options): Promise<ExitStatus | undefined> {
  const { drain, watch } = options;
  if (drain === undefined) return watched(show)(session, options);
  if (watch !== undefined) throw new Failure("CLI_USAGE", "--watch shows workers, it goes with no --drain");
  return actOnSite(session, DRAIN, DRAIN.on(drain), options);
}

async function show(session: Session, site: KeptSite): Promise<undefined> {
  const { pool } = await site.open();
  printOverview(session, await readWorkerOverview(pool, session));
}
