import { readdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

/** One of the invented lab systems that the samples come from; each has a drop folder of its own. */
export interface Sender {
  /** Name of its connector, and the first word of its samples' file names. */
  readonly name: string;
  readonly type: "hl7-drop" | "csv-drop";
  readonly profile: string;
  /** What it sends, for a comment in the configuration. */
  readonly about: string;
}

export const SENDERS: readonly Sender[] = [
  {
    name: "lims",
    type: "hl7-drop",
    profile: "builtin/hl7-orders",
    about: "HL7 v2 of several systems that the built-in profile understands as they are.",
  },
  {
    name: "clinic",
    type: "hl7-drop",
    profile: "clinic",
    about: "A clinic that says FREEZE and THAW, and wants to hear of every step.",
  },
  {
    name: "bench",
    type: "csv-drop",
    profile: "builtin/csv-orders",
    about: "Tables with the built-in column names; delimiter and encoding are found out.",
  },
  {
    name: "klinik",
    type: "csv-drop",
    profile: "klinik",
    about: "German spreadsheets: semicolons, German headings, dates as 31.12.1999.",
  },
  {
    name: "excel",
    type: "csv-drop",
    profile: "excel",
    about: "A spreadsheet with columns of its own and Excel's serial numbers for dates.",
  },
  {
    name: "freezer",
    type: "csv-drop",
    profile: "freezer",
    about: "A machine's list without a heading, columns between bars.",
  },
];

/** The folder with the samples, their profiles and their description. */
export const SAMPLES_FOLDER = fileURLToPath(new URL("../../../config/samples/", import.meta.url));

/** A sample file. */
export interface Sample {
  readonly path: string;
  readonly fileName: string;
  /** Name of the sender whose folder it is dropped into. */
  readonly sender: string;
  /** `broken`: something in it is wrong on purpose. `waiting`: something in it waits for a code that no table knows. */
  readonly kind: "good" | "broken" | "waiting";
}

const FOLDERS = ["hl7", "csv", "broken/hl7", "broken/csv", "waiting/hl7", "waiting/csv"] as const;

/** Every sample by name within its folder, which is the order to drop them in: retrievals come after their stores. */
export async function listSamples(): Promise<Sample[]> {
  const samples = await Promise.all(FOLDERS.map(listFolder));
  return samples.flat();
}

async function listFolder(folder: (typeof FOLDERS)[number]): Promise<Sample[]> {
  const ending = `.${basename(folder)}`;
  const names = (await readdir(join(SAMPLES_FOLDER, folder))).filter((name) => name.endsWith(ending)).sort();
  return names.map((fileName) => ({
    path: join(SAMPLES_FOLDER, folder, fileName),
    fileName,
    sender: fileName.slice(0, fileName.indexOf("-")),
    kind: folder.startsWith("broken/") ? "broken" : folder.startsWith("waiting/") ? "waiting" : "good",
  }));
}
