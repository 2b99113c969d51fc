import type { FailureCode, Problem } from "../../core/failures.ts";
import type { Profile } from "../profile/profile.ts";
import { nameProfile } from "./code-hint.ts";

/** What to do about a mistake of a row, where the hint of its code is about HL7 too; {profile} is where it is corrected. */
const HINTS: Readonly<Partial<Record<FailureCode, string>>> = {
  MAPPING_NO_CONTAINER:
    "Have the lab write the container's label into the cell, or correct which column `containers.label` of {profile} reads.",
  MAPPING_VALUE_MISSING:
    "Have the lab fill in the cell that is named, or correct in {profile} which column is read.",
  MAPPING_DATE_INVALID:
    "Have the lab write a day that exists in the form that is named, or add the form that the lab uses to `dateFormats` of {profile}.",
  MAPPING_CONTAINER_UNEXPECTED:
    "Leave the label of a registration empty, or have the lab write its word for STORE or RETRIEVAL as the operation.",
};

/** A mistake of rows with what to do about it in a table: the cell, and the setting of the profile. */
export function withCsvHint(problem: Problem, profile: Pick<Profile, "name" | "declaredIn">): Problem {
  const hint = problem.hint ?? HINTS[problem.code]?.replace("{profile}", () => nameProfile(profile));
  return hint === undefined ? problem : { ...problem, hint };
}
