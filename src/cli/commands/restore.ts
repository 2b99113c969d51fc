import type { Command } from "commander";
import { ROLES } from "../../app/context.ts";
import { openLedger } from "../../app/open-ledger.ts";
import type { Config } from "../../config/config.ts";
import { Failure } from "../../core/failures.ts";
import { readBackup } from "../../ledger/backup/file.ts";
import { assertRestorable, restoreBackup } from "../../ledger/backup/restore.ts";
import { acquireDaemonLock, isDaemonThere } from "../../ledger/embedded/lock.ts";
import type { Act } from "../../ledger/operator/audit.ts";
import { drainAllWorkers, listWorkers } from "../../ledger/workers/roster.ts";
import { counted } from "../../operator/text.ts";
import { type ActOptions, confirm } from "../acting.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { hasLedger, type OpenSite, readConfig, withLedger } from "../open.ts";
import { withProgress } from "../output/progress.ts";
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
  if (!mayStop && (await isAnyDaemonThere(config))) {
    const why = `a daemon works on ${config.dataDir}; stop it, or have this command do so with --stop`;
    throw new Failure("LEDGER_IN_USE", why);
  }
  const question = "Remove all that the ledger holds and put the backup in its place?";
  if (isReplacing && !(await confirm(session, question, yes))) return EXIT.failed;
  const { clock } = session;
  const act = { actor: session.actor, reason };
  const isThere = await hasLedger(config);
  // No ledger is made, and nobody stopped, for a backup that is none, or may not be put in.
  if (!isThere || mayStop)
    await withProgress<unknown>(session, { what: "backup", nouns: "rows checked" }, () =>
      isThere
        ? withLedger(session, ({ pool }) => assertRestorable(pool, file, isReplacing), config)
        : readBackup(file),
    );
  if (!mayStop) return putBack(session, config, file, { isReplacing, act });
  await stopDaemons(session, config, act);
  const locks: (() => Promise<void>)[] = [];
  try {
    // What a supervisor starts meanwhile ends at once, and is started again later.
    for (const role of ROLES) locks.push(await acquireDaemonLock(config.dataDir, clock, role));
    return await putBack(session, config, file, { isReplacing, act });
  } finally {
    for (const release of locks) await release();
  }
}

async function isAnyDaemonThere({ dataDir }: Pick<Config, "dataDir">): Promise<boolean> {
  for (const role of ROLES) if (await isDaemonThere(dataDir, role)) return true;
  return false;
}

/** Has all daemons of the ledger end, and waits for it. @throws Failure LEDGER_IN_USE for one that doesn't */
async function stopDaemons(session: Session, config: OpenSite["config"], act: Act): Promise<void> {
  const { clock } = session;
  if (!(await hasLedger(config))) return;
  const untilMs = clock.monotonic() + STOPS_WITHIN_MS;
  const listNames = ({ pool }: OpenSite) =>
    listWorkers(pool, 0).then((workers) => workers.filter(({ isAlive }) => isAlive).map(({ name }) => name));
  await withProgress(session, { what: "stopping the daemons", nouns: "ended" }, () =>
    withLedger(
      session,
      async (site) => {
        await drainAllWorkers(site.pool, act);
        while ((await isAnyDaemonThere(config)) || (await listNames(site)).length > 0) {
          if (clock.monotonic() > untilMs)
            throw new Failure("LEDGER_IN_USE", `${(await listNames(site)).join(", ")} did not end in time`);
          await clock.sleep(LOOK_EVERY_MS);
        }
      },
      config,
    ),
  );
}

async function putBack(
  session: Session,
  config: Config,
  file: string,
  { isReplacing, act }: { readonly isReplacing: boolean; readonly act: Act },
): Promise<undefined> {
  const { clock, logger } = session;
  const ledger = await openLedger(config, { clock, logger, isDaemon: false, mayTakeLong: true });
  try {
    const { epochFile } = config;
    const { head, rows, open } = await withProgress(session, { what: "restore", nouns: "rows" }, (onRows) =>
      restoreBackup(ledger.pool, file, { isReplacing, epochFile, act, onRows }),
    );
    const orders = counted(open, "open order");
    session.result({ file, madeAt: head.madeAt, ledger: head.ledger, rows, openOrders: open }, [
      `${session.paint("green", "✓")} ${rows} rows restored: the ledger is as it was at ${head.madeAt}`,
      `  When a daemon starts, it compares ${orders} with the service before it sends anything; cryobridge status shows that.`,
      "  Have the lab send again what it sent since.",
    ]);
    return undefined;
  } finally {
    await ledger.close();
  }
}
