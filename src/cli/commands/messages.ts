import type { Command } from "commander";
import { shownProblem } from "../../core/failures.ts";
import { findMessage, type StoredMessage } from "../../ledger/messages/views.ts";
import { messageText } from "../../operator/kept-text.ts";
import { MESSAGE_LIST } from "../../operator/lists/messages.ts";
import { knownOf, MESSAGE_COLUMNS } from "../../operator/message-columns.ts";
import { PAINT_BY_VERDICT } from "../../operator/order-columns.ts";
import { cleanLines, HIDDEN, problemLines } from "../../operator/text.ts";
import { getNamed } from "../acting.ts";
import { recordShown, withLedger } from "../open.ts";
import { fields, printDetails, type Section } from "../output/details.ts";
import { defineList } from "../output/listing.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import { discardMessages, listWaiting, releaseMessages, replayMessages } from "./messages-act.ts";

/** `cryobridge messages …`. */
export function define(messages: Command, cli: Cli): void {
  defineList(messages, cli, MESSAGE_LIST, {
    examples: ["cryobridge messages list --verdict refused --since 1d"],
  });
  messages
    .command("show")
    .description(
      "Show a message: where it came from, its verdict with every mistake, its orders, and its text.",
    )
    .argument("<id>", "such as m12")
    .addHelpText("after", "\nExample:\n  cryobridge messages show m12 --show-phi")
    .action(toAction(cli, show));
  messages
    .command("replay")
    .description("Map messages again with the present profile, as after a code was added to a table.")
    .argument("<id...>", "such as m12")
    .option("--reason <text>", "why, for the audit")
    .option("-y, --yes", "don't ask before replaying more than one")
    .addHelpText("after", "\nExample:\n  cryobridge messages replay m12 m13 --yes")
    .action(toAction(cli, replayMessages));
  messages
    .command("waiting")
    .description("List the codes that messages wait for because no table has them, and how many wait.")
    .addHelpText("after", "\nExample:\n  cryobridge messages waiting --json")
    .action(toAction(cli, listWaiting));
  messages
    .command("release")
    .description(
      "Map what waits again, by the configuration as it is now; a start of the daemon does so too.",
    )
    .option("--code <code>", "only what waits for this facility or operation code")
    .option("--connector <name>", "only what came through this connector")
    .addHelpText("after", "\nExample:\n  cryobridge messages release --code WEST")
    .action(toAction(cli, releaseMessages));
  messages
    .command("discard")
    .description("Give up messages that wait; a refusal is sent to the lab.")
    .argument("<id...>", "such as m12")
    .requiredOption("--reason <text>", "why, for the audit")
    .option("-y, --yes", "don't ask before discarding more than one")
    .addHelpText(
      "after",
      '\nExample:\n  cryobridge messages discard m12 --reason "the clinic sends it again"',
    )
    .action(toAction(cli, discardMessages));
}

async function show(session: Session, word: string): Promise<undefined> {
  const message = await withLedger(session, async ({ pool }) => {
    const found = await getNamed("m", word, (id) => findMessage(pool, id));
    await recordShown(session, pool, [found.messageId]);
    return found;
  });
  const verdict = session.paint(["bold", PAINT_BY_VERDICT[message.verdict]], message.verdict);
  printDetails(
    session,
    [`Message ${message.messageId}: ${verdict}`],
    [
      fields(MESSAGE_COLUMNS, message, session),
      {
        title: "Problems",
        json: {},
        lines: problemLines(message.problems.map(shownProblem), knownOf(message)),
      },
      textSection(message, session),
    ],
  );
}

function textSection(message: StoredMessage, { mayShowPhi }: Session): Section {
  const { format, raw } = message;
  const json = { format, isTextKept: raw !== undefined };
  if (raw === undefined)
    return { title: "Text", json: { ...json, text: null }, lines: ["pruned by retention"] };
  const text = mayShowPhi ? messageText(message, raw) : HIDDEN;
  const lines = mayShowPhi ? cleanLines(text) : [`${HIDDEN} (${raw.length} bytes; --show-phi shows it)`];
  return { title: "Text", json: { ...json, text }, lines };
}
