import { type Command, Option } from "commander";
import type { WaitingCode } from "../../ledger/messages/waiting.ts";
import type { ReleaseFilter } from "../../operator/acts.ts";
import { MESSAGE_LIST } from "../../operator/lists/messages.ts";
import { WAITING_LIST } from "../../operator/lists/waiting.ts";
import { whatFor } from "../../operator/message-words.ts";
import { clean } from "../../operator/text.ts";
import { MESSAGES } from "../../operator/things/messages.ts";
import { RELEASE } from "../../operator/things/waiting.ts";
import { defineList } from "../list-command.ts";
import { readConfig, requireConnector } from "../open.ts";
import { defineAct, defineShow } from "../record-commands.ts";
import type { Cli } from "../session.ts";
import { defineSiteAct } from "../site-act-commands.ts";

/** `cryobridge messages …`. */
export function define(messages: Command, cli: Cli): void {
  defineList(messages, cli, MESSAGE_LIST, {
    examples: ["cryobridge messages list --verdict refused --since 1d"],
  });
  const argument = "such as m12";
  defineShow(messages, cli, MESSAGES, { argument, examples: ["cryobridge messages show m12 --show-phi"] });
  defineAct(messages, cli, MESSAGES, MESSAGES.acts.replay, { argument });
  defineList(messages, cli, WAITING_LIST, {
    ...{ name: "waiting", examples: ["cryobridge messages waiting --json"] },
    afterShown: (session, codes) => {
      for (const each of codes) if (each.hint !== undefined) session.note(hintLine(each));
    },
  });
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

function hintLine(waiting: WaitingCode): string {
  return `\n${waiting.connector}, ${whatFor(waiting)}:\n  ${clean(waiting.hint ?? "")}`;
}
