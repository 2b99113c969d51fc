import { Command } from "commander";
import { wholeNumber } from "./arguments.ts";
import { type Cli, toAction } from "./session.ts";

/** `cryobridge refills …`. */
export function refillsCommand(cli: Cli): Command {
  const refills = new Command("refills").description(
    "List liquid-nitrogen refills that are followed, and how long ago each tank was refilled.",
  );
  refills
    .command("list", { isDefault: true })
    .description("List refills, latest change first.")
    .option("--facility <name>", "only refills of this facility, by its name in the configuration")
    .option("--since <time>", "only refills that changed since: 2h, 3d, or 2026-11-21T08:00")
    .option("--limit <n>", "at most so many", wholeNumber(1, 10_000), 50)
    .addHelpText("after", "\nExample:\n  cryobridge refills list --facility NORTH --since 7d")
    .action(toAction(cli, async () => (await import("./refills-run.ts")).listRefillsCommand));
  refills
    .command("tanks")
    .description("List tanks with their last completed refill, those without one for longest first.")
    .option("--facility <name>", "only tanks of this facility, by its name in the configuration")
    .addHelpText("after", "\nExample:\n  cryobridge refills tanks")
    .action(toAction(cli, async () => (await import("./refills-run.ts")).listTanksCommand));
  return refills;
}
