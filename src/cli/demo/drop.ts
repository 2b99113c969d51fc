import { copyFile, mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Sample } from "./senders.ts";

/**
 * Drops a sample into its sender's folder as a careful sender does: under a name that is not taken yet, then renamed.
 *
 * @param folder holds a folder for each sender
 */
export async function dropSample(folder: string, { path, fileName, sender }: Sample): Promise<void> {
  await dropBy(join(folder, sender, "in"), fileName, (partial) => copyFile(path, partial));
}

/** Drops a text, encoded as UTF-8, in the same way. */
export async function dropText(inbox: string, fileName: string, text: string): Promise<void> {
  await dropBy(inbox, fileName, (partial) => writeFile(partial, text));
}

async function dropBy(
  inbox: string,
  fileName: string,
  write: (partial: string) => Promise<void>,
): Promise<void> {
  await mkdir(inbox, { recursive: true });
  const partial = join(inbox, `.${fileName}.part`);
  await write(partial);
  await rename(partial, join(inbox, fileName));
}
