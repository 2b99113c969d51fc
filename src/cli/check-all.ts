import type { Command } from "commander";
import type { Config } from "../config/config.ts";
import { isConfigFailure } from "../config/problem.ts";
import type { ProfileDefinition } from "../mapping/profile-schema.ts";
import { checkFacilityNames } from "./check-facility-names.ts";
import { checkConnectors, checkConsole, checkDataFolder, checkProfiles } from "./check-local.ts";
import { checkDatabaseAndQueue } from "./check-remote.ts";
import { Report } from "./check-report.ts";
import { checkService } from "./check-service.ts";
import { readConfig } from "./configuration.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import type { Session } from "./session.ts";

/** `check`. What fails is told with its mend; the exit status is that of what has to be mended first. */
export async function checkAll(session: Session, command: Command): Promise<ExitStatus | undefined> {
  const { offline } = command.opts<{ offline?: boolean }>();
  const report = new Report(session);
  const config = configOf(session, report);
  if (config) {
    const profiles = await checkProfiles(config, report);
    checkFacilityNames(config, report);
    const running = await checkDataFolder(config, session, report);
    await checkConnectors(config, profiles, { session, report, isRunning: running.has("intake") });
    await checkConsole(config, running.has("console"), report);
    if (!offline) {
      await checkDatabaseAndQueue(config, session, report);
      await checkService(config, session, report);
    }
  }
  return report.end();
}

function configOf(session: Session, report: Report): Config<ProfileDefinition> | undefined {
  try {
    const config = readConfig(session);
    report.ok("configuration", config.file);
    for (const { place, message } of config.warnings) {
      report.add({ subject: "configuration", result: "warning", detail: `${place}: ${message}` });
    }
    return config;
  } catch (error) {
    if (!isConfigFailure(error)) throw error;
    for (const { place, message } of error.problems) {
      report.add({
        subject: "configuration",
        result: "failed",
        detail: `${place}: ${message}`,
        mend: error.mend,
        status: EXIT.configuration,
      });
    }
    return undefined;
  }
}
