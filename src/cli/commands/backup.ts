import { stat } from "node:fs/promises";
import type { Command } from "commander";
import { backupLedger } from "../../ledger/backup/backup.ts";
import { recordAudit } from "../../ledger/operator/audit.ts";
import type { ActOptions } from "../acting.ts";
import { withLedger } from "../open.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge backup`. */
export function define(command: Command, cli: Cli): void {
  command
    .argument("<file>", "a file that does not exist yet; its owner alone may read it")
    .option("--reason <text>", "why, for the audit")
    .addHelpText("after", "\nExample:\n  cryobridge backup /backup/cryobridge-2026-11-21.gz")
    .action(toAction(cli, backup));
}

async function backup(session: Session, file: string, { reason }: ActOptions): Promise<undefined> {
  const { head, rows, sha256 } = await withLedger(session, async ({ pool }) => {
    // It holds all patients' data, so that it was made is in the backup itself.
    const audited = [{ target: "ledger", detail: reason === undefined ? {} : { reason } }];
    await recordAudit(pool, { actor: session.actor }, "backup", audited);
    return backupLedger(pool, file, new Date(session.clock.now()));
  });
  const { size: bytes } = await stat(file);
  session.result({ file, madeAt: head.madeAt, ledger: head.ledger, rows, bytes, sha256 }, [
    `${session.paint("green", "✓")} ${file} has all ${rows} rows of the ledger as it was at ${head.madeAt}`,
    "  It holds patients' data: protect it.",
  ]);
}
