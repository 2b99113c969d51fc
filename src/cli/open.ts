import { access } from "node:fs/promises";
import { join } from "node:path";
import type pg from "pg";
import type { OpenLedger } from "../app/open-ledger.ts";
import type { Config, ConnectorConfig } from "../config/config.ts";
import { loadConfig } from "../config/load.ts";
import { listSecrets } from "../config/secret.ts";
import { type Clock, systemClock } from "../core/clock.ts";
import { asFailure, Failure, type FailureCode } from "../core/failures.ts";
import { FILE_WITHIN_MS, LATE, LEDGER_WITHIN_MS, within } from "../core/within.ts";
import type { JobQueues } from "../jobs/queues.ts";
import { type ProfileDefinition, profileSchema } from "../mapping/profile/schema.ts";
import type { ServiceClient } from "../service/client.ts";
import { toFailure } from "./output/failure.ts";
import type { Session } from "./session.ts";

// What a command opens for itself. The code of each is imported only then, so that a command starts fast.

/** A command only reads queues, so there is nothing to wait for at the end. */
const CLOSE_QUEUES_WITHIN_MS = 1_000;

/**
 * The configuration that a session's `--config` names. What the session writes from then on is without its credentials.
 *
 * @param purpose `again`: a daemon reads it once more, whose environment stays as it was; `mapping`: nothing is called or opened,
 *   so that what the environment lacks for that does not matter
 * @throws ConfigFailure with every mistake.
 */
export function readConfig(session: Session, purpose?: "again" | "mapping"): Config<ProfileDefinition> {
  const config = loadConfig(session.configFile, {
    env: session.io.env,
    isOfDaemon: purpose === "again",
    isForMapping: purpose === "mapping",
    profileSchema,
  });
  for (const secret of listSecrets(config)) session.secrets.add(secret);
  return config;
}

/** The connector that an option names. @throws Failure CLI_USAGE */
export function requireConnector(config: Config, option: string, wanted: string): ConnectorConfig {
  const found = config.connectors.find(({ name }) => name === wanted);
  if (found) return found;
  const names = config.connectors.map(({ name }) => name).join(", ");
  throw new Failure("CLI_USAGE", `${option} ${wanted}: the configuration has ${names}`);
}

/** The service's id of the facility that `--facility` names; undefined when it names none. @throws Failure CLI_USAGE */
export function facilityIdOf(config: Config, wanted: string | undefined): number | undefined {
  const id = wanted === undefined ? undefined : config.facilityIdByCode.get(wanted);
  if (wanted === undefined || id !== undefined) return id;
  const names = [...config.facilityIdByCode.keys()].join(", ");
  throw new Failure("CLI_USAGE", `--facility ${wanted}: the configuration has ${names}`);
}

/**
 * Whether the embedded database of a configuration was ever made; true for an external one.
 *
 * @throws Failure LEDGER_FOLDER_UNUSABLE for a folder that hangs
 */
export async function hasLedger(
  { database, dataDir }: Pick<Config, "database" | "dataDir">,
  clock: Pick<Clock, "sleep"> = systemClock,
): Promise<boolean> {
  if (database.url) return true;
  const looking = access(join(dataDir, "postgres")).then(
    () => true,
    () => false,
  );
  const found = await within(looking, FILE_WITHIN_MS, clock);
  if (found === LATE) throw new Failure("LEDGER_FOLDER_UNUSABLE", `${dataDir} does not answer`);
  return found;
}

/** The ledger, and the configuration that names it. */
export interface OpenSite extends OpenLedger {
  readonly config: Config<ProfileDefinition>;
}

/**
 * Opens the ledger: joins the server that a daemon runs, or starts it for a moment. To be closed.
 *
 * @throws Failure CLI_LEDGER_MISSING rather than make a database in a place where no daemon ever ran, and under the
 *   account of whoever typed the command.
 */
export async function openSite(session: Session, config: OpenSite["config"]): Promise<OpenSite> {
  if (!(await hasLedger(config))) {
    throw new Failure("CLI_LEDGER_MISSING", `there is no ledger in ${config.dataDir} yet`);
  }
  const { clock, logger } = session;
  const { openLedger } = await import("../app/open-ledger.ts");
  return { ...(await openLedger(config, { clock, logger, isDaemon: false })), config };
}

/** Opens the ledger for one command. @throws Failure as {@link openSite} does */
export async function withLedger<T>(
  session: Session,
  work: (site: OpenSite) => Promise<T>,
  config: OpenSite["config"] = readConfig(session),
): Promise<T> {
  const site = await openSite(session, config);
  try {
    return await work(site);
  } finally {
    await site.close();
  }
}

/** Before anything is decided about records. @throws Failure LEDGER_WENT_BACK, LEDGER_EPOCH_UNUSABLE */
export async function assertNoOlderCopy({ pool, config }: Pick<OpenSite, "pool" | "config">): Promise<void> {
  const { requireNoOlderCopy } = await import("../ledger/restored/epoch.ts");
  await requireNoOlderCopy(pool, config.epochFile);
}

/** The same for what can do without the ledger: what asks that fails with the reason, as a Failure. */
export async function withLedgerOrNone<T>(
  session: Session,
  work: (site: Pick<OpenSite, "pool" | "config">) => Promise<T>,
): Promise<T> {
  const config = readConfig(session);
  const opening = openSite(session, config).catch(toFailure);
  // A server of our own may take a while to start; another one that says nothing for so long hangs.
  const found = config.database.url ? await within(opening, LEDGER_WITHIN_MS, session.clock) : await opening;
  const site =
    found === LATE ? new Failure("LEDGER_UNAVAILABLE", "the ledger gave no answer within 5 s") : found;
  if (site instanceof Failure) {
    const { poolWithout } = await import("../ledger/database.ts");
    return work({ pool: poolWithout(site), config });
  }
  try {
    return await work(site);
  } finally {
    await site.close();
  }
}

/** What opening the queues takes; a Redis can be asked before there is a ledger. */
type QueueSite = Pick<OpenSite, "config"> & Partial<OpenSite>;

/** Opens BullMQ's queues, to be closed. @throws Failure QUEUE_UNAVAILABLE or LEDGER_UNAVAILABLE */
export async function openSiteQueues(
  session: Session,
  { config, pool, connection = {} }: QueueSite,
): Promise<{ readonly queues: JobQueues; close(): Promise<void> }> {
  const { openQueueBackend } = await import("../app/open-ledger.ts");
  const { openQueues } = await import("../jobs/queues.ts");
  const { findInstanceCode } = await import("../ledger/migrate.ts");
  const { backend, close } = openQueueBackend(config, connection, {
    instanceCode: pool && (await findInstanceCode(pool)),
    logger: session.logger,
    connections: 4,
    applicationName: "cryobridge-cli-queue",
  });
  try {
    const connectors = config.connectors.map(({ name }) => name);
    const queues = await openQueues(backend, connectors, session.logger);
    return { queues, close: () => queues.close(CLOSE_QUEUES_WITHIN_MS).finally(close) };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Opens BullMQ's queues for one command. @throws Failure as {@link openSiteQueues} does */
export async function withQueues<T>(
  session: Session,
  site: QueueSite,
  work: (queues: JobQueues) => Promise<T>,
): Promise<T> {
  const { queues, close } = await openSiteQueues(session, site);
  try {
    return await work(queues);
  } finally {
    await close();
  }
}

/** Opens the client of the storage service for one command. */
export async function withService<T>(
  session: Pick<Session, "clock" | "logger">,
  config: Config,
  work: (service: ServiceClient) => Promise<T>,
): Promise<T> {
  const { openService } = await import("../app/service.ts");
  const service = openService(config, { clock: session.clock, logger: session.logger });
  try {
    return await work(service);
  } catch (error) {
    const failure = asFailure(error);
    const hint = OF_A_READ[failure.code];
    throw hint === undefined
      ? error
      : new Failure(failure.code, { message: failure.message, answer: failure.answer, hint, cause: error });
  } finally {
    await service.close();
  }
}

/** What a person does about a read of the service by a command, where the hint of its code has an order tried again. */
const OF_A_READ: Readonly<Partial<Record<FailureCode, string>>> = {
  SERVICE_NOT_FOUND:
    "Check the id, and that these credentials may see it; `cryobridge service --help` names the lists of what there is. If a whole list is not found, correct `service.baseUrl`, which ends before /api.",
  SERVICE_REFUSED: "Ask the service's operator whether these credentials may read this, and in this way.",
};

/**
 * Writes down that patients' values are about to be shown; does nothing without `--show-phi`.
 * @param targets what is shown, such as `o17`
 * @throws Failure LEDGER_… when it can't be written down; then nothing must be shown.
 */
export async function recordShown(
  session: Session,
  pool: pg.Pool,
  targets: readonly string[],
  detail: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  if (!session.mayShowPhi || targets.length === 0) return;
  const { recordAudit } = await import("../ledger/operator/audit.ts");
  const audited = targets.map((target) => ({ target, detail }));
  await recordAudit(pool, { actor: session.actor }, "show-phi", audited);
}

/**
 * The same before patients' values of the service are asked for.
 * @param target what is read, such as `service subject 17`
 * @param filters names of the filters; their values may be a patient's
 * @throws Failure also CLI_LEDGER_MISSING
 */
export async function recordRead(
  session: Session,
  config: OpenSite["config"],
  target: string,
  filters: readonly string[] = [],
): Promise<void> {
  if (!session.mayShowPhi) return;
  if (!(await hasLedger(config))) {
    const why = "so showing patients' data can't be recorded; nothing was read";
    throw new Failure("CLI_LEDGER_MISSING", `there is no ledger in ${config.dataDir} yet, ${why}`);
  }
  const detail = filters.length === 0 ? {} : { filters };
  await withLedger(session, ({ pool }) => recordShown(session, pool, [target], detail), config);
}
