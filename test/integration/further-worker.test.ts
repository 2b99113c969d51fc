import { join } from "node:path";
import { expect, test } from "vitest";
import { ROLES } from "../../src/app/roles.ts";
import { startDaemon } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import { findRestored } from "../../src/ledger/restored/restore.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

/** Starts a daemon with a data folder of its own, as on another machine. */
function startElsewhere({ configFile, folder }: Site) {
  const config = loadConfig(configFile, { env: {}, profileSchema });
  const dataDir = join(folder, "elsewhere");
  return startDaemon(
    { ...config, dataDir, epochFile: `${dataDir}.epoch`, connectors: [] },
    {
      roles: new Set(ROLES),
      logger: silent,
      onFatal: (failure) => {
        throw failure;
      },
    },
  );
}

test("a further worker on a machine without an epoch file takes the word of those that work with the ledger", () =>
  withSite({}, async (site) => {
    await site.start();
    const further = await startElsewhere(site);
    try {
      expect(await findRestored(site.pool)).toBeUndefined();
    } finally {
      await further.stop();
    }
  }));

test("one that comes alone to a ledger that made calls has nobody's word", () =>
  withSite({}, async (site) => {
    await (await site.start()).stop();
    const alone = await startElsewhere(site);
    try {
      expect(await findRestored(site.pool)).toMatchObject({ by: expect.stringContaining("is missing") });
    } finally {
      await alone.stop();
    }
  }));
