import type { Command } from "commander";
import { ledgerView } from "../../app/console.ts";
import { readStatus } from "../../console/status.ts";
import type { Attention, Status } from "../../console/status-document.ts";
import { Failure } from "../../core/failures.ts";
import { VERSION } from "../../core/version.ts";
import { isWorkerThere } from "../../ledger/workers/roster.ts";
import { clean } from "../../operator/text.ts";
import { timeWithAge } from "../../operator/times.ts";
import { askDaemon } from "../ask-daemon.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { type OpenSite, readConfig, withLedger } from "../open.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge status`. */
export function define(command: Command, cli: Cli): void {
  command
    .addHelpText(
      "after",
      "\nExit status: 0 nobody is needed, 1 somebody is, 4 no daemon works or the database is away.\n\nExample:\n  cryobridge status",
    )
    .action(toAction(cli, showStatus));
}

/**
 * Shows what the running daemon's console says, else what the ledger alone says. Status 1 when a person is needed, 4
 * when no daemon works.
 */
async function showStatus(session: Session): Promise<ExitStatus | undefined> {
  const config = readConfig(session);
  const answer = await askDaemon(config);
  const isAnswered = "status" in answer;
  const { status, isRunning } = isAnswered
    ? { status: answer.status, isRunning: true }
    : await readFromLedger(config, session, answer.why);
  if (session.isJson) session.json({ isDaemonRunning: isRunning, ...status });
  else print(status, isRunning && !isAnswered, session);
  if (!isRunning) return EXIT.unreachable;
  return status.attention.some(isNeeded) || !status.isReady ? EXIT.failed : undefined;
}

function isNeeded({ level }: Attention): boolean {
  return level === "act";
}

/** @throws Failure CLI_LEDGER_MISSING, or LEDGER_… when nothing is known at all. */
function readFromLedger(config: OpenSite["config"], session: Session, why: string | undefined) {
  const read = async ({ pool }: OpenSite) => {
    const isRunning = await isWorkerThere(pool);
    const reason = isRunning
      ? `a daemon works, but its console can't be asked how it is (${why ?? "it has none on this data folder"}): this comes from the ledger alone`
      : "no daemon works on this ledger: nothing is taken in or sent until one is started (systemctl start cryobridge, or cryobridge start)";
    const status = await readStatus(
      {
        ...ledgerView(pool, config, session.clock),
        readiness: async () => ({ ready: false, reasons: [reason] }),
        logger: session.logger,
        clock: session.clock,
      },
      VERSION,
    );
    if (status.states === null)
      throw new Failure("LEDGER_UNAVAILABLE", "the ledger's database gives no answer in time");
    return { status, isRunning };
  };
  return withLedger(session, read, config);
}

const SIGNS = { act: ["✗", "red"], wait: ["↻", "yellow"], look: ["·", "cyan"] } as const;

/** @param isUnknown whether a daemon works that couldn't be asked */
function print(status: Status, isUnknown: boolean, session: Session): void {
  const no = isUnknown ? "It is not known whether orders are taken." : "No orders are taken right now.";
  session.line(
    status.isReady
      ? `${session.paint("green", "✓")} Orders are taken.`
      : `${session.paint("red", "✗")} ${no}`,
  );
  const [needed, others] = [
    status.attention.filter(isNeeded),
    status.attention.filter((each) => !isNeeded(each)),
  ];
  for (const each of needed) session.lines(linesOf(each, session));
  if (needed.length === 0) session.line("  Nobody is needed.");
  for (const each of others) session.lines(linesOf(each, session));
  session.line();
  session.lines(countsInWords(status));
}

function linesOf({ level, what, since, hint, command }: Attention, session: Session): string[] {
  const [sign, colour] = SIGNS[level];
  const when = since === null ? "" : `, since ${timeWithAge(new Date(since), session.clock.now())}`;
  return [
    `${session.paint(colour, sign)} ${clean(what)}${when}`,
    ...(hint === null ? [] : [`    ${clean(hint)}`]),
    ...(command === null ? [] : [`    ${session.paint("bold", clean(command))}`]),
  ];
}

function countsInWords({ states, endedLastDay, deliveries }: Status): string[] {
  if (states === null || endedLastDay === null)
    return ["The ledger does not answer; nothing can be counted."];
  const sum = (...wanted: readonly string[]) =>
    states.filter(({ state }) => wanted.includes(state)).reduce((total, { count }) => total + count, 0);
  const open = [
    `Orders: ${sum("received", "queued", "submitting")} waiting here`,
    `${sum("submitted", "accepted", "in_progress")} at the service`,
    `${sum("parked")} parked`,
  ].join(", ");
  const ended = endedLastDay.flatMap(({ state, count }) => (count > 0 ? [`${state} ${count}`] : []));
  return [
    `${open}. Results on their way to the lab: ${deliveries?.pending ?? 0}.`,
    `Ended in the last 24 hours: ${ended.join(", ") || "none"}.`,
  ];
}
