import type { ConnectorConfig } from "../config/config.ts";
import { csvFileFormat } from "../connectors/csv-drop/csv-drop.ts";
import type { FileFormat } from "../connectors/drop-folder/settings.ts";
import { hl7FileFormat } from "../connectors/hl7-drop/hl7-drop.ts";
import type { CharsetOptions } from "../formats/hl7/charset.ts";
import type { CsvProfile, Hl7Profile, Profile } from "../mapping/profile/profile.ts";

/** How a connector reads the files that are dropped for it, without its folders. */
export function fileFormatOf(connector: ConnectorConfig, profile: Profile): FileFormat {
  const { maxBytes } = connector;
  return profile.format === "hl7"
    ? hl7FileFormat({ maxBytes, charset: charsetOf(connector, profile) })
    : csvFileFormat({ maxBytes, reading: readingOf(connector, profile) });
}

/** What a connector's HL7 messages are decoded in: its own setting goes before the profile's. */
export function charsetOf(
  { encoding }: Pick<ConnectorConfig, "encoding">,
  profile: Pick<Hl7Profile, "encoding">,
): CharsetOptions {
  return { override: encoding?.name ?? profile.encoding, isForced: encoding?.isForced };
}

/** How a connector's CSV files are taken apart. */
export function readingOf(
  { encoding }: Pick<ConnectorConfig, "encoding">,
  { reading }: CsvProfile,
): CsvProfile["reading"] & { readonly isEncodingForced: boolean } {
  return {
    ...reading,
    encoding: encoding?.name ?? reading.encoding,
    isEncodingForced: encoding?.isForced ?? false,
  };
}
