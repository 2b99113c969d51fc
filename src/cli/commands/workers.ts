import type { Command } from "commander";
import { Failure } from "../../core/failures.ts";
import { drainWorkers, listWorkers } from "../../ledger/workers/roster.ts";
import { WORKER_COLUMNS } from "../../operator/worker-columns.ts";
import type { ExitStatus } from "../exit-status.ts";
import { withLedger } from "../open.ts";
import { printList } from "../output/list.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** Of those that ended, the ones that did within this time are shown, ms. */
const ENDED_WITHIN_MS = 86_400_000;

/** `cryobridge workers`. */
export function define(command: Command, cli: Cli): void {
  command
    .option(
      "--drain <name>",
      "have the daemon of this name (or id, such as w12) finish what it has in hand and end",
    )
    .option("--reason <text>", "why, for the audit")
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge workers\n  cryobridge workers --drain lab-server-2 --reason 'upgrade'",
    )
    .action(toAction(cli, showOrDrain));
}

interface Options {
  readonly drain?: string;
  readonly reason?: string;
}

function showOrDrain(session: Session, { drain, reason }: Options): Promise<ExitStatus | undefined> {
  return drain === undefined ? show(session) : drainNamed(session, drain, reason);
}

async function show(session: Session): Promise<undefined> {
  const workers = await withLedger(session, ({ pool }) => listWorkers(pool, ENDED_WITHIN_MS));
  printList(
    session,
    { key: "workers", columns: WORKER_COLUMNS, nothing: "No daemon works with this ledger." },
    workers,
  );
}

async function drainNamed(session: Session, word: string, reason: string | undefined): Promise<undefined> {
  const act = { actor: session.actor, reason };
  const id = /^w([1-9]\d{0,8})$/.exec(word)?.[1];
  const which = id === undefined ? { name: word } : { id: Number(id) };
  const [drained, known] = await withLedger(session, async ({ pool }) => [
    await drainWorkers(pool, which, act),
    await listWorkers(pool, 0),
  ]);
  if (drained.length === 0) {
    const names = known.map(({ id, name }) => `${name} (w${id})`).join(", ");
    const there = known.length === 0 ? "no daemon works with this ledger" : `there are ${names}`;
    throw new Failure("CLI_NOT_FOUND", `no daemon ${word} works with this ledger; ${there}`);
  }
  session.result(
    { drained: drained.map((number) => `w${number}`) },
    drained.map(
      (number) => `✓ w${number} finishes what it has in hand and ends; cryobridge workers shows when`,
    ),
  );
  return undefined;
}
