import { csvFileFormat } from "../../connectors/csv-drop/csv-drop.ts";
import { hl7FileFormat } from "../../connectors/hl7-drop/hl7-drop.ts";
import type { Problem } from "../../core/failures.ts";
import type { IncomingMessage } from "../../core/intake.ts";
import { atNamed } from "../../core/place.ts";
import { createMapper } from "../../mapping/inbound/mapper.ts";
import { compileProfile } from "../../mapping/profile/compile-profile.ts";
import type { ProfileDefinition } from "../../mapping/profile/schema.ts";

/** What a profile makes of the sample, as the daemon would. */
interface Trial {
  /** How many messages were accepted, or only name codes that no table has. */
  readonly fitting: number;
  /** All mistakes but such codes. */
  readonly problems: readonly Problem[];
  readonly unknownOperations: readonly string[];
  readonly unknownFacilities: readonly string[];
}

/** Larger samples are read no further, since each candidate reads them again. */
const MOST_MESSAGES = 2_000;

/**
 * Maps the sample by a profile that is not written yet, with the reader and the mapper of the daemon.
 *
 * @param facilities the names that have an id
 */
export async function tryProfile(
  definition: ProfileDefinition,
  sample: Buffer,
  facilities: ReadonlyMap<string, number>,
): Promise<Trial> {
  const loadModule = () => Promise.reject(new TypeError("a new profile has no module"));
  const compiled = await compileProfile("new", definition, { loadModule });
  if (!compiled.ok)
    return {
      fitting: 0,
      problems: compiled.problems.map(({ place, message }) => ({
        code: "CONFIG_INVALID",
        place: atNamed(place),
        message,
      })),
      unknownOperations: [],
      unknownFacilities: [],
    };
  const { profile } = compiled;
  const format =
    profile.format === "hl7"
      ? hl7FileFormat({ maxBytes: sample.length, charset: { override: profile.encoding } })
      : csvFileFormat({ maxBytes: sample.length, reading: profile.reading });
  const content = await format.examine(sample);
  const problems: Problem[] = [...content.problems];
  const mapper = createMapper(profile, { facilityIdByCode: facilities, unterminated: "accept" });
  let fitting = 0;
  const operations = new Set<string>();
  const unknown = new Set<string>();
  for (const message of content.problems.length > 0 ? [] : await firstOf(content.batches())) {
    const mapped = mapper.map(message);
    if (mapped.verdict !== "refused") fitting += 1;
    for (const problem of mapped.problems) {
      const { code, unknownCode } = problem;
      if (unknownCode !== undefined && code === "MAPPING_OPERATION_UNKNOWN") operations.add(unknownCode);
      else if (unknownCode !== undefined && code === "MAPPING_FACILITY_UNKNOWN") unknown.add(unknownCode);
      else problems.push(problem);
    }
  }
  return { fitting, problems, unknownOperations: [...operations], unknownFacilities: [...unknown] };
}

async function firstOf(batches: Iterable<readonly IncomingMessage[]>): Promise<IncomingMessage[]> {
  const messages: IncomingMessage[] = [];
  for await (const batch of batches) {
    messages.push(...batch);
    if (messages.length >= MOST_MESSAGES) break;
  }
  return messages.slice(0, MOST_MESSAGES);
}
