import { systemClock } from "../../src/core/clock.ts";
import { createRandom, drawMs, type Spread } from "../../src/simulator/chance.ts";
import { withMllpSite } from "../support/mllp-site.ts";
import { type Image, withDisk } from "../support/power-cut.ts";
import { sendOrders } from "../support/send-orders.ts";
import { endServer } from "../support/with-child-site.ts";

const MEGABYTES = 384;
/** Between two cuts: a first start takes one to three seconds, and what it made is soon behind it. */
const BETWEEN_CUTS_MS: Spread = [20, 1_200];
const CUTS_AT_ONCE = 5;

/**
 * Cuts the power while a daemon starts for the first time on an empty disk, and starts one on what each cut left; gives why
 * any of these didn't start, or didn't take an order.
 */
export async function runFirstStartWithCuts(plan: {
  readonly seed: number;
  readonly cuts: number;
}): Promise<string[]> {
  const random = createRandom(plan.seed);
  const failed: string[] = [];
  for (let done = 0; done < plan.cuts; done += CUTS_AT_ONCE) {
    await withDisk(MEGABYTES, (disk) =>
      withMllpSite(
        async (site) => {
          const images: Image[] = [];
          let daemon = site.start(["--role", "intake"]);
          while (images.length < Math.min(CUTS_AT_ONCE, plan.cuts - done)) {
            await systemClock.sleep(drawMs(BETWEEN_CUTS_MS, random));
            images.push(await disk.cut());
          }
          for (const image of images) {
            await daemon.end("SIGKILL");
            await endServer(site.dataDir);
            await disk.powerUp(image);
            await disk.forget(image);
            daemon = site.start(["--role", "intake"]);
            try {
              await daemon.running;
              if ((await sendOrders(["F-1"], site)).size !== 1) failed.push("no acknowledgement");
            } catch (error) {
              failed.push(String(error));
            }
          }
        },
        { disk: disk.path },
      ),
    );
  }
  return failed;
}
