import { stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Command } from "commander";
import { Failure } from "../../core/failures.ts";
import { backupLedger } from "../../ledger/backup/backup.ts";
import { removeOldBackups } from "../../ledger/backup/old.ts";
import { findInstanceCode } from "../../ledger/migrate.ts";
import { recordAudit } from "../../ledger/operator/audit.ts";
import { duration } from "../arguments.ts";
import { withLedger } from "../open.ts";
import { withProgress } from "../output/progress.ts";
import type { ActOptions } from "../record-commands.ts";
import { type Cli, type Session, toAction } from "../session.ts";

/** `cryobridge backup`. */
export function define(command: Command, cli: Cli): void {
  command
    .argument("<file>", "a file that does not exist yet; its owner alone may read it")
    .option("--reason <text>", "why, for the audit")
    .option(
      "--keep <duration>",
      "before, remove this ledger's backups in that folder that are older, such as 30d; never the last good one",
      duration,
    )
    .addHelpText("after", "\nExample:\n  cryobridge backup /backup/cryobridge-2026-11-21.gz")
    .action(toAction(cli, backup));
}

interface BackupOptions extends Pick<ActOptions, "reason"> {
  /** How old the backups may be that stay, ms. */
  readonly keep?: number;
}

async function backup(session: Session, file: string, { reason, keep }: BackupOptions): Promise<undefined> {
  const stopping = new AbortController();
  const { signal } = stopping;
  // Asked once, it removes what it has written; asked again, the process ends as any other.
  const end = session.io.onStop?.(() => {
    end?.();
    const message = `${file}: interrupted; nothing was kept`;
    stopping.abort(new Failure("CLI_BACKUP_UNWRITABLE", { message, hint: "Make the backup again." }));
  });
  const { head, rows, sha256, removed } = await withLedger(session, async ({ pool }) => {
    const record = (action: string, detail: Readonly<Record<string, unknown>>) =>
      recordAudit(pool, session, action, [{ target: "ledger", detail }]);
    // It holds all patients' data, so that it was begun is in the backup itself.
    await record("backup", { reason });
    const madeAt = new Date(session.clock.now());
    // Before: on a full disk there would be no room for the next one, and no success after which to remove them.
    const removed =
      keep === undefined
        ? []
        : await removeOldBackups(dirname(resolve(file)), {
            ledger: await findInstanceCode(pool),
            before: new Date(madeAt.getTime() - keep),
          });
    const content = await withProgress(session, { what: "backup", nouns: "rows" }, (onRows) =>
      backupLedger(pool, file, { madeAt, onRows, signal }),
    );
    await record("backup-written", { rows: content.rows, sha256: content.sha256 });
    return { ...content, removed };
  }).finally(end);
  const { size: bytes } = await stat(file);
  session.result({ file, madeAt: head.madeAt, ledger: head.ledger, rows, bytes, sha256, removed }, [
    `${session.paint("green", "✓")} ${file} has all ${rows} rows of the ledger as it was at ${head.madeAt}`,
    "  It holds patients' data: protect it.",
    ...removed.map((old) => `  removed: ${old}`),
  ]);
}
