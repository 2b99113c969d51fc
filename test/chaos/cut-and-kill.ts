import type { ChildDaemon } from "../support/child-daemon.ts";
import type { Disk, Image } from "../support/power-cut.ts";
import { type ChildSite, endServer, findServer } from "../support/with-child-site.ts";

/**
 * Cuts the power of a site's disk, and ends its daemon and database: nobody who uses the disk lives to tell what isn't in
 * the image.
 *
 * @param before the last thing before the cut
 */
export async function cutAndKill(
  disk: Disk,
  site: ChildSite,
  daemon: ChildDaemon,
  before: () => void = () => undefined,
): Promise<Image> {
  const server = await findServer(site.dataDir);
  // Who waits for the disk ends when it goes on.
  const meanwhile = () => {
    process.kill(daemon.pid, "SIGKILL");
    if (server !== undefined) process.kill(server, "SIGQUIT");
  };
  const image = await disk.cut({ before, meanwhile });
  await daemon.end("SIGKILL");
  await endServer(site.dataDir);
  return image;
}
