import type { Command } from "commander";
import { openLedger } from "../../app/open-ledger.ts";
import { ROLES } from "../../app/roles.ts";
import { Failure } from "../../core/failures.ts";
import { restoreBackup } from "../../ledger/backup/restore.ts";
import { isDaemonThere } from "../../ledger/embedded/lock.ts";
import { counted } from "../../operator/text.ts";
import { type ActOptions, confirm } from "../acting.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { readConfig } from "../open.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge restore`. */
export function define(command: Command, cli: Cli): void {
  command
    .argument("<file>", "as cryobridge backup made it")
    .option("--replace", "remove what the ledger holds; asks first")
    .option("--yes", "don't ask")
    .option("--reason <text>", "why, for the audit")
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge restore /backup/cryobridge-2026-11-21.gz --replace --reason 'the disk failed'",
    )
    .action(toAction(cli, restore));
}

interface Options extends ActOptions {
  readonly replace?: boolean;
}

async function restore(
  session: Session,
  file: string,
  { replace: isReplacing = false, yes, reason }: Options,
): Promise<ExitStatus | undefined> {
  const config = readConfig(session);
  for (const role of ROLES)
    if (await isDaemonThere(config.dataDir, role))
      throw new Failure("LEDGER_IN_USE", `a daemon works on ${config.dataDir}`);
  const question = "Remove all that the ledger holds and put the backup in its place?";
  if (isReplacing && !(await confirm(session, question, yes))) return EXIT.failed;
  const { clock, logger } = session;
  const ledger = await openLedger(config, { clock, logger, isDaemon: false });
  try {
    const act = { actor: session.actor, reason };
    const { epochFile } = config;
    const { head, rows, open } = await restoreBackup(ledger.pool, file, { isReplacing, epochFile, act });
    const orders = counted(open, "open order");
    session.result({ file, madeAt: head.madeAt, ledger: head.ledger, rows, openOrders: open }, [
      `${session.paint("green", "✓")} ${rows} rows restored: the ledger is as it was at ${head.madeAt}`,
      `  When the daemon starts, it compares ${orders} with the service before it sends anything; cryobridge status shows that.`,
      "  Have the lab send again what it sent since.",
    ]);
    return undefined;
  } finally {
    await ledger.close();
  }
}
