import { hostname } from "node:os";
import type { Command } from "commander";
import { endingCertificates, fullDisksOf } from "../../app/exceeded.ts";
import type { Config } from "../../config/config.ts";
import { isConfigFailure } from "../../config/problems.ts";
import { hintOf } from "../../core/failures.ts";
import { readPem } from "../../core/given-file.ts";
import { placeText } from "../../core/place.ts";
import { findUnreached } from "../../mapping/inbound/unreached.ts";
import { builtinProfiles } from "../../mapping/profile/builtin.ts";
import { resolveChain, wholeOf } from "../../mapping/profile/inherit.ts";
import type { Profile } from "../../mapping/profile/profile.ts";
import type { ProfileDefinition } from "../../mapping/profile/schema.ts";
import { listReasonsLacking, listUntaken, listWordless } from "../../mapping/profile/wordless.ts";
import { EXIT, type ExitStatus } from "../exit-status.ts";
import { readConfig } from "../open.ts";
import { type Cli, type Session, toAction } from "../session.ts";
import { checkAgainst } from "./check/against.ts";
import { checkDatabaseAndQueue } from "./check/database-and-queue.ts";
import {
  checkConnectors,
  checkConsole,
  checkDataFolder,
  checkFirstDatabase,
  checkProfiles,
} from "./check/local.ts";
import {
  type Finding,
  type Findings,
  failed,
  failedBy,
  ok,
  Report,
  warned,
  warning,
} from "./check/report.ts";
import { checkService } from "./check/service.ts";

/** `cryobridge check`. */
export function define(command: Command, cli: Cli): void {
  command
    .option("--offline", "only what needs neither network nor database")
    .option(
      "--against <old>",
      "rehearse an upgrade on a copy of the ledger: a backup that the old release made",
    )
    .addHelpText(
      "after",
      "\nExample:\n  cryobridge check --offline\n  cryobridge check --against /backup/before-0.2.0.gz",
    )
    .action(toAction(cli, checkAll));
}

/** What fails is shown with its hint; the exit status is that of what has to be fixed first. */
export async function checkAll(
  session: Session,
  { offline: isOffline = false, against }: { readonly offline?: boolean; readonly against?: string },
): Promise<ExitStatus | undefined> {
  const report = new Report(session);
  for await (const finding of checks(session, isOffline, against)) report.add(finding);
  return report.end();
}

async function* checks(session: Session, isOffline: boolean, against: string | undefined): Findings {
  const config = yield* checkConfiguration(session);
  if (!config) return;
  const profiles = yield* checkProfiles(config);
  yield* checkFacilityNames(config);
  const running = yield* checkDataFolder(config, session);
  yield* checkFirstDatabase(config);
  if (profiles) {
    yield* checkConnectors(config, profiles, session, { isRunning: running.has("intake"), isOffline });
    yield* checkUnsent(config, profiles);
    yield* checkContainerPlaces(profiles);
    yield* checkWords(config);
  }
  yield* checkConsole(config, running.has("console"));
  const areAuthoritiesThere = yield* checkAuthorities(config);
  yield* checkMachine(config, session);
  // The ledger of the configuration may be the one to be upgraded: to open it would be to upgrade it.
  if (against !== undefined && profiles) yield* checkAgainst(config, profiles, against, session);
  if (isOffline) return;
  if (against === undefined) yield* checkDatabaseAndQueue(config, session);
  if (areAuthoritiesThere) yield* checkService(config, session);
}

async function* checkConfiguration(session: Session): Findings<Config<ProfileDefinition> | undefined> {
  try {
    const config = readConfig(session);
    yield ok("configuration", config.file);
    for (const { place, message } of config.warnings) yield warning("configuration", `${place}: ${message}`);
    return config;
  } catch (error) {
    if (!isConfigFailure(error)) throw error;
    for (const problem of error.problems) {
      const { place, message } = problem;
      yield failed("configuration", `${place}: ${message}`, hintOf(problem) ?? undefined, EXIT.configuration);
    }
    return undefined;
  }
}

/** Whether the certificates of authorities can be read, without which no daemon starts; connectors check their own. */
function* checkAuthorities(config: Config<ProfileDefinition>): Generator<Finding, boolean> {
  const ofAlerts = config.alerts.to.map(
    (place) => [`alerts.to ${place.name}`, "ca" in place ? place.ca : undefined] as const,
  );
  let areThere = true;
  const ofQueue = config.queue.backend === "redis" ? config.queue.ca : undefined;
  const named = [["service.ca", config.service.ca], ["queue.ca", ofQueue], ...ofAlerts] as const;
  for (const [place, file] of named) {
    if (file === undefined) continue;
    try {
      readPem(place, file);
    } catch (error) {
      areThere = false;
      yield failedBy("configuration", error, EXIT.configuration);
    }
  }
  return areThere;
}

/**
 * Warns of what the daemon on this machine would warn of: disks that are full, and certificates that end. No later look makes
 * good for a certificate that is read slowly, so these are waited for.
 */
async function* checkMachine(config: Config<ProfileDefinition>, { clock }: Session): Findings {
  const host = hostname();
  for (const full of await fullDisksOf(config, host, clock)()) yield warned("disk", full);
  for (const ending of await endingCertificates(config, host, new Date(clock.now())))
    yield warned("certificate", ending);
}

const HINT =
  "Add the name with the service's id to facilities, or correct the profile; until then messages with it wait.";

/**
 * Warns of profiles that translate a facility into a name that the configuration has no id for: messages with it would
 * wait.
 */
async function* checkFacilityNames(config: Config<ProfileDefinition>): Findings {
  const known = [...config.facilityIdByCode.keys()].join(", ");
  for (const [name, { value }] of config.profileByName) {
    const unknown = new Set(namesGiven(value.facility).filter((each) => !config.facilityIdByCode.has(each)));
    if (unknown.size === 0) continue;
    const words = `which the section facilities doesn't have (it has ${known})`;
    yield warning(`profile ${name}`, `facility gives ${[...unknown].join(", ")}, ${words}`, HINT);
  }
}

/**
 * Warns of a folder whose lab gets no word of what is refused, or waits for a code: its profile's own list leaves that out.
 * Over MLLP the sender gets an answer to each message.
 */
function* checkUnsent(
  config: Config<ProfileDefinition>,
  profiles: ReadonlyMap<string, Profile>,
): Generator<Finding> {
  for (const settings of config.connectors) {
    if (settings.type === "mllp") continue;
    const send = profiles.get(settings.profile)?.results.send;
    if (send === undefined) continue;
    const unsent = (["refused", "waiting"] as const).filter((each) => !send.has(each));
    if (unsent.length === 0) continue;
    const words = `results.send of profile ${settings.profile} lacks ${unsent.join(" and ")}: the lab gets no file about such messages`;
    yield warning(
      `connector ${settings.name}`,
      words,
      "Add it to results.send, or watch cryobridge status and the folder error.",
    );
  }
}

/** Warns of labels and descriptions that are looked for where containers have none. */
function* checkContainerPlaces(profiles: ReadonlyMap<string, Profile>): Generator<Finding> {
  for (const [name, profile] of profiles) {
    // A module may read them from anywhere.
    if (profile.format !== "hl7" || profile.module !== undefined) continue;
    for (const value of findUnreached(profile)) {
      yield warning(
        `profile ${name}`,
        `${value.name} is read from ${placeText(value.places)}, which is never read below an order: containers.each is ${placeText(profile.containerPlace)}`,
        "Name the segment in containers.each, with a condition where only some of its name are containers, such as NTE[3^=LABEL=]; or read the value from one that each names, its OBR or ORC.",
      );
    }
  }
}

/** Warns of what results can say that the lab's table of words lacks: it would stand there in our words. */
function* checkWords(config: Config<ProfileDefinition>): Generator<Finding> {
  const own = [...config.profileByName].map(([name, { value }]) => [name, value] as const);
  const byName = new Map<string, ProfileDefinition>([...Object.entries(builtinProfiles), ...own]);
  for (const [name, definition] of own) {
    const chain = resolveChain(name, definition, byName);
    if (!chain.ok) continue;
    const whole = wholeOf(chain.links);
    for (const { table, lacking } of listWordless(chain.links, whole)) {
      yield warning(
        `profile ${name}`,
        `${table} has no word for ${lacking.join(", ")}: the lab reads them as they stand here`,
        `Add the lab's words to ${table}, or the same ones where they are to stay.`,
      );
    }
    const reasons = listReasonsLacking(whole);
    if (reasons.length > 0)
      yield warning(
        `profile ${name}`,
        `results.reasons has no words for ${reasons.join(", ")}: an answer with one of these is in English`,
        "Add them to results.reasons of the profile; config/profiles/german-words.yaml is such a table with all of them.",
      );
    for (const { column, lacking } of listUntaken(chain.links, whole)) {
      yield warning(
        `profile ${name}`,
        `the transforms of ${column} don't take ${lacking.join(", ")}: the lab reads them as they stand here`,
        "Add them to the table, correct the pattern, or set a default for what it does not take.",
      );
    }
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
