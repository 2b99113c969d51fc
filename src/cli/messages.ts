import { Command, Option } from "commander";
import { wholeNumber } from "./arguments.ts";
import { type Cli, toAction } from "./session.ts";

/** `cryobridge messages …`. */
export function messagesCommand(cli: Cli): Command {
  const messages = new Command("messages").description("List and show what came in, and map it anew.");
  messages
    .command("list")
    .description("List messages, newest first.")
    .option("--connector <name>", "only messages that came through this connector")
    .addOption(
      new Option("--verdict <verdict>", "only messages with this verdict").choices([
        "accepted",
        "duplicate",
        "refused",
        "ignored",
        "waiting",
      ]),
    )
    .option("--since <time>", "only messages that came in since: 2h, 3d, or 2026-11-21T08:00")
    .option("--limit <n>", "at most so many", wholeNumber(1, 10_000), 50)
    .addHelpText("after", "\nExample:\n  cryobridge messages list --verdict refused --since 1d")
    .action(toAction(cli, async () => (await import("./messages-list.ts")).listMessagesCommand));
  messages
    .command("show")
    .description(
      "Show a message: where it came from, its verdict with every mistake, its orders, and its text.",
    )
    .argument("<id>", "such as m12")
    .addHelpText("after", "\nExample:\n  cryobridge messages show m12 --show-phi")
    .action(toAction(cli, async () => (await import("./messages-show.ts")).showMessageCommand));
  messages
    .command("replay")
    .description("Map messages anew with the present profile, as after a mended code table.")
    .argument("<id...>", "such as m12")
    .option("--reason <text>", "why, for the audit")
    .option("-y, --yes", "don't ask before replaying more than one")
    .addHelpText("after", "\nExample:\n  cryobridge messages replay m12 m13 --yes")
    .action(toAction(cli, async () => (await import("./messages-replay.ts")).replayMessagesCommand));
  messages
    .command("waiting")
    .description("List the codes that messages wait for because no table knows them, and how many wait.")
    .addHelpText("after", "\nExample:\n  cryobridge messages waiting --json")
    .action(toAction(cli, async () => (await import("./messages-waiting.ts")).listWaitingCommand));
  messages
    .command("release")
    .description("Map what waits anew, by the configuration as it is now; a start of the daemon does so too.")
    .option("--code <code>", "only what waits for this facility or operation code")
    .option("--connector <name>", "only what came through this connector")
    .addHelpText("after", "\nExample:\n  cryobridge messages release --code WEST")
    .action(toAction(cli, async () => (await import("./messages-waiting.ts")).releaseMessagesCommand));
  messages
    .command("discard")
    .description("Give up messages that wait; the lab is told that they are refused.")
    .argument("<id...>", "such as m12")
    .requiredOption("--reason <text>", "why, for the audit")
    .option("-y, --yes", "don't ask before discarding more than one")
    .addHelpText("after", '\nExample:\n  cryobridge messages discard m12 --reason "the clinic sends it anew"')
    .action(toAction(cli, async () => (await import("./messages-waiting.ts")).discardMessagesCommand));
  return messages;
}
