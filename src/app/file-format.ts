import type { ConnectorConfig } from "../config/config.ts";
import { csvFileFormat } from "../connectors/csv-drop/csv-file-format.ts";
import type { FileFormat } from "../connectors/drop-folder/format.ts";
import { hl7FileFormat } from "../connectors/hl7-drop/hl7-file-format.ts";
import type { Profile } from "../mapping/profile.ts";

/** How a connector reads the files that are dropped for it, without its folders. */
export function fileFormatOf(connector: ConnectorConfig, profile: Profile): FileFormat {
  const { maxBytes, encoding } = connector;
  if (profile.format === "hl7") {
    return hl7FileFormat({ maxBytes, charset: { override: encoding ?? profile.encoding } });
  }
  const { reading } = profile;
  return csvFileFormat({ maxBytes, reading: { ...reading, encoding: encoding ?? reading.encoding } });
}
