import type { Command } from "commander";
import { RELOAD } from "../../operator/things/workers.ts";
import type { Cli } from "../session.ts";
import { defineSiteAct } from "../site-act-commands.ts";

/** `cryobridge reload`: status 3 when a daemon refused the file, 1 when one has not answered, 5 when there is none. */
export function define(command: Command, cli: Cli): void {
  defineSiteAct(command, cli, RELOAD, { on: () => ({}) });
}
