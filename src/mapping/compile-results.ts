import { asFailure } from "../core/failures.ts";
import { compileOverride, type FieldOverride } from "./field-overrides.ts";
import type { ResultSettings } from "./profile.ts";
import type { Complain } from "./profile-problems.ts";
import type { ProfileDefinition, ResultsDefinition } from "./profile-schema.ts";
import { isTimeZone } from "./timestamp.ts";

const HL7_KEYS = [
  "format",
  "formats",
  "fields",
  "batchResponse",
  "namespace",
  "version",
  "sender",
  "receiver",
  "statusMap",
] as const;

/** The settings of what is told to the lab, defaults filled in. */
export function compileResults(whole: ProfileDefinition, complain: Complain): ResultSettings {
  const given = whole.results ?? {};
  if (whole.format === "csv") {
    for (const key of HL7_KEYS) {
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
    formats: given.formats,
    fields: compileFields(given.fields ?? {}, complain),
    batchResponse: given.batchResponse,
    namespace: given.namespace ?? "CRYOBRIDGE",
    tell: new Set(given.tell ?? []),
    timeZone,
    version: given.version,
    sender: given.sender,
    receiver: given.receiver,
    statusMap: given.statusMap,
  };
}

function compileFields(
  fields: NonNullable<ResultsDefinition["fields"]>,
  complain: Complain,
): readonly FieldOverride[] {
  return Object.entries(fields).flatMap(([place, text]) => {
    try {
      return [compileOverride(place, text)];
    } catch (error) {
      complain(`results.fields.${place}`, asFailure(error).message);
      return [];
    }
  });
}
