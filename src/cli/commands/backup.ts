import { stat } from "node:fs/promises";
import type { Command } from "commander";
import { Failure } from "../../core/failures.ts";
import { backupLedger } from "../../ledger/backup/backup.ts";
import { recordAudit } from "../../ledger/operator/audit.ts";
import type { ActOptions } from "../acting.ts";
import { withLedger } from "../open.ts";
import { withProgress } from "../output/progress.ts";
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
  const stopping = new AbortController();
  const { signal } = stopping;
  // Asked once, it removes what it has written; asked again, the process ends as any other.
  const end = session.io.onStop?.(() => {
    end?.();
    const message = `${file}: interrupted; nothing was kept`;
    stopping.abort(new Failure("CLI_BACKUP_UNWRITABLE", { message, hint: "Make the backup again." }));
  });
  const { head, rows, sha256 } = await withLedger(session, async ({ pool }) => {
    const record = (action: string, detail: Readonly<Record<string, unknown>>) =>
      recordAudit(pool, session, action, [{ target: "ledger", detail }]);
    // It holds all patients' data, so that it was begun is in the backup itself.
    await record("backup", { reason });
    const madeAt = new Date(session.clock.now());
    const content = await withProgress(session, { what: "backup", nouns: "rows" }, (onRows) =>
      backupLedger(pool, file, { madeAt, onRows, signal }),
    );
    await record("backup-written", { rows: content.rows, sha256: content.sha256 });
    return content;
  }).finally(end);
  const { size: bytes } = await stat(file);
  session.result({ file, madeAt: head.madeAt, ledger: head.ledger, rows, bytes, sha256 }, [
    `${session.paint("green", "✓")} ${file} has all ${rows} rows of the ledger as it was at ${head.madeAt}`,
    "  It holds patients' data: protect it.",
  ]);
}
