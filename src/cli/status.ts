import { Command } from "commander";
import { type Cli, toAction } from "./session.ts";

/** `cryobridge status`. */
export function statusCommand(cli: Cli): Command {
  return new Command("status")
    .description(
      "Say in a few lines how things stand: what is wrong, since when, what it affects and what to do.",
    )
    .addHelpText(
      "after",
      "\nExit status: 0 nobody is needed, 1 somebody is, 4 no daemon works or the database is away.\n\nExample:\n  cryobridge status",
    )
    .action(toAction(cli, async () => (await import("./status-run.ts")).showStatus));
}
