import { mkdir } from "node:fs/promises";
import { expect, test } from "vitest";
import { daemonView } from "../../src/app/console.ts";
import { readStatus } from "../../src/console/status.ts";
import { systemClock } from "../../src/core/clock.ts";
import { eventually } from "../support/eventually.ts";
import { withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

test("an end of the audit that can't be noted is a trouble in the status", () =>
  withSite({}, async (site) => {
    const noted = `${site.folder}/data.epoch.audit`;
    // Not even root can rename a file over a folder.
    await mkdir(noted);
    const daemon = await site.start();
    const view = { ...daemonView(daemon, systemClock), clock: systemClock, logger: silent };
    const attention = await eventually(async () => {
      const found = (await readStatus(view, "1.2.3")).attention.filter(({ what }) =>
        what.includes("the audit"),
      );
      return found.length > 0 && found;
    });
    expect(attention).toMatchObject([{ alerts: [{ kind: "daemonTrouble", about: "audit" }] }]);
    expect(attention[0]?.what).toContain(`${noted} cannot be made or used: E`);
  }));
