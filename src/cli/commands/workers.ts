import type { Command } from "commander";
import { Failure } from "../../core/failures.ts";
import { drainWorkers, listWorkers } from "../../ledger/workers/roster.ts";
import { WORKER_COLUMNS } from "../../operator/worker-columns.ts";
import type { ExitStatus } from "../exit-status.ts";
import { type KeptSite, type Watching, watched, watchOption } from "../live/watched.ts";
import { withLedger } from "../open.ts";
import { printList } from "../output/list.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge workers`. */
export function define(command: Command, cli: Cli): void {
  command
    .option(
      "--drain <name>",
      "have the daemon of this name (or id, such as w12) finish what it has in hand and end",
    )
    .option("--reason <text>", "why, for the audit")
    .addOption(watchOption())
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge workers\n  cryobridge workers --drain lab-server-2 --reason 'upgrade'",
    )
    .action(toAction(cli, showOrDrain));
}

interface Options extends Watching {
  readonly drain?: string;
  readonly reason?: string;
}

function showOrDrain(session: Session, options: Options): Promise<ExitStatus | undefined> {
  const { drain, reason, watch } = options;
  if (drain === undefined) return watched(show)(session, options);
  if (watch !== undefined) throw new Failure("CLI_USAGE", "--watch shows workers, it goes with no --drain");
  return drainNamed(session, drain, reason);
}

async function show(session: Session, site: KeptSite): Promise<undefined> {
  const { pool } = await site.open();
  const workers = await listWorkers(pool);
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
    const message = `no daemon ${word} works with this ledger; ${there}`;
    throw new Failure("CLI_NOT_FOUND", { message, hint: "`cryobridge workers` lists them." });
  }
  session.result(
    { drained: drained.map((number) => `w${number}`) },
    drained.map(
      (number) => `✓ w${number} finishes what it has in hand and ends; cryobridge workers shows when`,
    ),
  );
  return undefined;
}
