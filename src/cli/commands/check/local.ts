import { access, constants, realpath } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname } from "node:path";
import { createConnector, profileOf } from "../../../app/connectors.ts";
import { compileProfiles } from "../../../app/profiles.ts";
import { ROLES, type Role } from "../../../app/roles.ts";
import type { Config } from "../../../config/config.ts";
import { isConfigFailure } from "../../../config/validate.ts";
import { asFailure, FAILURES } from "../../../core/failures.ts";
import type { Intake } from "../../../core/intake.ts";
import { bareHost } from "../../../core/loopback.ts";
import { findObstacle } from "../../../ledger/embedded/home.ts";
import { acquireDaemonLock } from "../../../ledger/embedded/lock.ts";
import type { Profile } from "../../../mapping/profile/profile.ts";
import type { ProfileDefinition } from "../../../mapping/profile/schema.ts";
import { EXIT } from "../../exit-status.ts";
import type { Session } from "../../session.ts";
import type { Report } from "./report.ts";

/** Compiles every profile; a line for each. Gives those that are right; undefined when one is not. */
export async function checkProfiles(
  config: Config<ProfileDefinition>,
  report: Report,
): Promise<ReadonlyMap<string, Profile> | undefined> {
  const used = config.connectors.map(({ profile }) => profile);
  const names = [...new Set([...config.profileByName.keys(), ...used])];
  try {
    const profiles = await compileProfiles(config);
    for (const name of names)
      report.ok(`profile ${name}`, profiles.get(name)?.format === "csv" ? "for CSV" : "for HL7");
    return profiles;
  } catch (error) {
    if (!isConfigFailure(error)) throw error;
    for (const name of names) {
      const problems = error.problems.filter(({ path }) => path.startsWith(`profiles.${name}.`));
      if (problems.length === 0) report.ok(`profile ${name}`, "no mistakes");
      for (const { place, message } of problems) {
        report.add({
          subject: `profile ${name}`,
          result: "failed",
          detail: `${place}: ${message}`,
          hint: error.hint,
          status: EXIT.configuration,
        });
      }
    }
    return undefined;
  }
}

/** What checking the connectors takes. */
interface ConnectorCheck {
  readonly session: Session;
  readonly report: Report;
  /** Whether a daemon takes messages in right now, and so holds their ports. */
  readonly isRunning: boolean;
}

/** Asks each connector about its folders; nothing is made or changed. */
export async function checkConnectors(
  config: Config,
  profiles: ReadonlyMap<string, Profile> | undefined,
  { session, report, isRunning }: ConnectorCheck,
): Promise<void> {
  if (!profiles) return;
  const { clock, logger } = session;
  for (const settings of config.connectors) {
    const subject = `connector ${settings.name}`;
    try {
      const profile = profileOf(settings, profiles);
      const connector = createConnector(settings, profile, {
        intake: noIntake,
        clock,
        logger,
      });
      for (const line of await connector.check()) {
        if (isRunning && settings.type === "mllp" && line.subject === "listen") {
          const { host, port } = settings.listen;
          report.ok(`${subject}, listen`, `${host}:${port}, where the running daemon listens`);
          continue;
        }
        report.add({
          subject: `${subject}, ${line.subject}`,
          result: !line.isOk ? "failed" : line.isWarning ? "warning" : "ok",
          detail: line.detail,
        });
      }
    } catch (error) {
      report.fail(
        subject,
        error,
        asFailure(error).code === "CONFIG_INVALID" ? EXIT.configuration : EXIT.failed,
      );
    }
  }
}

/** A check takes nothing in. */
const noIntake: Intake = {
  openFile: () => Promise.reject(new TypeError("a check takes no files")),
  accept: () => Promise.reject(new TypeError("a check takes no messages")),
  inspect: () => [],
  closeFile: () => Promise.reject(new TypeError("a check takes no files")),
  answerBatch: () => undefined,
};

/** Whether the data folder can be used; gives the roles that daemons do on it right now, which is fine. */
export async function checkDataFolder(
  config: Config,
  session: Session,
  report: Report,
): Promise<ReadonlySet<Role>> {
  const subject = "data folder";
  const { dataDir } = config;
  const running = new Set<Role>();
  const isEmbedded = config.database.url === undefined;
  const obstacle = isEmbedded ? await findObstacle(dataDir) : undefined;
  if (obstacle) report.fail(subject, obstacle, EXIT.failed);
  if (!(await isThere(dataDir))) {
    if (!obstacle) await checkMakeable(dataDir, session, report);
    return running;
  }
  try {
    for (const role of ROLES) if (await isRunning(dataDir, role, session)) running.add(role);
    const words =
      running.size === 0 ? "no daemon is running" : `a daemon is running (${[...running].join(", ")})`;
    const place = isEmbedded ? `, database in ${await realpath(dataDir)}/postgres` : "";
    if (!obstacle) report.ok(subject, `${dataDir}: ${words}${place}`);
  } catch (error) {
    report.fail(subject, error, EXIT.failed);
  }
  return running;
}

/**
 * Whether a daemon does a role on a data folder. The lock is taken for a moment, which is how it is seen to be free.
 *
 * @throws Failure LEDGER_… when the folder isn't there or can't be used
 */
async function isRunning(dataDir: string, role: Role, session: Session): Promise<boolean> {
  try {
    const release = await acquireDaemonLock(dataDir, session.clock, role);
    await release();
    return false;
  } catch (error) {
    if (asFailure(error).code === "LEDGER_IN_USE") return true;
    throw error;
  }
}

async function checkMakeable(dataDir: string, session: Session, report: Report): Promise<void> {
  const parent = await nearestExisting(dataDir);
  const mayMake = await access(parent, constants.W_OK).then(
    () => true,
    () => false,
  );
  if (mayMake) return report.ok("data folder", `${dataDir} is made by the first start`);
  report.add({
    subject: "data folder",
    result: "failed",
    detail: `${dataDir} can't be made: ${parent} may not be written by ${session.actor}`,
    hint: FAILURES.LEDGER_FOLDER_UNUSABLE.hint,
  });
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function nearestExisting(path: string): Promise<string> {
  let folder = dirname(path);
  while (!(await isThere(folder)) && folder !== dirname(folder)) folder = dirname(folder);
  return folder;
}

/** Whether the console could listen; its port being taken is right while a daemon runs. */
export async function checkConsole(config: Config, isConsoleRunning: boolean, report: Report): Promise<void> {
  const { port } = config.console;
  const host = bareHost(config.console.host);
  const subject = "console";
  const code = await tryListen(host, port);
  if (code === undefined) return report.ok(subject, `${host}:${port} is free`);
  if (code === "EADDRINUSE" && isConsoleRunning)
    return report.ok(subject, `${host}:${port} is in use, as it is while a daemon runs`);
  const failure = code === "EADDRINUSE" ? "CONSOLE_PORT_TAKEN" : "CONSOLE_NOT_LISTENING";
  report.add({
    subject,
    result: "failed",
    detail: `can't listen on ${host}:${port} (${code})`,
    hint: FAILURES[failure].hint,
  });
}

/** The system's code for what keeps us from listening there; undefined when nothing does. */
function tryListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "unknown error"));
    server.listen({ host, port }, () => server.close(() => resolve(undefined)));
  });
}
