import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ALL_WELL } from "../support/account.ts";
import { eventually } from "../support/eventually.ts";
import { findPort } from "../support/find-port.ts";
import { planLoad } from "../support/lab-load.ts";
import { type ChildSite, withChildSite } from "../support/with-child-site.ts";

const BIN = join(import.meta.dirname, "../../bin/cryobridge.mjs");

/** What the log of a program goes to. */
const PLACES: Readonly<Record<string, () => number | "pipe">> = {
  "a full disk": () => openSync("/dev/full", "w"),
  // Nobody reads what Node.js doesn't ask for.
  "a pipe whose reader hangs": () => "pipe",
};

test.each(Object.keys(PLACES))(
  "orders go on, and the daemon stops, when the log goes to %s",
  async (place) => {
    const port = await findPort();
    const config = { console: { port }, log: { level: "trace", pretty: false } };
    await withChildSite({ config, simulator: { speed: 1_000 } }, async (site: ChildSite) => {
      const configFile = join(site.folder, "cryobridge.yaml");
      const log = PLACES[place]?.() ?? "ignore";
      const words = [BIN, "start", "--config", configFile];
      const program = spawn(process.execPath, words, { stdio: ["ignore", "ignore", log] });
      if (typeof log === "number") closeSync(log);
      try {
        const ask = async (path: string) => {
          const answer = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => undefined);
          return answer?.ok === true ? await answer.text() : undefined;
        };
        await eventually(() => ask("/readyz"), { what: "readiness" });
        const load = planLoad(1, 4, 0);
        for (const { connector, name, content } of load.files) await site.lab.drop(connector, name, content);
        expect(await site.waitForEnd(load.orders, 240_000)).toEqual(ALL_WELL);
        expect(await ask("/readyz")).toBeDefined();
        if (place !== "a pipe whose reader hangs") {
          expect(await ask("/metrics")).toMatch(/cryobridge_log_lines_dropped_total [1-9]/);
          expect(await ask("/api/status")).toMatch(/the log can't be written \(ENOSPC\)/);
        }
        const ended = once(program, "exit");
        program.kill("SIGTERM");
        expect((await ended)[0]).toBe(0);
      } finally {
        program.kill("SIGKILL");
      }
    });
  },
);
