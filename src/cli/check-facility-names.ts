import type { Config } from "../config/config.ts";
import type { ProfileDefinition } from "../mapping/profile-schema.ts";
import type { Report } from "./check-report.ts";

/**
 * Warns of profiles that translate a facility into a name that the configuration has no id for: messages with it would
 * wait.
 */
export function checkFacilityNames(config: Config<ProfileDefinition>, report: Report): void {
  for (const [name, { value }] of config.profileByName) {
    const unknown = namesGiven(value.facility).filter((each) => !config.facilityIdByCode.has(each));
    if (unknown.length === 0) continue;
    const known = [...config.facilityIdByCode.keys()].join(", ");
    report.add({
      subject: `profile ${name}`,
      result: "warning",
      detail: `facility gives ${[...new Set(unknown)].join(", ")}, which the section facilities doesn't have (it has ${known})`,
      mend: "Add the name with the service's id to facilities, or correct the profile; until then messages with it wait.",
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
