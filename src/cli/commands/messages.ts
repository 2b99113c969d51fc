import { type Command, Option } from "commander";
import { listWaitingCodes, type WaitingCode } from "../../ledger/messages/waiting.ts";
import type { ReleaseFilter } from "../../operator/acts.ts";
import { MESSAGE_LIST } from "../../operator/lists/messages.ts";
import { WAITING_COLUMNS, whatFor } from "../../operator/message-columns.ts";
import { clean } from "../../operator/text.ts";
import { MESSAGES } from "../../operator/things/messages.ts";
import { RELEASE } from "../../operator/things/waiting.ts";
import { readConfig, requireConnector, withLedger } from "../open.ts";
import { printList } from "../output/list.ts";
import { defineList } from "../output/listing.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import { defineSiteAct } from "../site-acts.ts";
import { defineAct, defineShow } from "../things.ts";

/** `cryobridge messages …`. */
export function define(messages: Command, cli: Cli): void {
  defineList(messages, cli, MESSAGE_LIST, {
    examples: ["cryobridge messages list --verdict refused --since 1d"],
  });
  const argument = "such as m12";
  defineShow(messages, cli, MESSAGES, { argument, examples: ["cryobridge messages show m12 --show-phi"] });
  defineAct(messages, cli, MESSAGES, MESSAGES.acts.replay, { argument });
  messages
    .command("waiting")
    .description("List the codes that messages wait for because no table has them, and how many wait.")
    .addHelpText("after", "\nExample:\n  cryobridge messages waiting --json")
    .action(toAction(cli, listWaiting));
  defineSiteAct(messages.command("release"), cli, RELEASE, {
    options: [
      new Option("--code <code>", "only what waits for this facility or operation code"),
      new Option("--connector <name>", "only what came through this connector"),
    ],
    on: ({ code, connector }, _word, session) => {
      const filter = { code, connector } as ReleaseFilter;
      if (filter.connector !== undefined)
        requireConnector(readConfig(session), "--connector", filter.connector);
      return filter;
    },
  });
  defineAct(messages, cli, MESSAGES, MESSAGES.acts.discard, { argument });
}

/** `messages waiting`: the codes that messages wait for. */
async function listWaiting(session: Session): Promise<undefined> {
  const codes = await withLedger(session, ({ pool }) => listWaitingCodes(pool));
  printList(
    session,
    { key: "waiting", columns: WAITING_COLUMNS, nothing: "No message waits for a code." },
    codes,
  );
  for (const each of codes) if (each.hint !== undefined) session.note(hintLine(each));
}

/** What to do about one code of one connector. */
function hintLine(waiting: WaitingCode): string {
  return `\n${waiting.connector}, ${whatFor(waiting)}:\n  ${clean(waiting.hint ?? "")}`;
}
