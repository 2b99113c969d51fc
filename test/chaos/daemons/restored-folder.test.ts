import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { findOrders } from "../../../src/ledger/operator/views.ts";
import { findRestored } from "../../../src/ledger/restored/restore.ts";
import { eventually } from "../../support/eventually.ts";
import { omlO33 } from "../../support/lab-messages.ts";
import { type ChildSite, endServer, withChildSite, withPool } from "../../support/with-child-site.ts";

const run = promisify(execFile);

const isAt = (site: ChildSite, number: string, states: readonly string[]) =>
  withPool(site.dataDir, (pool) =>
    eventually(async () => {
      const [found] = await findOrders(pool, number);
      return found && states.includes(found.state) ? found : undefined;
    }),
  );

const there = ["submitted", "parked"];

test("a copy of the data folder that was made after the daemon was killed, put back, doubles nothing", () =>
  withChildSite({ simulator: { staff: { auto: false } } }, async (site) => {
    const stop = async (daemon: ReturnType<ChildSite["start"]>) => {
      await daemon.end("SIGKILL");
      await endServer(site.dataDir);
    };
    const first = site.start();
    await first.running;
    await site.lab.drop("hl7", "a.hl7", omlO33({ number: "A" }));
    const inCopy = await isAt(site, "A", there);
    await stop(first);
    const copied = site.dataDir;
    await run("cp", ["-a", copied, `${site.folder}/copy`]);

    const second = site.start();
    await second.running;
    await site.lab.drop("hl7", "b.hl7", omlO33({ number: "B" }));
    const forgotten = await isAt(site, "B", there);
    await stop(second);
    await run("rm", ["-rf", copied]);
    await run("cp", ["-a", `${site.folder}/copy`, copied]);

    const third = site.start();
    await third.running;
    await site.lab.drop("hl7", "b-again.hl7", omlO33({ number: "B" }));
    await site.lab.drop("hl7", "c.hl7", omlO33({ number: "C" }));
    expect(await isAt(site, "A", there)).toMatchObject({ requestId: inCopy.requestId, state: "submitted" });
    const parked = await isAt(site, "B", there);
    expect(parked.failure?.code).toBe("SUBMIT_FORGOTTEN_REQUEST");
    expect(parked.failure?.text).toContain(String(forgotten.requestId));
    expect(parked.id).toBeGreaterThan(1_000_000);
    expect((await isAt(site, "C", there)).state).toBe("submitted");
    const { doubled, journal } = site.simulator.tally();
    expect(doubled).toEqual([]);
    expect(journal).toHaveLength(3);
    const restored = await withPool(site.dataDir, findRestored);
    expect(restored?.by).toMatch(/^it is at \d+, and its epoch file at \d+$/);
    expect(await readFile(site.logFile, "utf8")).toContain("the ledger is an older copy (restored)");
    await stop(third);
  }));
