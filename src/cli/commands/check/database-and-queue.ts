import { run } from "../../../ledger/database.ts";
import { readOrphaned } from "../../../operator/things/orphaned.ts";
import { orphanedCondition, orphanedWords } from "../../../standing/attention/orphaned.ts";
import { EXIT } from "../../exit-status.ts";
import { hasLedger, type OpenSite, withLedger, withQueues } from "../../open.ts";
import type { Session } from "../../session.ts";
import { type Finding, type Findings, failed, failedBy, ok, warned, warning } from "./report.ts";

/** Connects to the database and asks for what the ledger's promises hang on; then asks the queue. */
export async function* checkDatabaseAndQueue(config: OpenSite["config"], session: Session): Findings {
  const found: Finding[] = [];
  const work = async (site: OpenSite) => {
    found.push(...(await checkDatabase(site)), ...(await checkQueue(site, session)));
    found.push(...(await checkOrphaned(site)));
  };
  try {
    // A check doesn't make a database under the account of whoever typed it: the first start does, under its own.
    if (await hasLedger(config)) await withLedger(session, work, config);
    else if (config.queue.backend === "redis") found.push(...(await checkQueue({ config }, session)));
  } catch (error) {
    found.push(failedBy("database", error, EXIT.unreachable, { stopsIntake: true }));
  }
  yield* found;
}

/** The server's settings on which it hangs whether a commit survives a power cut. */
const DURABILITY_SETTINGS = ["synchronous_commit", "fsync", "full_page_writes"] as const;

/** Those of the settings under which an acknowledged message could be lost. */
export function unsafeSettings(valueByName: ReadonlyMap<string, string>): string[] {
  return DURABILITY_SETTINGS.filter((name) => ["off", "local"].includes(valueByName.get(name) ?? ""));
}

/** Warns of connectors that the ledger has something of and the configuration lacks. */
export async function checkOrphaned({ pool, config }: OpenSite): Promise<Finding[]> {
  return (await readOrphaned({ pool, config })).map((left) =>
    warned(`connector ${left.connector}`, orphanedCondition({ ...left, ...orphanedWords(left) })),
  );
}

async function checkDatabase({ pool, isEmbedded }: OpenSite): Promise<Finding[]> {
  const show = async (name: string) =>
    (await run<{ value: string }>(pool, "select current_setting($1) as value", [name]))[0]?.value ?? "";
  const place = `${isEmbedded ? "embedded " : ""}PostgreSQL ${await show("server_version")}`;
  const values = DURABILITY_SETTINGS.map(async (name) => [name, await show(name)] as const);
  const unsafe = unsafeSettings(new Map(await Promise.all(values)));
  const why = `${unsafe.join(", ")} is switched off: a power cut would lose what was acknowledged`;
  const hint = "Switch it on in the server's configuration.";
  return [
    ok("database", `${place} answers, and the ledger's tables are up to date`),
    unsafe.length === 0
      ? ok("database, durability", "what is committed is on disk")
      : failed("database, durability", why, hint),
  ];
}

/** Asks the queue for its jobs, and has one of its own go through it. */
export async function checkQueue(
  site: Parameters<typeof withQueues>[1],
  session: Session,
): Promise<Finding[]> {
  try {
    const { counts, risks } = await withQueues(session, site, async (queues) => {
      const found = { counts: await queues.counts(), risks: await queues.findRisks() };
      await queues.tryJob();
      return found;
    });
    const jobs = Object.values(counts).flatMap((states) => Object.values(states));
    const total = jobs.reduce((sum, count) => sum + count, 0);
    return [
      ok("queue", `${site.config.queue.backend} answers, and a job went through it; ${total} jobs in it`),
      ...risks.map(({ message, hint }) => warning("queue", message, hint)),
    ];
  } catch (error) {
    return [failedBy("queue", error, EXIT.unreachable)];
  }
}
