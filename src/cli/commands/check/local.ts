import { access, realpath } from "node:fs/promises";
import { createServer } from "node:net";
import { createConnector, profileOf } from "../../../app/connectors.ts";
import { compileProfiles } from "../../../app/profiles.ts";
import type { Config } from "../../../config/config.ts";
import { isConfigFailure } from "../../../config/problems.ts";
import { bareHost } from "../../../core/address-list.ts";
import type { DroppedFiles } from "../../../core/dropped-files.ts";
import { asFailure, FAILURES } from "../../../core/failures.ts";
import type { Intake } from "../../../core/intake.ts";
import { findPlaceOf } from "../../../core/make-folders.ts";
import { ROLES, type Role } from "../../../core/role.ts";
import { findObstacle } from "../../../ledger/embedded/home.ts";
import { isDaemonThere } from "../../../ledger/embedded/lock.ts";
import { findPostgresPackage } from "../../../ledger/embedded/programs.ts";
import { readEpochFile } from "../../../ledger/restored/epoch-file.ts";
import type { Profile } from "../../../mapping/profile/profile.ts";
import type { ProfileDefinition } from "../../../mapping/profile/schema.ts";
import { EXIT } from "../../exit-status.ts";
import { hasLedger } from "../../open.ts";
import type { Session } from "../../session.ts";
import { type Findings, failed, failedBy, ok, warning } from "./report.ts";

/** Compiles every profile; a line for each. Gives those that are right; undefined when one is not. */
export async function* checkProfiles(
  config: Config<ProfileDefinition>,
): Findings<ReadonlyMap<string, Profile> | undefined> {
  const used = config.connectors.map(({ profile }) => profile);
  const names = [...new Set([...config.profileByName.keys(), ...used])];
  try {
    const profiles = await compileProfiles(config);
    for (const name of names)
      yield ok(`profile ${name}`, profiles.get(name)?.format === "csv" ? "for CSV" : "for HL7");
    return profiles;
  } catch (error) {
    if (!isConfigFailure(error)) throw error;
    for (const name of names) {
      const problems = error.problems.filter(({ path }) => path.startsWith(`profiles.${name}.`));
      if (problems.length === 0) yield ok(`profile ${name}`, "no mistakes");
      for (const { place, message } of problems)
        yield failed(`profile ${name}`, `${place}: ${message}`, error.hint, EXIT.configuration);
    }
    return undefined;
  }
}

/**
 * Asks each connector about its folders; nothing is made or changed.
 * @param isRunning whether a daemon takes messages in right now, and so has their ports
 * @param isOffline whether nothing beyond this machine is asked
 */
export async function* checkConnectors(
  config: Config,
  profiles: ReadonlyMap<string, Profile>,
  { clock, logger }: Session,
  { isRunning, isOffline }: { readonly isRunning: boolean; readonly isOffline: boolean },
): Findings {
  for (const settings of config.connectors) {
    const subject = `connector ${settings.name}`;
    try {
      const profile = profileOf(settings, profiles);
      const connector = createConnector(() => ({ connector: settings, profile }), {
        intake: noIntake,
        dropped: noDropped,
        clock,
        logger,
      });
      for (const line of await connector.check(isOffline)) {
        if (isRunning && settings.type === "mllp" && line.subject === "listen") {
          const { host, port } = settings.listen;
          yield ok(`${subject}, listen`, `${host}:${port}, where the running daemon listens`);
          continue;
        }
        const part = `${subject}, ${line.subject}`;
        const { level, detail, stopsIntake = false } = line;
        const hint = line.hint ?? undefined;
        if (level === "act") yield failed(part, detail, hint, undefined, { stopsIntake });
        else yield level === "look" ? warning(part, detail, hint) : ok(part, detail);
      }
    } catch (error) {
      const isWrong = asFailure(error).code === "CONFIG_INVALID";
      yield failedBy(subject, error, isWrong ? EXIT.configuration : EXIT.failed, { stopsIntake: true });
    }
  }
}

/** A check takes nothing in. */
const noFiles = () => Promise.reject(new TypeError("a check takes no files"));
const noIntake: Intake = {
  openFile: noFiles,
  accept: noFiles,
  inspect: () => [],
  settleFile: noFiles,
  answerBatch: () => undefined,
};

const noDropped: DroppedFiles = {
  ledger: "",
  claim: noFiles,
  forget: noFiles,
  takeOver: noFiles,
  finish: noFiles,
  listDue: noFiles,
  record: noFiles,
};

/** Whether the data folder can be used; gives the roles that daemons do on it right now, which is fine. */
export async function* checkDataFolder(config: Config, session: Session): Findings<ReadonlySet<Role>> {
  const subject = "data folder";
  const { dataDir } = config;
  const running = new Set<Role>();
  const isEmbedded = config.database.url === undefined;
  const obstacle = isEmbedded ? await findObstacle(dataDir) : undefined;
  if (obstacle) yield failedBy(subject, obstacle, EXIT.failed, { stopsIntake: true });
  if (!obstacle) {
    const { place, isWritable } = await findPlaceOf(dataDir);
    const isMade = place === dataDir;
    if (!isWritable) {
      const why = `${dataDir} can't be ${isMade ? "written" : "made"}: ${place} may not be written by ${session.actor}`;
      yield failed(subject, why, FAILURES.LEDGER_FOLDER_UNUSABLE.hint, undefined, { stopsIntake: true });
      return running;
    }
    if (!isMade) yield ok(subject, `${dataDir} is made by the first start`);
  }
  yield* checkEpochFile(config);
  if (!(await isThere(dataDir))) return running;
  try {
    for (const role of ROLES) if (await isDaemonThere(dataDir, role)) running.add(role);
    const words =
      running.size === 0 ? "no daemon is running" : `a daemon is running (${[...running].join(", ")})`;
    const place = isEmbedded ? `, database in ${await realpath(dataDir)}/postgres` : "";
    if (!obstacle) yield ok(subject, `${dataDir}: ${words}${place}`);
  } catch (error) {
    yield failedBy(subject, error, EXIT.failed);
  }
  return running;
}

/** Whether the programs are there with which the first start makes the embedded database. */
export async function* checkFirstDatabase(config: Config): Findings {
  if (await hasLedger(config)) return;
  try {
    const { serverVersion } = await findPostgresPackage();
    yield ok(
      "database",
      `embedded PostgreSQL ${serverVersion} is installed; the first start makes the database`,
    );
  } catch (error) {
    yield failedBy("database", error, EXIT.unreachable, { stopsIntake: true });
  }
}

/** Without it no worker starts. */
async function* checkEpochFile({ epochFile }: Config): Findings {
  try {
    await readEpochFile(epochFile);
  } catch (error) {
    yield failedBy("epoch file", error, EXIT.failed, { stopsIntake: true });
  }
}

function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Whether the console could listen; its port being taken is right while a daemon runs. */
export async function* checkConsole(config: Config, isConsoleRunning: boolean): Findings {
  const { port } = config.console;
  const host = bareHost(config.console.host);
  const code = await tryListen(host, port);
  if (code === undefined) return yield ok("console", `${host}:${port} is free`);
  if (code === "EADDRINUSE" && isConsoleRunning)
    return yield ok("console", `${host}:${port} is in use, as it is while a daemon runs`);
  const failure = code === "EADDRINUSE" ? "CONSOLE_PORT_TAKEN" : "CONSOLE_NOT_LISTENING";
  yield failed("console", `can't listen on ${host}:${port} (${code})`, FAILURES[failure].hint);
}

/** The system's code for what keeps us from listening there; undefined when nothing does. */
function tryListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "unknown error"));
    server.listen({ host, port }, () => server.close(() => resolve(undefined)));
  });
}
