import { copyFile, cp, mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Simulator } from "../../simulator/simulator.ts";

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
  const samples: Sample[] = [];
  for (const folder of FOLDERS) {
    const kind = folder.startsWith("broken/") ? "broken" : folder.startsWith("waiting/") ? "waiting" : "good";
    for (const fileName of (await readdir(join(SAMPLES_FOLDER, folder))).sort()) {
      if (!fileName.endsWith(`.${basename(folder)}`)) continue;
      const sender = fileName.slice(0, fileName.indexOf("-"));
      samples.push({ path: join(SAMPLES_FOLDER, folder, fileName), fileName, sender, kind });
    }
  }
  return samples;
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
  settings: {
    readonly serviceUrl: string;
    readonly consolePort: number;
    readonly consoleToken: string;
    readonly dataDir: string;
  },
): Promise<string> {
  const file = join(folder, "cryobridge.yaml");
  const text = await readFile(join(SAMPLES_FOLDER, "cryobridge.yaml"), "utf8");
  await cp(join(SAMPLES_FOLDER, "profiles"), join(folder, "profiles"), { recursive: true });
  const own = text
    .replaceAll("http://127.0.0.1:4711", settings.serviceUrl)
    .replace("port: 8088", `port: ${settings.consolePort}, token: ${settings.consoleToken}`)
    .replace("dataDir: ./data", `dataDir: ${settings.dataDir}`);
  await writeFile(file, own);
  return file;
}

/** Subjects of two samples that don't go well, as their files say: a consent form and an RFID tag are missing. */
const WITHOUT_CONSENT = "SR-6002";
const WITHOUT_TAG = "B-0007";
const REASON = "RFID tag could not be read";
/** Before automatic staff and devices would act, which take at least twice as long. In simulated ms. */
const REJECT_AFTER_MS = 15_000;
const FAIL_AFTER_MS = 30_000;

/** Rejects the first request of one subject and fails the first procedure of another; a retry of it succeeds. */
export function playStaff({ control }: Pick<Simulator, "control">): void {
  const played = new Set<string>();
  const playOnce = (subjectCode: string, simulatedMs: number, act: () => void) => {
    if (played.has(subjectCode)) return;
    played.add(subjectCode);
    setTimeout(act, simulatedMs / control.settings().speed).unref();
  };
  control.subscribe(({ kind, id, status }) => {
    // Somebody may have acted on the simulator's page by the time of the act.
    if (status === "PENDING" && control.findRequest(id)?.subjectCode === WITHOUT_CONSENT)
      playOnce(WITHOUT_CONSENT, REJECT_AFTER_MS, () => {
        if (control.findRequest(id)?.status === "PENDING") control.rejectRequest(id);
      });
    if (
      kind === "procedure" &&
      status === "IN_PROGRESS" &&
      control.findProcedure(id)?.subjectCode === WITHOUT_TAG
    )
      playOnce(WITHOUT_TAG, FAIL_AFTER_MS, () => {
        if (control.findProcedure(id)?.status === "IN_PROGRESS") control.failProcedure(id, REASON);
      });
  });
}
