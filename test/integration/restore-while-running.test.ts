import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { runCli } from "../cli/run-cli.ts";
import { startChildDaemon } from "../support/child-daemon.ts";
import { labCsv } from "../support/lab-messages.ts";
import { withSite } from "../support/with-daemon.ts";

test("restore --stop has a daemon that works end by itself, puts the backup in its place, and the next start finds what was sent since", () =>
  withSite({ simulator: { staff: { auto: false } } }, async (site) => {
    const cli = (...argv: string[]) => runCli(["--config", site.configFile, ...argv]);
    const log = join(site.folder, "daemon.log");
    const backup = join(site.folder, "backup.gz");
    await writeFile(log, "");
    const daemon = startChildDaemon(site.configFile, log);
    await daemon.running;
    await cli("queue", "pause", "submit");
    await site.drop("csv", "1.csv", labCsv([{ number: "A-1" }]));
    await site.waitForOrders(1, ["received"]);
    expect((await cli("backup", backup)).status).toBe(0);
    await cli("queue", "resume", "submit");
    const [{ requestId } = {}] = await site.waitForOrders(1, ["submitted"]);

    const refused = await cli("restore", backup, "--replace", "--yes");
    expect([refused.status, refused.stderr]).toEqual([1, expect.stringContaining("--stop")]);
    const unusable = join(site.folder, "none.gz");
    await writeFile(unusable, "no backup");
    expect((await cli("restore", unusable, "--replace", "--yes", "--stop")).status).toBe(1);
    const kept = await cli("restore", backup, "--stop");
    expect([kept.status, kept.stderr]).toEqual([1, expect.stringContaining("CLI_LEDGER_NOT_EMPTY")]);
    expect((await cli("workers")).stdout).toContain("hands out the work");
    expect(daemon.hasEnded).toBe(false);

    const restored = await cli("restore", backup, "--replace", "--yes", "--stop", "--reason", "a trial");
    expect([restored.status, restored.stderr]).toEqual([0, ""]);
    expect(restored.stdout).toContain("it compares 1 open order with the service");
    expect(await daemon.end("SIGTERM")).toBe(0);
    expect(await site.orders()).toMatchObject([
      { state: "submitting", calls: [{ isPresumed: true, outcome: undefined }] },
    ]);

    const next = startChildDaemon(site.configFile, log);
    await next.running;
    await cli("queue", "resume", "submit");
    expect(await site.waitForOrders(1, ["submitted"])).toMatchObject([{ requestId }]);
    expect((await cli("status")).stdout).toContain("the ledger is an older copy (restored");
    expect(await next.end("SIGTERM")).toBe(0);
  }));
