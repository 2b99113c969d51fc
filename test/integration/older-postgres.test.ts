import { describe, expect, test } from "vitest";
import { ALL_WELL } from "../support/account.ts";
import { planLoad, seedRetrievals } from "../support/lab-load.ts";
import { machineHas, type OlderMajor } from "../support/needs.ts";
import { startOlderServer } from "../support/older-server.ts";
import { withServerSite } from "../support/with-server-site.ts";

const END_WITHIN_MS = 240_000;
const SIMULATOR = {
  staff: { reviewAfterMs: [50, 150] },
  device: { startAfterMs: [20, 50], runMs: [50, 150] },
} as const;
/** The oldest PostgreSQL that the documents name, and one between it and the packaged one. */
const MAJORS: readonly OlderMajor[] = [13, 15];

describe.each(MAJORS)("on PostgreSQL %i", (major) => {
  test.runIf(machineHas(`PostgreSQL ${major}`))(
    "a ledger is made, and orders are carried out once, also when the server crashes meanwhile",
    () =>
      withServerSite(
        { simulator: SIMULATOR, startServer: (dataDir) => startOlderServer(major, dataDir) },
        async ({ server, simulator, lab, pool, fatal, start, waitForEnd }) => {
          const { rows } = await pool.query<{ major: number }>(
            "select current_setting('server_version_num')::int / 10000 as major",
          );
          expect(rows).toEqual([{ major }]);
          const load = planLoad(7, 12, 0.25);
          seedRetrievals(simulator, load);
          await start();
          for (const { connector, name, content } of load.files) await lab.drop(connector, name, content);
          await server.crash();
          await server.start();
          expect(await waitForEnd(load.orders, END_WITHIN_MS)).toEqual(ALL_WELL);
          expect(fatal).toEqual([]);
        },
      ),
  );
});
