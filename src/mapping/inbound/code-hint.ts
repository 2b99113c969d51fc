import type { Problem } from "../../core/failures.ts";
import { byReload } from "../../core/hint.ts";
import type { FieldPath } from "../../formats/hl7/path.ts";
import type { Segment } from "../../formats/hl7/segment.ts";
import type { Profile } from "../profile/profile.ts";
import { toValueObject } from "../profile/value.ts";

/** What a hint names of the profile that was asked. */
type AskedProfile = Pick<Profile, "name" | "declaredIn" | "own"> & {
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
    "Then `cryobridge reload`; waiting messages are then processed. Or have the lab correct the code and send it again, and discard the message that has it: `cryobridge messages discard ID --reason TEXT`.",
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

/**
 * Its lines name no facility or id that exists, and not one operation: once copied, that would be a wrong place for somebody's
 * samples, or the wrong thing done to them.
 */
function hintForCode({ code, table, unknownCode }: Problem, profile: AskedProfile): string | undefined {
  if (table === undefined) return undefined;
  const example = exampleOf(unknownCode);
  switch (code) {
    case "MAPPING_OPERATION_UNKNOWN":
      return `${addTo(table, profile, example, "STORE or RETRIEVAL")}; REGISTER makes a subject known alone.`;
    case "MAPPING_FACILITY_UNKNOWN":
      if (table === "facilities") return addToFacilities(example, profile);
      return `${addTo(table, profile, example, "NAME")}; the code becomes a name of \`facilities\`.`;
    case "MAPPING_CODE_UNKNOWN":
      return `${addTo(table, profile)}.`;
    default:
      return undefined;
  }
}

/** Where a code is added; a table among the transforms may have others beside it, so its whole is not shown. */
function addTo(table: string, profile: AskedProfile, example?: string, translated?: string): string {
  const { name } = profile;
  const [value, kind] = table.split(".");
  const line = example === undefined || kind !== "table" ? undefined : `${example}: ${translated}`;
  if (name.startsWith("builtin/")) {
    const content =
      line === undefined ? `\`${table}\` that has the code` : `\`${value}: { table: { ${line} } }\``;
    return `Write a profile, such as profiles/lab.yaml, with \`extends: ${name}\` and ${content}, and name it as \`profile\` of the connector`;
  }
  if (line === undefined) return `Add the code to \`${table}\` of ${nameProfile(profile)}`;
  const own = value === "operation" || value === "facility" ? profile.own?.[value] : undefined;
  if (own === undefined) return `Write \`${value}: { table: { ${line} } }\` into ${nameProfile(profile)}`;
  if (typeof own === "string" || Array.isArray(own)) {
    const whole = `{ from: ${JSON.stringify(own)}, table: { ${line} } }`;
    return `Write \`${value}: ${whole}\` in place of \`${value}\` in ${nameProfile(profile)}`;
  }
  const [added, where] =
    toValueObject(own).table === undefined ? [`table: { ${line} }`, value] : [line, table];
  return `Add a line \`${added}\` below \`${where}\` of ${nameProfile(profile)}`;
}

function addToFacilities(example: string | undefined, profile: AskedProfile): string {
  const line = `a line ${example === undefined ? "with the code" : `\`${example}: ID\``} below`;
  const more = profile.rules.facility.hasTable
    ? `Or correct \`facility.table\` of ${nameProfile(profile)}, which translates to it.`
    : "Several codes may have one id.";
  return `Add ${line} \`facilities\` of the configuration file, with the service's facility id. ${more}`;
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

/** A code as YAML takes it, whatever it looks like. */
function exampleOf(code: string | undefined): string | undefined {
  return code === undefined || code.length > MOST_EXAMPLE ? undefined : JSON.stringify(code.toWellFormed());
}

/** A namespace or a type, and no number of somebody that stands in the wrong component. */
const PLAIN_CODE = /^(?!.*\d{4})[\w.-]{1,40}$/;

/** Which identifier is the patient's, nobody here knows: the first may be that of another system. */
export function hintOfIdentifiers({ segment, field }: FieldPath, holder: Segment): string {
  const conditions = new Set<string>();
  for (let n = 1; n <= holder.repetitions(field); n++) {
    const [authority, kind] = [holder.get(field, n, 4), holder.get(field, n, 5)];
    const given = { "4.1": authority, "5": kind };
    const condition = Object.entries(given)
      .flatMap(([position, value = ""]) => (PLAIN_CODE.test(value) ? [`${position}=${value}`] : []))
      .join("&");
    if (condition !== "") conditions.add(`\`${segment}-${field}[${condition}].1\``);
  }
  const value = segment === "MRG" ? "subject.priorCode" : "subject.code";
  const which =
    conditions.size < 2 ? `\`${segment}-${field}[4.1=LAB&5=MR].1\`` : [...conditions].join(" or ");
  return byReload(
    `Name the one that is the lab's, by its authority (${segment}-${field}.4) and type (${segment}-${field}.5), as ${value} of the profile: ${which}. Or have the sender fill in that one alone.`,
  );
}
