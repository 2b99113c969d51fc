import type { Command } from "commander";
import { shownProblem } from "../../core/failures.ts";
import { listWaitingCodes, type WaitingCode } from "../../ledger/messages/waiting.ts";
import type { Mapped } from "../../operator/acts.ts";
import { recordJson } from "../../operator/column.ts";
import { MESSAGE_LIST } from "../../operator/lists/messages.ts";
import { mappedInWords, WAITING_COLUMNS, whatFor, whyStillWaiting } from "../../operator/message-columns.ts";
import { clean, problemLines } from "../../operator/text.ts";
import { MESSAGES } from "../../operator/things/messages.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { type OpenSite, readConfig, requireConnector, withLedger } from "../open.ts";
import { printList } from "../output/list.ts";
import { defineList } from "../output/listing.ts";
import { withProgress } from "../output/progress.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import { actsOf, defineAct, defineShow } from "../things.ts";

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
  messages
    .command("release")
    .description(
      "Map what waits again, by the configuration as it is now; a start of the daemon does so too.",
    )
    .option("--code <code>", "only what waits for this facility or operation code")
    .option("--connector <name>", "only what came through this connector")
    .addHelpText("after", "\nExample:\n  cryobridge messages release --code WEST")
    .action(toAction(cli, releaseMessages));
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

/**
 * `messages release`: status 1 when one of the messages is refused now or none could be released, 5 when none waits for
 * the code.
 */
async function releaseMessages(
  session: Session,
  filter: { readonly code?: string; readonly connector?: string },
): Promise<ExitStatus | undefined> {
  const config = readConfig(session);
  const { code, connector } = filter;
  if (connector !== undefined) requireConnector(config, "--connector", connector);
  const act = { actor: session.actor };
  const released: Mapped[] = [];
  const { before, left } = await withLedger(
    session,
    async (site) => {
      const acts = await actsOf(site, session);
      return withProgress(session, { what: "messages release", nouns: "messages" }, (report) =>
        acts.releaseMessages(filter, act, (message) => report(released.push(message))),
      );
    },
    config,
  );
  session.result(
    {
      released: released.map(mappedJson),
      waiting: left.map((each) => recordJson(WAITING_COLUMNS, each, session)),
    },
    [
      ...(released.length === 0 ? [whyNone(before, filter)] : mappedLines(released)),
      ...left.flatMap((each) => stillWaiting(each, config)),
    ],
  );
  if (released.some(({ verdict }) => verdict === "refused")) return EXIT.failed;
  if (released.length > 0) return undefined;
  if (before.length > 0) return EXIT.failed;
  return code === undefined ? undefined : EXIT.notFound;
}

function whyNone(
  before: readonly WaitingCode[],
  { code, connector }: { readonly code?: string; readonly connector?: string },
): string {
  const through = connector === undefined ? "" : ` through ${connector}`;
  if (before.length > 0)
    return "No message was released: what they wait for is not known to the configuration as it is now.";
  return code === undefined
    ? `No message waits${through} for a code.`
    : `No message waits${through} for the code "${clean(code)}".`;
}

/** What keeps messages waiting, by the configuration as it is now. */
function stillWaiting(each: WaitingCode, { connectors }: OpenSite["config"]): string[] {
  const why = whyStillWaiting(
    each,
    connectors.map(({ name }) => name),
  );
  return [
    `Still waiting through ${each.connector}: ${each.messages} for ${whatFor(each)}`,
    ...(why === undefined ? [] : [`  ${clean(why)}`]),
  ];
}

function mappedJson({ problems, ...mapped }: Mapped) {
  return { ...mapped, problems: problems.map(shownProblem) };
}

function mappedLines(all: readonly Mapped[]): string[] {
  return all.flatMap((mapped) => [
    `${mapped.messageId} ${mappedInWords(mapped, "refused")}`,
    ...problemLines(mapped.problems.map(shownProblem)).map((line) => `  ${line}`),
  ]);
}
