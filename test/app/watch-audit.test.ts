import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { daemonView } from "../../src/app/console.ts";
import { watchAudit } from "../../src/app/own-conditions.ts";
import { systemClock } from "../../src/core/clock.ts";
import { readStatus } from "../../src/standing/status.ts";
import { eventually } from "../support/eventually.ts";
import { hangFolder, impatientClock } from "../support/hanging-folder.ts";
import { withSite } from "../support/with-daemon.ts";
import { withFolder } from "../support/with-folder.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

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

test("a place of the audit's note that hangs is a trouble, and keeps nobody from stopping", ({ skip }) =>
  withLedger(({ pool }) =>
    withFolder(async (folder) => {
      const hanging = await hangFolder(join(folder, "share"));
      if (!hanging) return skip("this user may mount nothing");
      try {
        const epochFile = join(folder, "share/data.epoch");
        const watch = watchAudit({ epochFile }, { pool, clock: impatientClock, logger: silent });
        await eventually(() => watch.conditions().length > 0);
        expect(watch.conditions()[0]?.text).toContain(`${epochFile}.audit, or the ledger, does not answer`);
        await watch.stop();
      } finally {
        await hanging.end();
      }
    }),
  ));
