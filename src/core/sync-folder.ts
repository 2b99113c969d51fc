import { constants } from "node:fs";
import { open } from "node:fs/promises";

/**
 * Has the names in a folder, made or changed, outlast a power cut. Windows opens no folders and has no such call: there it
 * does nothing.
 *
 * @throws what the file system says
 */
export async function syncFolder(path: string): Promise<void> {
  if (process.platform === "win32") return;
  const folder = await open(path, constants.O_RDONLY | (constants.O_DIRECTORY ?? 0));
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
