import { copyFile, cp, mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder with the samples, the configuration and profiles of their senders, and their description. */
export const SAMPLES_FOLDER = fileURLToPath(new URL("../../../config/samples/", import.meta.url));

/** A sample file. */
export interface Sample {
  readonly path: string;
  readonly fileName: string;
  /** Name of the connector into whose folder it is dropped: the first word of its name. */
  readonly sender: string;
  /** `broken`: something in it is wrong on purpose. `waiting`: something in it waits for a code that no table has. */
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

/**
 * Drops a sample into its sender's folder as a careful sender does: under a name that is not taken yet, then renamed.
 *
 * @param folder holds a folder for each sender
 */
export async function dropSample(folder: string, { path, fileName, sender }: Sample): Promise<void> {
  const inbox = join(folder, sender, "in");
  await mkdir(inbox, { recursive: true });
  const partial = join(inbox, `.${fileName}.part`);
  await copyFile(path, partial);
  await rename(partial, join(inbox, fileName));
}

/**
 * Puts the senders' configuration and profiles into a folder, and gives the configuration's path. It works for every
 * command afterwards, as long as the simulated service runs.
 */
export async function writeConfiguration(
  folder: string,
  settings: { readonly serviceUrl: string; readonly consolePort: number; readonly dataDir: string },
): Promise<string> {
  const file = join(folder, "cryobridge.yaml");
  const text = await readFile(join(SAMPLES_FOLDER, "cryobridge.yaml"), "utf8");
  await cp(join(SAMPLES_FOLDER, "profiles"), join(folder, "profiles"), { recursive: true });
  const own = text
    .replaceAll("http://127.0.0.1:4711", settings.serviceUrl)
    .replace("port: 8088", `port: ${settings.consolePort}`)
    .replace("dataDir: ./data", `dataDir: ${settings.dataDir}`);
  await writeFile(file, own);
  return file;
}
