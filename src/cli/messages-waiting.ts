import type { Command } from "commander";
import { compileProfiles } from "../app/profiles.ts";
import { releaseWaiting } from "../app/release-waiting.ts";
import { Failure } from "../core/failures.ts";
import { parseId } from "../ledger/ids.ts";
import { recordAudit } from "../ledger/operator.ts";
import { discardMessage, type Released } from "../ledger/release-messages.ts";
import { listWaitingCodes, type WaitingCode } from "../ledger/waiting-messages.ts";
import { clean } from "./clean.ts";
import { readConfig, withLedger } from "./configuration.ts";
import { confirm } from "./confirm.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import { getMessage } from "./messages-show.ts";
import { type Done, tellDone } from "./orders-change.ts";
import { problemLines } from "./problem-lines.ts";
import type { Session } from "./session.ts";
import { renderTable } from "./table.ts";
import { localTime, relativeTime } from "./times.ts";

/** `messages waiting`: the codes that messages wait for. */
export async function listWaitingCommand(session: Session): Promise<undefined> {
  const codes = await withLedger(session, readConfig(session), ({ pool }) => listWaitingCodes(pool));
  if (session.isJson) {
    session.json({ waiting: codes.map(waitingJson) });
    return undefined;
  }
  if (codes.length === 0) {
    session.line("No message waits for a code.");
    return undefined;
  }
  const now = session.clock.now();
  const rows = codes.map(({ kind, code, connector, messages, since }) => [
    KIND_WORDS[kind],
    code ?? "",
    connector,
    String(messages),
    localTime(since),
    relativeTime(since, now),
  ]);
  const columns = [
    { title: "waits for" },
    { title: "code", isFlexible: true },
    { title: "connector" },
    { title: "messages", isRight: true },
    { title: "since" },
    { title: "age", isRight: true },
  ];
  for (const line of renderTable(columns, rows, session.width)) session.line(line);
  session.note(
    "Add a facility to facilities, an operation to the profile's table; then restart the daemon, or: cryobridge messages release",
  );
  return undefined;
}

const KIND_WORDS = {
  facility: "a facility",
  operation: "an operation",
  earlier: "an earlier message",
} as const satisfies Record<WaitingCode["kind"], string>;

function waitingJson({ kind, code, connector, messages, since }: WaitingCode) {
  return { kind, code: code ?? null, connector, messages, since: since.toISOString() };
}

/** `messages release`: status 1 when one of the messages is refused now. */
export async function releaseMessagesCommand(
  session: Session,
  command: Command,
): Promise<ExitStatus | undefined> {
  const filter = command.opts<{ code?: string; connector?: string }>();
  const config = readConfig(session);
  const { connector } = filter;
  if (connector !== undefined && !config.connectors.some(({ name }) => name === connector)) {
    const names = config.connectors.map(({ name }) => name).join(", ");
    throw new Failure("CLI_USAGE", `--connector ${connector}: the configuration has ${names}`);
  }
  const profiles = await compileProfiles(config);
  const { released, left } = await withLedger(session, config, async ({ pool }) => {
    await recordAudit(pool, { actor: session.actor }, "release", [
      { target: "messages", detail: { ...filter } },
    ]);
    return {
      released: await releaseWaiting(pool, config, profiles, filter),
      left: await listWaitingCodes(pool),
    };
  });
  tellReleased(released, left, filter.code, session);
  return released.some(({ verdict }) => verdict === "refused") ? EXIT.failed : undefined;
}

const VERDICT_WORDS = {
  accepted: "accepted",
  duplicate: "nothing new: its orders exist already",
  refused: "refused",
  ignored: "ignored",
} as const satisfies Record<Released["verdict"], string>;

function tellReleased(
  released: readonly Released[],
  left: readonly WaitingCode[],
  code: string | undefined,
  session: Session,
): void {
  if (session.isJson) {
    session.json({ released, waiting: left.map(waitingJson) });
    return;
  }
  if (released.length === 0) {
    const isNamed = code === undefined || left.some((each) => each.code === code);
    session.line(
      isNamed ? "No message could be released." : `No message waits for the code "${clean(code)}".`,
    );
  }
  for (const { messageId, verdict, orderIds, problems } of released) {
    const orders = orderIds.length === 0 ? "" : `: ${orderIds.join(" ")}`;
    session.line(`${messageId} ${VERDICT_WORDS[verdict]}${orders}`);
    for (const line of problemLines(problems)) session.line(`  ${line}`);
  }
  for (const { kind, code, connector, messages } of left) {
    const what =
      kind === "earlier" ? "an earlier message of the same subject" : `the ${kind} "${clean(code ?? "")}"`;
    session.line(`Still waiting through ${connector}: ${messages} for ${what}`);
  }
}

/** `messages discard`: status 1 when one of the messages doesn't wait. */
export async function discardMessagesCommand(
  session: Session,
  command: Command,
): Promise<ExitStatus | undefined> {
  const [words] = command.processedArgs as [readonly string[]];
  const { reason, yes } = command.opts<{ reason: string; yes?: boolean }>();
  if (reason.trim() === "") throw new Failure("CLI_USAGE", "messages discard: --reason wants words");
  const config = readConfig(session);
  const profiles = await compileProfiles(config);
  const done = await withLedger(session, config, async ({ pool }) => {
    const messages = [];
    for (const word of new Set(words)) messages.push(await getMessage(pool, word));
    if (messages.length > 1 && !(await confirm(session, `Discard ${messages.length} messages?`, yes)))
      return undefined;
    const results: Done[] = [];
    for (const { messageId, verdict } of messages) {
      const isDone = await discardMessage(pool, parseId("m", messageId) as number, {
        actor: session.actor,
        reason,
      });
      const text = isDone
        ? "is discarded; the lab will be told"
        : `can't be discarded: it doesn't wait (${verdict})`;
      results.push({ id: messageId, isDone, text: `${messageId} ${text}` });
    }
    // What waited behind them has nothing before it any more.
    await releaseWaiting(pool, config, profiles, { isHeldOnly: true });
    return results;
  });
  return done === undefined ? EXIT.failed : tellDone(session, done);
}
