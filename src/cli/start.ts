import { Command } from "commander";
import { type Cli, toAction } from "./session.ts";

/** `cryobridge start`. */
export function startCommand(cli: Cli): Command {
  return new Command("start")
    .description(
      "Run the daemon: take orders in, work them off, show the console. Ctrl-C or SIGTERM ends it orderly.",
    )
    .option("--role <roles>", "what it does, all or some of it", "intake,worker,console")
    .addHelpText("after", "\nExample:\n  cryobridge start --config /etc/cryobridge/cryobridge.yaml")
    .action(toAction(cli, async () => (await import("./start-daemon.ts")).startProgram));
}
