import type { Command } from "commander";
import { Failure } from "../../core/failures.ts";
import { findRestored, liftRestored } from "../../ledger/restored/restore.ts";
import { confirm, printDone } from "../acting.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { readConfig, withLedger } from "../open.ts";
import type { Session } from "../session.ts";

/** `orders release-after-restore`: asks while orders are not compared yet; status 1 when there is no restore to lift. */
export async function releaseAfterRestore(
  session: Session,
  command: Command,
): Promise<ExitStatus | undefined> {
  const { reason, yes } = command.opts<{ reason: string; yes?: boolean }>();
  if (reason.trim() === "") {
    throw new Failure(
      "CLI_USAGE",
      "orders release-after-restore: say why with --reason, it is kept with your name",
    );
  }
  const done = await withLedger(session, readConfig(session), async ({ pool }) => {
    const restored = await findRestored(pool);
    const waiting = restored?.uncompared ?? 0;
    if (waiting > 0) {
      const orders = waiting === 1 ? "1 open order was" : `${waiting} open orders were`;
      const question = `${orders} not compared with the service yet, and may be there already: submit all the same?`;
      if (!(await confirm(session, question, yes))) return undefined;
    }
    const uncompared = await liftRestored(pool, { actor: session.actor, reason });
    if (uncompared === undefined)
      return {
        id: "ledger",
        isDone: false,
        text: "the ledger is not known to have been restored; nothing was done",
      };
    const rest = uncompared === 0 ? "" : ` (${uncompared} were not compared)`;
    return {
      id: "ledger",
      isDone: true,
      text: `nothing more is compared with the service on account of the restore${rest}; orders go on`,
    };
  });
  return done === undefined ? EXIT.failed : printDone(session, [done]);
}
