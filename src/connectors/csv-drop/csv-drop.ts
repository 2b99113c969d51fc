import { DropFolder } from "../drop-folder/drop-folder.ts";
import type { DropFolderDeps, DropFolderSettings } from "../drop-folder/settings.ts";
import { type CsvFileSettings, csvFileFormat } from "./csv-file-format.ts";

/** What a `csv-drop` connector is told. */
export type CsvDropSettings = DropFolderSettings & CsvFileSettings;

/** Takes CSV files from a folder, and puts CSV results into another. */
export function createCsvDrop(settings: CsvDropSettings, deps: DropFolderDeps): DropFolder {
  return new DropFolder(csvFileFormat(settings), settings, deps);
}
