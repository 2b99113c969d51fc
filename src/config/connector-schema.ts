import { z } from "zod";
import { mllpConnector } from "./mllp-schema.ts";
import { duration, encoding, filePath, folderMode, size, unterminated } from "./scalars.ts";

const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/, { error: "expected up to 40 letters, digits, - and _" })
  .describe("Name of the connector, unique; it appears in the console, the log and the metrics.");

const folders = {
  directory: filePath("Folder shared with the lab system; in, out, archive, error and work are made in it."),
  in: filePath("Folder where the lab drops files; DIRECTORY/in when not set.").optional(),
  out: filePath("Folder where results appear; DIRECTORY/out when not set.").optional(),
  archive: filePath("Folder where taken files are kept; DIRECTORY/archive when not set.").optional(),
  error: filePath(
    "Folder where refused files go, each with its reasons; DIRECTORY/error when not set.",
  ).optional(),
  work: filePath(
    "Folder for files that are being taken, on one file system with in; DIRECTORY/work when not set.",
  ).optional(),
  alertAfter: duration(
    "A file that lies in the folder for so long and is not taken, since its marker is missing, its name says that it isn't done or it keeps changing, is shown in status and metrics.",
    { min: "1s" },
  ).prefault("10m"),
  folderMode: folderMode(
    "Rights of folders that are made; 2770 lets a group of the lab drop files. Results may be read by whom the folder lets read.",
  ).prefault("0750"),
  stableFor: duration("How long a file must stay unchanged before it is taken.").prefault("2s"),
  marker: z
    .string()
    .regex(/^\.[A-Za-z0-9_-]+$/, { error: "expected a file ending such as .ok" })
    .optional()
    .describe("Ending of marker files: NAME is taken only when NAME.ok (or as set here) is there too."),
  scanInterval: duration("How often the folder is looked through.", { min: "50ms", max: "1h" }).prefault(
    "2s",
  ),
  encoding: encoding(
    "Character encoding of the files, over what they or the profile say. Bytes that are UTF-8 under another one are refused, unless it is { name: …, forced: true }.",
  ).optional(),
};

const hl7Drop = z.strictObject({
  name,
  type: z.literal("hl7-drop").describe("HL7 v2 files in a folder."),
  ...folders,
  unterminated: unterminated(),
  maxBytes: size("Largest file that is taken.").prefault("64MB"),
  profile: z.string().min(1).default("builtin/hl7-orders").describe("Name of the mapping profile."),
});

const csvDrop = z.strictObject({
  name,
  type: z.literal("csv-drop").describe("CSV files in a folder."),
  ...folders,
  maxBytes: size("Largest file that is taken.").prefault("4GB"),
  profile: z.string().min(1).default("builtin/csv-orders").describe("Name of the mapping profile."),
  resultsEvery: duration("Result rows of one input file are gathered this long into one results file.", {
    max: "1d",
  }).prefault("5s"),
});

/** The section `connectors`: the ways in and out on the lab's side. */
export const connectorsSchema = z
  .array(z.discriminatedUnion("type", [hl7Drop, csvDrop, z.strictObject({ name, ...mllpConnector })]))
  .min(1)
  .describe("The ways in and out on the lab's side; at least one.");
