import type { Problem } from "../../core/failures.ts";
import type { Profile } from "../profile/profile.ts";

/** What a hint names of the profile that was asked. */
type AskedProfile = Pick<Profile, "name" | "declaredIn"> & {
  readonly rules: { readonly facility: { readonly hasTable?: boolean | undefined } };
};

const REPLAY =
  "Then `cryobridge reload`, and `cryobridge messages replay ID`. Or have the lab correct the code and send it again.";

/**
 * What follows once the code is in its table: the message waits; or it was refused for other mistakes, by the setting, or with all
 * of its file.
 */
const THEN = {
  release:
    "Then `cryobridge reload`; waiting messages are then processed. Or have the lab correct the code and send it again, and discard this: `cryobridge messages discard ID --reason TEXT`.",
  besides: REPLAY,
  setting: REPLAY,
  drop: "Then `cryobridge reload`, and drop the file again. Or have the lab correct the code in the file and drop that.",
} as const;

/** Why it does not wait, as others with an unknown code do. */
const WHY_REFUSED = {
  release: "",
  besides: "The message does not wait for the code, since more is wrong with it. ",
  setting: "The message does not wait for the code, since `mapping.unknownCodes` is `refuse`. ",
  drop: "Nothing waits for the code, since the profile takes a file as a whole (`wholeFile`). ",
} as const satisfies Record<keyof typeof THEN, string>;

/** A longer code is no example to copy. */
const MOST_EXAMPLE = 40;

/**
 * A problem with a code that no table knows, with what to do about it: the place to edit, and the line to write there. Every
 * other problem as it is.
 */
export function withCodeHint(problem: Problem, profile: AskedProfile, then: keyof typeof THEN): Problem {
  const hint = hintForCode(problem, profile);
  if (hint === undefined) return problem;
  // A value of another table never waits.
  const why = problem.code === "MAPPING_CODE_UNKNOWN" ? "" : WHY_REFUSED[then];
  return { ...problem, hint: `${why}${hint} ${THEN[then]}` };
}

/** Its lines name no facility or id that exists: once copied, that would be a wrong place for somebody's samples. */
function hintForCode({ code, table, unknownCode }: Problem, profile: AskedProfile): string | undefined {
  if (table === undefined) return undefined;
  const example = exampleOf(unknownCode);
  switch (code) {
    case "MAPPING_OPERATION_UNKNOWN":
      return `${addTo(table, profile, lineFor(table, example, "STORE"))} (or RETRIEVAL, REGISTER).`;
    case "MAPPING_FACILITY_UNKNOWN":
      if (table === "facilities") return addToFacilities(example, profile);
      return `${addTo(table, profile, lineFor(table, example, "NAME"))}; the code becomes a name of \`facilities\`.`;
    case "MAPPING_CODE_UNKNOWN":
      return `${addTo(table, profile, undefined)}.`;
    default:
      return undefined;
  }
}

function addTo(table: string, profile: AskedProfile, line: string | undefined): string {
  const { name } = profile;
  if (name.startsWith("builtin/")) {
    const content = line ?? `\`${table}\` that has the code`;
    return `Write a profile, such as profiles/lab.yaml, with \`extends: ${name}\` and ${content}, and name it as \`profile\` of the connector`;
  }
  return `Add the code to \`${table}\` of ${nameProfile(profile)}${line === undefined ? "" : `, such as ${line}`}`;
}

function addToFacilities(example: string | undefined, profile: AskedProfile): string {
  const line = example === undefined ? "" : `, such as \`facilities: { ${example}: ID }\``;
  const more = profile.rules.facility.hasTable
    ? `Or correct \`facility.table\` of ${nameProfile(profile)}, which translates to it.`
    : "Several codes may have one id.";
  return `Add the code with the service's facility id to \`facilities\` of the configuration file${line}. ${more}`;
}

/** A profile that a person can edit, for hints. */
export function nameProfile(profile: Pick<Profile, "name" | "declaredIn">): string {
  const { name } = profile;
  return name.startsWith("builtin/")
    ? `a profile of your own with \`extends: ${name}\``
    : `profile ${name}${fileOf(profile)}`;
}

function fileOf({ declaredIn }: Pick<Profile, "declaredIn">): string {
  return declaredIn === undefined ? "" : ` (${declaredIn})`;
}

/** The line to add; undefined for a table among the transforms, which may have others beside it. */
function lineFor(table: string, example: string | undefined, translated: string): string | undefined {
  const [value, kind] = table.split(".");
  if (example === undefined || kind !== "table") return undefined;
  return `\`${value}: { table: { ${example}: ${translated} } }\``;
}

/** A code as YAML takes it, whatever it looks like. */
function exampleOf(code: string | undefined): string | undefined {
  return code === undefined || code.length > MOST_EXAMPLE ? undefined : JSON.stringify(code.toWellFormed());
}
