import { ledgerView } from "../app/console.ts";
import type { Config } from "../config/config.ts";
import type { Attention } from "../console/attention.ts";
import { readStatus } from "../console/status.ts";
import type { Status } from "../console/status-document.ts";
import { Failure } from "../core/failures.ts";
import { isSubmitterThere } from "../ledger/waiting.ts";
import { clean } from "./clean.ts";
import { readConfig, withLedger } from "./configuration.ts";
import { askDaemon } from "./daemon-status.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import type { Session } from "./session.ts";
import { timeWithAge } from "./times.ts";
import { VERSION } from "./version.ts";

/**
 * `status`: what the running daemon's console says, else what the ledger alone tells. Status 1 when a person is needed, 4
 * when no daemon works.
 */
export async function showStatus(session: Session): Promise<ExitStatus | undefined> {
  const config = readConfig(session);
  const answer = await askDaemon(config);
  const isAnswered = "status" in answer;
  const { status, isDaemonThere } = isAnswered
    ? { status: answer.status, isDaemonThere: true }
    : await readFromLedger(config, session, answer.why);
  if (session.isJson) session.json({ isDaemonRunning: isDaemonThere, ...status });
  else print(status, isDaemonThere && !isAnswered, session);
  if (!isDaemonThere) return EXIT.unreachable;
  return status.attention.some(({ level }) => level === "act") || !status.isReady ? EXIT.failed : undefined;
}

/** @throws Failure CLI_LEDGER_MISSING, or LEDGER_… when nothing can be told at all. */
function readFromLedger(config: Config, session: Session, why: string | undefined) {
  return withLedger(session, config, async ({ pool }) => {
    const isDaemonThere = await isSubmitterThere(pool);
    const reason = isDaemonThere
      ? `a daemon works, but its console can't be asked how it is (${why ?? "it has none on this data folder"}): what stands here is what the ledger tells`
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
    return { status, isDaemonThere };
  });
}

const SIGNS = { act: ["✗", "red"], wait: ["!", "yellow"], look: ["·", "cyan"] } as const;

/** @param isUnknown whether a daemon works that couldn't be asked */
function print(status: Status, isUnknown: boolean, session: Session): void {
  const no = isUnknown ? "It can't be told whether orders are taken." : "No orders are taken right now.";
  session.line(
    status.isReady
      ? `${session.paint("green", "✓")} Orders are taken.`
      : `${session.paint("red", "✗")} ${no}`,
  );
  for (const each of status.attention) for (const line of linesOf(each, session)) session.line(line);
  if (status.attention.length === 0) session.line("  Nobody is needed.");
  session.line();
  session.line(countsInWords(status));
}

function linesOf({ level, what, since, mend, command }: Attention, session: Session): string[] {
  const [sign, colour] = SIGNS[level];
  const when = since === null ? "" : `, since ${timeWithAge(new Date(since), session.clock.now())}`;
  return [
    `${session.paint(colour, sign)} ${clean(what)}${when}`,
    ...(mend === null ? [] : [`    ${clean(mend)}`]),
    ...(command === null ? [] : [`    ${session.paint("bold", clean(command))}`]),
  ];
}

function countsInWords({ states, deliveries }: Status): string {
  if (states === null) return "The ledger does not answer; nothing can be counted.";
  const sum = (...wanted: readonly string[]) =>
    states.filter(({ state }) => wanted.includes(state)).reduce((total, { count }) => total + count, 0);
  return [
    `Orders: ${sum("received", "queued", "submitting")} wait here`,
    `${sum("submitted", "accepted", "in_progress")} are at the service`,
    `${sum("parked")} are parked`,
    `${sum("completed")} are completed. Results on their way to the lab: ${deliveries?.pending ?? 0}.`,
  ].join(", ");
}
