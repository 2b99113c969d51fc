import type { Command } from "commander";
import type pg from "pg";
import { openLedger } from "../../app/open-ledger.ts";
import { Failure } from "../../core/failures.ts";
import { readBackup } from "../../ledger/backup/file.ts";
import { assertRestorable, restoreBackup } from "../../ledger/backup/restore.ts";
import { listAtWork } from "../../ledger/migrate.ts";
import type { Act } from "../../ledger/operator/audit.ts";
import { drainAllWorkers, lettingNobodyIn } from "../../ledger/workers/roster.ts";
import { counted } from "../../operator/text.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { hasLedger, readConfig, withLedger } from "../open.ts";
import { withProgress } from "../output/progress.ts";
import { type ActOptions, confirm } from "../record-commands.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge restore`. */
export function define(command: Command, cli: Cli): void {
  command
    .argument("<file>", "as cryobridge backup made it")
    .option("--replace", "remove what the ledger holds; asks first")
    .option(
      "--stop",
      "have daemons that work finish what they have in hand and end first; what supervises them starts them again",
    )
    .option("-y, --yes", "don't ask")
    .option("--reason <text>", "why, for the audit")
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge restore /backup/cryobridge-2026-11-21.gz --replace --reason 'the disk failed'",
    )
    .action(toAction(cli, restore));
}

interface Options extends ActOptions {
  readonly replace?: boolean;
  readonly stop?: boolean;
}

/** More than the longest time that a daemon may take to end (`worker.stopWithin`), ms. */
const STOPS_WITHIN_MS = 660_000;
const LOOK_EVERY_MS = 200;

async function restore(
  session: Session,
  file: string,
  { replace: isReplacing = false, stop: mayStop = false, yes, reason }: Options,
): Promise<ExitStatus | undefined> {
  const config = readConfig(session);
  // No ledger is made, nobody asked, and nobody stopped, for a backup that is none, or may not be put in.
  const isThere = await hasLedger(config);
  await withProgress<unknown>(session, { what: "backup", nouns: "rows checked" }, () =>
    isThere
      ? withLedger(session, ({ pool }) => assertRestorable(pool, file, { isReplacing, mayStop }), config)
      : readBackup(file),
  );
  const question = "Remove all that the ledger holds and put the backup in its place?";
  if (isReplacing && !(await confirm(session, question, yes))) return EXIT.failed;
  const act = { actor: session.actor, reason };
  const { clock, logger } = session;
  const { pool, close } = await openLedger(config, { clock, logger, isDaemon: false, mayTakeLong: true });
  try {
    // Also what supervises a daemon that was stopped may start it again at once.
    await lettingNobodyIn(pool, async () => {
      if (mayStop) await stopDaemons(session, pool, act);
      await putBack(session, pool, file, { isReplacing, epochFile: config.epochFile, act });
    });
    return undefined;
  } finally {
    await close();
  }
}

/** Has all daemons of the ledger end, and waits for it. @throws Failure LEDGER_IN_USE for one that doesn't */
async function stopDaemons(session: Session, pool: pg.Pool, act: Act): Promise<void> {
  const { clock } = session;
  const untilMs = clock.monotonic() + STOPS_WITHIN_MS;
  await withProgress(session, { what: "stopping the daemons", nouns: "ended" }, async () => {
    await drainAllWorkers(pool, act);
    for (;;) {
      const working = await listAtWork(pool);
      if (working.length === 0) return;
      if (clock.monotonic() > untilMs)
        throw new Failure("LEDGER_IN_USE", `${working.join(", ")} did not end in time`);
      await clock.sleep(LOOK_EVERY_MS);
    }
  });
}

async function putBack(
  session: Session,
  pool: pg.Pool,
  file: string,
  how: { readonly isReplacing: boolean; readonly epochFile: string; readonly act: Act },
): Promise<void> {
  const { head, rows, open } = await withProgress(session, { what: "restore", nouns: "rows" }, (onRows) =>
    restoreBackup(pool, file, { ...how, onRows }),
  );
  const orders = counted(open, "open order");
  session.result({ file, madeAt: head.madeAt, ledger: head.ledger, rows, openOrders: open }, [
    `${session.paint("green", "✓")} ${rows} rows restored: the ledger is as it was at ${head.madeAt}`,
    `  When a daemon starts, it compares ${orders} with the service before it sends anything; cryobridge status shows that.`,
    "  Have the lab send again what it sent since.",
  ]);
}
