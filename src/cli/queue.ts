import { Command } from "commander";
import { wholeNumber } from "./arguments.ts";
import { type Cli, toAction } from "./session.ts";

/** `cryobridge queue …`. */
export function queueCommand(cli: Cli): Command {
  const queue = new Command("queue").description("Look into the queues of work, and act on what is in them.");
  queue
    .command("list", { isDefault: true })
    .description("How much work stands where, what is tried again when, and what the lab doesn't have yet.")
    .option("--limit <n>", "at most so many lines of each kind", wholeNumber(1, 10_000), 50)
    .addHelpText("after", "\nExample:\n  cryobridge queue list --limit 10")
    .action(toAction(cli, async () => (await import("./queue-list.ts")).listQueueCommand));
  queue
    .command("show")
    .description("Show an order (o17), a delivery (d4), or a job by its id in BullMQ.")
    .argument("<id>", "o…, d… or a job's id")
    .addHelpText("after", "\nExample:\n  cryobridge queue show d4")
    .action(toAction(cli, async () => (await import("./queue-show.ts")).showQueueCommand));
  queue
    .command("retry")
    .description("Have orders and deliveries tried now instead of at their next planned time.")
    .argument("<id...>", "o… or d…")
    .option("--reason <text>", "why, for the audit")
    .addHelpText("after", "\nExample:\n  cryobridge queue retry o17 d4")
    .action(toAction(cli, async () => (await import("./queue-change.ts")).retryCommand));
  queue
    .command("remove")
    .description("Give up deliveries that the lab doesn't have, and discard orders.")
    .argument("<id...>", "o… or d…")
    .option("--reason <text>", "why, for the audit (required for an order that the service may have)")
    .option("-y, --yes", "don't ask")
    .addHelpText("after", '\nExample:\n  cryobridge queue remove d4 --reason "told by phone"')
    .action(toAction(cli, async () => (await import("./queue-change.ts")).removeCommand));
  queue
    .command("move")
    .description(
      "Have what waits of a connector that is configured no more told through another one of its type, and what its orders lead to later as well.",
    )
    .requiredOption("--from <connector>", "the name that is gone")
    .requiredOption("--to <connector>", "one that is configured")
    .option("--reason <text>", "why, for the audit")
    .option("-y, --yes", "don't ask")
    .addHelpText("after", "\nExample:\n  cryobridge queue move --from lims --to lims-new")
    .action(toAction(cli, async () => (await import("./queue-move.ts")).moveCommand));
  for (const [name, description] of [
    ["pause", "Hand nothing new to a queue until it is resumed; intake goes on."],
    ["resume", "Let a paused queue go on."],
  ] as const) {
    queue
      .command(name)
      .description(description)
      .argument("<queue>", "submit, track or deliver")
      .option("--reason <text>", "why, for the audit")
      .addHelpText("after", `\nExample:\n  cryobridge queue ${name} submit`)
      .action(toAction(cli, async () => (await import("./queue-change.ts")).pauseCommand(name)));
  }
  return queue;
}
