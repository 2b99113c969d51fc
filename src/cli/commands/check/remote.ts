import type { OpenLedger } from "../../../app/open-ledger.ts";
import { readOrphaned } from "../../../app/orphaned.ts";
import type { Config } from "../../../config/config.ts";
import { describeOrphaned, hintForOrphaned } from "../../../console/orphaned.ts";
import { run } from "../../../ledger/database.ts";
import { findPostgresPackage } from "../../../ledger/embedded/programs.ts";
import { EXIT } from "../../exit-status.ts";
import { hasLedger, withLedger, withQueues } from "../../open.ts";
import type { Session } from "../../session.ts";
import type { Report } from "./report.ts";

/** Connects to the database and asks for what the ledger's promises hang on; then looks at the queue. */
export async function checkDatabaseAndQueue(config: Config, session: Session, report: Report): Promise<void> {
  const subject = "database";
  if (!(await hasLedger(config))) return checkEmbedded(report);
  try {
    await withLedger(session, config, async (ledger) => {
      await checkDatabase(ledger, report);
      await checkQueue(config, ledger, session, report);
      await checkOrphaned(config, ledger, report);
    });
  } catch (error) {
    report.fail(subject, error, EXIT.unreachable);
  }
}

/** The server's settings on which it hangs whether a commit survives a power cut. */
const DURABILITY_SETTINGS = ["synchronous_commit", "fsync", "full_page_writes"] as const;

/** Those of the settings under which an acknowledged message could be lost. */
export function unsafeSettings(valueByName: ReadonlyMap<string, string>): string[] {
  return DURABILITY_SETTINGS.filter((name) => ["off", "local"].includes(valueByName.get(name) ?? ""));
}

/** A check doesn't make a database under the account of whoever typed it: the first start does, under its own. */
async function checkEmbedded(report: Report): Promise<void> {
  try {
    const { serverVersion } = await findPostgresPackage();
    report.ok(
      "database",
      `embedded PostgreSQL ${serverVersion} is installed; the first start makes the database`,
    );
  } catch (error) {
    report.fail("database", error, EXIT.unreachable);
  }
}

async function checkDatabase({ pool, isEmbedded }: OpenLedger, report: Report): Promise<void> {
  const show = async (name: string) =>
    (await run<{ value: string }>(pool, "select current_setting($1) as value", [name]))[0]?.value ?? "";
  const version = await show("server_version");
  const place = isEmbedded ? "embedded PostgreSQL" : "PostgreSQL";
  report.ok("database", `${place} ${version} answers, and the ledger's tables are up to date`);
  const unsafe = unsafeSettings(
    new Map(await Promise.all(DURABILITY_SETTINGS.map(async (name) => [name, await show(name)] as const))),
  );
  if (unsafe.length === 0) return report.ok("database, durability", "what is committed is on disk");
  report.add({
    subject: "database, durability",
    result: "failed",
    detail: `${unsafe.join(", ")} is switched off: a power cut would lose what was acknowledged`,
    hint: "Switch it on in the server's configuration; a pooler between must pass start-up options on.",
  });
}

async function checkQueue(
  config: Config,
  ledger: OpenLedger,
  session: Session,
  report: Report,
): Promise<void> {
  try {
    const counts = await withQueues(session, config, ledger, (queues) => queues.counts());
    const jobs = Object.values(counts).flatMap((states) => Object.values(states));
    const total = jobs.reduce((sum, count) => sum + count, 0);
    report.ok("queue", `${config.queue.backend} answers; ${total} jobs in it`);
  } catch (error) {
    report.fail("queue", error, EXIT.unreachable);
  }
}

/** A line for each connector of which something waits and that the configuration doesn't name. */
async function checkOrphaned(config: Config, { pool }: OpenLedger, report: Report): Promise<void> {
  for (const left of await readOrphaned(pool, config)) {
    report.add({
      subject: `connector ${left.connector}`,
      result: "warning",
      detail: describeOrphaned(left),
      hint: hintForOrphaned(left),
    });
  }
}
