import type { RefillFile, ToldRefill } from "../core/refill.ts";
import type { Profile } from "../mapping/profile.ts";
import { refillCsv } from "../mapping/refill-csv.ts";
import { refillHl7 } from "../mapping/refill-hl7.ts";

/** Puts steps of refills into files as a connector's profile has them: one CSV file, or a message each. */
export function composeRefills(
  profile: Profile,
  processingId: "P" | "T" | "D",
): (told: readonly ToldRefill[], number: number) => readonly RefillFile[] {
  if (profile.format === "csv") return (told, number) => [refillCsv(told, number, profile.results)];
  return (told) => told.map((each) => refillHl7(each, profile.results, processingId));
}
