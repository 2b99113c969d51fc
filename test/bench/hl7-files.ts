import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { omlO33 } from "../support/lab-messages.ts";
import { withChildSite, withPool } from "../support/with-child-site.ts";
import { watchMemory } from "./memory.ts";
import type { BenchReport } from "./report.ts";
import { waitUntil } from "./wait-until.ts";

const FILES = 5_000;
const WITHIN_MS = 1_800_000;

/** Many small HL7 files through the intake of a real daemon: each committed by itself before it is archived. */
export async function benchHl7Files(): Promise<BenchReport> {
  return await withChildSite({}, async (site) => {
    for (let n = 1; n <= FILES; n++) await site.lab.drop("hl7", `f${n}.hl7`, omlO33({ number: `F-${n}` }));
    const daemon = site.start(["--role", "intake"]);
    await daemon.running;
    const memory = watchMemory(daemon.pid);
    const startedAt = performance.now();
    const archive = join(site.folder, "hl7/archive");
    const count = async () =>
      (await readdir(archive, { recursive: true })).filter((name) => name.endsWith(".hl7")).length;
    await Promise.race([waitUntil(async () => (await count()) === FILES, WITHIN_MS), daemon.unexpectedEnd]);
    const seconds = (performance.now() - startedAt) / 1_000;
    memory.stop();
    const orders = await withPool(site.dataDir, async (pool) => {
      const { rows } = await pool.query<{ orders: number }>("select count(*) as orders from orders");
      return rows[0]?.orders ?? 0;
    });
    return {
      bench: "hl7-files",
      title: `${FILES.toLocaleString("en-US")} HL7 files dropped at once, one order each`,
      figures: [
        { name: "files without an order", value: FILES - orders, unit: "files", bound: { atMost: 0 } },
        { name: "from the start to the last archived", value: seconds, unit: "s" },
        { name: "files", value: FILES / seconds, unit: "files/s" },
        { name: "daemon's memory at its peak", value: memory.peakMb, unit: "MB", bound: { atMost: 300 } },
      ],
    };
  });
}
