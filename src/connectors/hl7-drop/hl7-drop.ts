import { DropFolder } from "../drop-folder/drop-folder.ts";
import type { DropFolderDeps, DropFolderSettings } from "../drop-folder/settings.ts";
import { type Hl7FileSettings, hl7FileFormat } from "./hl7-file-format.ts";

/** What an `hl7-drop` connector is told. */
export type Hl7DropSettings = DropFolderSettings & Hl7FileSettings;

/** Takes HL7 v2 files from a folder, and puts HL7 results into another. */
export function createHl7Drop(settings: Hl7DropSettings, deps: DropFolderDeps): DropFolder {
  return new DropFolder(hl7FileFormat(settings), settings, deps);
}
