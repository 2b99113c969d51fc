import type { ResultSettings } from "./profile.ts";
import type { Complain } from "./profile-problems.ts";
import type { ProfileDefinition } from "./profile-schema.ts";
import { isTimeZone } from "./timestamp.ts";

/** The settings of what is told to the lab, defaults filled in. */
export function compileResults(whole: ProfileDefinition, complain: Complain): ResultSettings {
  const given = whole.results ?? {};
  if (whole.format === "csv") {
    for (const key of ["format", "namespace", "version", "sender", "receiver", "statusMap"] as const) {
      if (given[key] !== undefined) complain(`results.${key}`, "is for HL7 profiles");
    }
  }
  const timeZone = given.timeZone ?? "UTC";
  if (!isTimeZone(timeZone)) {
    complain(
      "results.timeZone",
      `${timeZone} is no time zone; expected a name such as Europe/Vienna or an offset such as +02:00`,
    );
  }
  return {
    format: given.format ?? "oru",
    namespace: given.namespace ?? "CRYOBRIDGE",
    tell: new Set(given.tell ?? []),
    timeZone,
    version: given.version,
    sender: given.sender,
    receiver: given.receiver,
    statusMap: given.statusMap,
  };
}
