import { expect, test } from "vitest";
import { openConsole } from "../../src/app/console.ts";
import { startDaemon } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import { systemClock } from "../../src/core/clock.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";
import { standIn } from "../support/worker.ts";

test("a daemon that only takes orders in says so while no other one works them off", () =>
  withSite({}, async ({ configFile, pool }) => {
    const config = loadConfig(configFile, { env: {}, profileSchema });
    const onFatal = () => {};
    const daemon = await startDaemon(config, {
      roles: new Set(["intake", "console"] as const),
      logger: silent,
      onFatal,
    });
    const running = await openConsole(daemon, { version: "1.2.3", logger: silent, clock: systemClock });
    try {
      const ready = async () => (await fetch(`${running.url}/readyz`)).json();
      const noWorker = expect.stringContaining("no daemon with the role worker works on this ledger");
      expect(await ready()).toEqual({ ready: true, reasons: expect.arrayContaining([noWorker]) });
      const worker = await standIn(pool);
      // What a busy machine makes it say besides is not about roles.
      expect(await ready()).toEqual({ ready: true, reasons: expect.not.arrayContaining([noWorker]) });
      await worker.leave();
    } finally {
      await running.close();
      await daemon.stop();
    }
  }));
