import { asFailure } from "../../core/failures.ts";
import { findEncoding, isEncodable, isWide } from "../../formats/encoding.ts";
import { compileOverride, type FieldOverride } from "../outbound/field-overrides.ts";
import type { ResultEncoding } from "../outbound/result-charset.ts";
import { isTimeZone } from "../outbound/timestamp.ts";
import type { Complain } from "./compile-rules.ts";
import type { ResultSettings } from "./profile.ts";
import type { ResultsDefinition } from "./results-schema.ts";
import type { ProfileDefinition } from "./schema.ts";

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

/** The settings of what is sent to the lab, defaults filled in. */
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
  const encoding = compileEncoding(whole.format, given, complain);
  return {
    format: given.format ?? "oru",
    formats: given.formats,
    fields: compileFields(given.fields ?? {}, complain),
    batchResponse: given.batchResponse,
    namespace: given.namespace ?? "CRYOBRIDGE",
    send: new Set(given.send ?? []),
    timeZone,
    encoding,
    byteOrderMark: given.byteOrderMark,
    version: given.version,
    sender: given.sender,
    receiver: given.receiver,
    statusMap: given.statusMap,
  };
}

/** Undefined for one that can't be. */
function compileEncoding(
  format: ProfileDefinition["format"],
  { encoding: name, byteOrderMark, sender, receiver, namespace }: ResultsDefinition,
  complain: Complain,
): ResultEncoding | undefined {
  const isCsv = format === "csv";
  if (byteOrderMark !== undefined && !isCsv) complain("results.byteOrderMark", "is for CSV profiles");
  if (name === "as-received") {
    if (!isCsv) return name;
    complain(
      "results.encoding",
      "as-received is for HL7 profiles; name a character set, such as windows-1252",
    );
    return undefined;
  }
  const encoding = findEncoding(name ?? "utf-8");
  if (encoding === undefined) {
    complain("results.encoding", `${name} is no encoding that Cryobridge knows`);
    return undefined;
  }
  if (!isCsv && isWide(encoding)) {
    complain(
      "results.encoding",
      `${encoding} is for CSV profiles: the header of an HL7 message is read byte by byte`,
    );
    return undefined;
  }
  if (byteOrderMark === true && encoding !== "utf-8" && !isWide(encoding))
    complain("results.byteOrderMark", `is for UTF-8; ${encoding} has none`);
  const constants = {
    "sender.application": sender?.application,
    "sender.facility": sender?.facility,
    "receiver.application": receiver?.application,
    "receiver.facility": receiver?.facility,
    namespace,
  };
  for (const [key, value] of Object.entries(constants)) {
    if (value === undefined || isEncodable(value, encoding)) continue;
    complain(`results.${key}`, `holds a character that ${encoding} of results.encoding does not have`);
  }
  return encoding;
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
