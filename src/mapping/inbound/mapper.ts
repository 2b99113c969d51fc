import { asFailure } from "../../core/failures.ts";
import type { IncomingMessage } from "../../core/intake.ts";
import type { MappedMessage } from "../../core/mapped-message.ts";
import type { Profile } from "../profile/profile.ts";
import { mapHl7 } from "./map-hl7.ts";
import { type MapperSettings, refuse } from "./mapped-message.ts";
import { mapRows, readUnmade } from "./order-csv.ts";
import { keptIfFit } from "./unfit.ts";

/** Maps messages by one profile. */
export interface Mapper {
  /**
   * The orders of a message, or what is wrong with it. Pure, and never throws for any input. A message is taken whole
   * or not at all: an HL7 message gets one answer, so one bad order in it refuses the others too. For CSV a message is
   * the rows of one order, so each order stands for itself.
   */
  map(message: IncomingMessage): MappedMessage;
}

/** Makes a mapper of a compiled profile. */
export function createMapper(profile: Profile, settings: MapperSettings): Mapper {
  // Where one bad row refuses the whole file, a row that waits would take it apart too.
  const isWhole = profile.format === "csv" && profile.reading.wholeFile;
  if (isWhole && settings.unknownCodes !== "refuse") {
    return createMapper(profile, { ...settings, unknownCodes: "refuse" });
  }
  return {
    map: (message) => {
      const { content, place } = message;
      if (content.kind === "unreadable") {
        const number = keptIfFit(content.placerOrderNumber);
        const refused = refuse([...content.problems]);
        const rows = content.rows?.reveal();
        const isRead = rows !== undefined && profile.format === "csv";
        const asRead = isRead ? { asRead: readUnmade(rows, profile) } : {};
        return { ...refused, ...asRead, ...(number === undefined ? {} : { placerOrderNumber: number }) };
      }
      try {
        if (content.kind === "csv") {
          if (profile.format === "csv") return mapRows(content.rows.reveal(), profile, settings);
          return refuse([
            { code: "CONFIG_INVALID", place, message: `profile ${profile.name} is for HL7, not CSV` },
          ]);
        }
        if (profile.format === "hl7") return mapHl7(content, place, profile, settings);
        return refuse([
          { code: "CONFIG_INVALID", place, message: `profile ${profile.name} is for CSV, not HL7` },
        ]);
      } catch (error) {
        const failure = asFailure(error);
        return refuse([{ code: failure.code, place, message: failure.message }]);
      }
    },
  };
}
