import type { Command } from "commander";
import type { Config } from "../../config/config.ts";
import { isConfigFailure } from "../../config/validate.ts";
import type { ProfileDefinition } from "../../mapping/profile/schema.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { readConfig } from "../open.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import { checkConnectors, checkConsole, checkDataFolder, checkProfiles } from "./check/local.ts";
import { checkDatabaseAndQueue } from "./check/remote.ts";
import { Report } from "./check/report.ts";
import { checkService } from "./check/service.ts";

/** `cryobridge check`. */
export function define(command: Command, cli: Cli): void {
  command
    .option("--offline", "only what needs neither network nor database")
    .addHelpText("after", "\nExample:\n  cryobridge check --offline")
    .action(toAction(cli, checkAll));
}

/** What fails is shown with its hint; the exit status is that of what has to be fixed first. */
async function checkAll(session: Session, command: Command): Promise<ExitStatus | undefined> {
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
        hint: error.hint,
        status: EXIT.configuration,
      });
    }
    return undefined;
  }
}

/**
 * Warns of profiles that translate a facility into a name that the configuration has no id for: messages with it would
 * wait.
 */
function checkFacilityNames(config: Config<ProfileDefinition>, report: Report): void {
  for (const [name, { value }] of config.profileByName) {
    const unknown = namesGiven(value.facility).filter((each) => !config.facilityIdByCode.has(each));
    if (unknown.length === 0) continue;
    const known = [...config.facilityIdByCode.keys()].join(", ");
    report.add({
      subject: `profile ${name}`,
      result: "warning",
      detail: `facility gives ${[...new Set(unknown)].join(", ")}, which the section facilities doesn't have (it has ${known})`,
      hint: "Add the name with the service's id to facilities, or correct the profile; until then messages with it wait.",
    });
  }
}

/** The fixed names that a profile's own facility can come to; what a path reads can't be known here. */
function namesGiven(facility: ProfileDefinition["facility"]): string[] {
  if (typeof facility !== "object" || Array.isArray(facility)) return [];
  const { table, value, default: otherwise } = facility as FixedNames;
  return [...Object.values(table ?? {}), value, otherwise].filter((each) => typeof each === "string");
}

interface FixedNames {
  readonly table?: Readonly<Record<string, unknown>> | undefined;
  readonly value?: unknown;
  readonly default?: unknown;
}
