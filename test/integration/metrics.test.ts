import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { openConsole } from "../../src/app/console.ts";
import type { Daemon } from "../../src/app.ts";
import { createMetrics } from "../../src/console/metrics.ts";
import { systemClock } from "../../src/core/clock.ts";
import { eventually } from "../support/eventually.ts";
import { labCsv, omlO33 } from "../support/lab-messages.ts";
import { findProgram, machineHas } from "../support/needs.ts";
import { withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

async function withMetrics(
  daemon: Daemon,
  body: (scrape: () => Promise<string>) => Promise<void>,
): Promise<void> {
  const running = await openConsole(daemon, { version: "1.2.3", logger: silent, clock: systemClock });
  try {
    await body(async () => (await fetch(`${running.url}/metrics`)).text());
  } finally {
    await running.close();
  }
}

/** Names of the series of a text, with the labels that they have. */
function seriesOf(text: string): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const [, name = "", labels = ""] of text.matchAll(/^([a-z]\w*)(?:\{(.*)\})? /gm)) {
    const known = found.get(name) ?? new Set();
    for (const [, label = ""] of labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) known.add(label);
    found.set(name, known);
  }
  return found;
}

describe("the metrics of a daemon that works", () => {
  test("have the time of each stage by connector, and promtool finds nothing to say of them", () =>
    withSite({}, async (site) => {
      const daemon = await site.start();
      await withMetrics(daemon, async (scrape) => {
        await site.drop("hl7", "a.hl7", omlO33({ number: "A-1", subject: "S-1", labels: ["V-1"] }));
        await site.drop("csv", "b.csv", labCsv([{ number: "B-1", subject: "S-2", labels: ["V-2"] }]));
        await site.waitForOrders(2, ["completed"]);
        const text = await eventually(async () => {
          const now = await scrape();
          const ends = ["hl7", "csv"].map((name) => `_seconds_count{connector="${name}",stage="result"} `);
          return ends.every((end) => now.includes(end)) ? now : undefined;
        });
        for (const connector of ["hl7", "csv"]) {
          expect(text).toContain(`cryobridge_intake_seconds_count{connector="${connector}"} 1\n`);
          for (const stage of ["received", "submitting", "submitted"])
            expect(text).toContain(
              `cryobridge_stage_seconds_count{connector="${connector}",stage="${stage}"} 1\n`,
            );
        }
        expect(text).toMatch(/cryobridge_job_seconds_count\{queue="submit",outcome="done"\} [1-9]/);
        expect(text).toMatch(
          /cryobridge_service_request_seconds_count\{route="POST \/api\/[a-z-]+",outcome="2xx"\} [1-9]/,
        );
        for (const secret of ["A-1", "S-1", "V-1"]) expect(text).not.toContain(secret);
        const known = new Map(createMetrics("0").definitions.map((each) => [each.name, each]));
        const helped = [...text.matchAll(/^# HELP (\w+)/gm)].map(([, name]) => name);
        expect(helped.sort()).toEqual([...known.keys()].sort());
        for (const [name, labels] of seriesOf(text)) {
          const definition = known.get(name) ?? known.get(name.replace(/_(bucket|sum|count)$/, ""));
          const own = [...labels].filter((label) => !["le", "quantile"].includes(label));
          expect(definition?.labels, name).toEqual(expect.arrayContaining(own));
        }
        if (!machineHas("promtool")) return;
        const said = spawnSync(findProgram("promtool") as string, ["check", "metrics"], { input: text });
        expect(`${said.stdout}${said.stderr}`).toBe("");
        expect(said.status).toBe(0);
      });
    }));
});
