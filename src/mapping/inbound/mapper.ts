import { asFailure, problemOf } from "../../core/failures.ts";
import type { IncomingMessage } from "../../core/intake.ts";
import type { MappedMessage } from "../../core/mapped-message.ts";
import { phi } from "../../core/phi.ts";
import { readHeaderLine } from "../../formats/hl7/charset.ts";
import type { Profile } from "../profile/profile.ts";
import { keepHeader } from "./keep-echo.ts";
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
      const { content, place, raw } = message;
      if (content.kind === "unreadable") {
        const rows = content.rows?.reveal();
        const isRead = rows !== undefined && profile.format === "csv";
        return {
          ...refuse([...content.problems]),
          asRead: isRead ? readUnmade(rows, profile) : undefined,
          placerOrderNumber: keptIfFit(content.placerOrderNumber),
          ...(profile.format === "hl7"
            ? { echo: phi(keepHeader(readHeaderLine(raw.reveal()), profile)) }
            : {}),
        };
      }
      try {
        if (content.kind === "csv" && profile.format === "csv")
          return mapRows(content.rows.reveal(), profile, settings);
        if (content.kind === "hl7" && profile.format === "hl7")
          return mapHl7(content, place, profile, settings);
        const [own, other] = profile.format === "csv" ? ["CSV", "HL7"] : ["HL7", "CSV"];
        const message = `profile ${profile.name} is for ${own}, not ${other}`;
        return refuse([{ code: "CONFIG_INVALID", place, message }]);
      } catch (error) {
        const refused = refuse([problemOf(asFailure(error), place)]);
        if (profile.format !== "hl7" || content.kind !== "hl7") return refused;
        return { ...refused, echo: phi(keepHeader(content.text.reveal(), profile, content.encoding)) };
      }
    },
  };
}
