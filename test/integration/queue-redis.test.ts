import { pino } from "pino";
import { expect, test } from "vitest";
import { ALL_WELL } from "../support/account.ts";
import { planLoad } from "../support/lab-load.ts";
import { machineHas } from "../support/needs.ts";
import { withRedis } from "../support/redis-server.ts";
import { withServerSite } from "../support/with-server-site.ts";

const SIMULATOR = {
  staff: { reviewAfterMs: [50, 500] },
  device: { startAfterMs: [20, 50], runMs: [50, 500] },
} as const;
const SERVICE = { timeout: "2s", reconcile: { checks: ["200ms", "1s"], giveUpAfter: "4s" } };

test.runIf(machineHas("redis-server"))("two sites share a Redis server and don't see each other's jobs", () =>
  withRedis((redis) => {
    const config = { queue: { backend: "redis", url: redis.url } };
    const logged: string[] = [];
    const logger = pino({ level: "warn" }, { write: (line: string) => void logged.push(line) });
    const options = { simulator: SIMULATOR, service: SERVICE, config, logger };
    return withServerSite(options, (north) =>
      withServerSite(options, async (south) => {
        const loads = [planLoad(6, 10, 0), planLoad(7, 10, 0)] as const;
        await north.start();
        await south.start();
        for (const [at, site] of [north, south].entries()) {
          const { files } = loads[at] ?? loads[0];
          for (const { connector, name, content } of files) await site.lab.drop(connector, name, content);
        }
        expect(await north.waitForEnd(loads[0].orders, 240_000)).toEqual(ALL_WELL);
        expect(await south.waitForEnd(loads[1].orders, 240_000)).toEqual(ALL_WELL);
        // Whose job another site took away would have noticed.
        expect(logged.join("")).not.toContain("had lost jobs");
      }),
    );
  }),
);
