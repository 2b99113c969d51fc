import type { Command } from "commander";
import type { ExitStatus } from "../exit-status.ts";
import { type KeptSite, watched, watchOption } from "../live/watched.ts";
import { wrapped } from "../output/wrap.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import {
  attentionLines,
  callLines,
  countsInWords,
  exitStatusOfSite,
  readSiteStatus,
  standingLines,
} from "../site-status.ts";

/** `cryobridge status`. */
export function define(command: Command, cli: Cli): void {
  command
    .addOption(watchOption())
    .addHelpText(
      "after",
      "\nExit status: 0 nobody is needed, 1 somebody is, 4 no daemon works or the database is away.\n\nExample:\n  cryobridge status\n  cryobridge status --watch",
    )
    .action(toAction(cli, watched(showStatus)));
}

/** Status 1 when a person is needed, 4 when no daemon works. */
async function showStatus(session: Session, site: KeptSite): Promise<ExitStatus | undefined> {
  const found = await readSiteStatus(session, site);
  const { status, isRunning } = found;
  const whole = (line: string) => wrapped(line, session.width, ["", "  "]);
  session.result({ isDaemonRunning: isRunning, ...status }, [
    ...standingLines(found, session, true),
    ...attentionLines(status, session),
    "",
    ...[...countsInWords(status), ...callLines(status)].flatMap(whole),
  ]);
  return exitStatusOfSite(found);
}
