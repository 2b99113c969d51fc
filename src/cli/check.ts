import { Command } from "commander";
import { type Cli, toAction } from "./session.ts";

/** `cryobridge check`. */
export function checkCommand(cli: Cli): Command {
  return new Command("check")
    .description(
      "Look whether everything is right: configuration, profiles, folders, database, queue, service.",
    )
    .option("--offline", "only what needs neither network nor database")
    .addHelpText("after", "\nExample:\n  cryobridge check --offline")
    .action(toAction(cli, async () => (await import("./check-all.ts")).checkAll));
}
