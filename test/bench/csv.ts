import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdir, readdir, rename, stat } from "node:fs/promises";
import { join } from "node:path";
import { withChildSite, withPool } from "../support/with-child-site.ts";
import { watchMemory } from "./memory.ts";
import type { BenchReport } from "./report.ts";
import { waitUntil } from "./wait-until.ts";

const MEGABYTE = 1_000_000;
const WITHIN_MS = 1_800_000;
/** Rows as long as those of a lab that writes remarks; the ledger's work is by the row. */
const DESCRIPTION = "vial of a batch that was described at length, ".repeat(20).trim();
const HEADER =
  "order_number,operation,facility,subject_code,first_name,last_name,date_of_birth,container_label,container_description\r\n";

/** One large CSV file through the intake of a real daemon, from the drop to the archive. */
export async function benchCsv(megabytes: number): Promise<BenchReport> {
  return await withChildSite({}, async (site) => {
    const inbox = join(site.folder, "csv/in");
    await mkdir(inbox, { recursive: true });
    const beside = join(site.folder, "large.part");
    const rows = await writeRows(beside, megabytes * MEGABYTE);
    const { size } = await stat(beside);
    const daemon = site.start(["--role", "intake"]);
    await daemon.running;
    const memory = watchMemory(daemon.pid);
    const startedAt = performance.now();
    await rename(beside, join(inbox, "large.csv"));
    const archive = join(site.folder, "csv/archive");
    const isArchived = async () =>
      (await readdir(archive, { recursive: true })).some((name) => name.endsWith("large.csv"));
    await Promise.race([waitUntil(isArchived, WITHIN_MS), daemon.unexpectedEnd]);
    const seconds = (performance.now() - startedAt) / 1_000;
    memory.stop();
    const orders = await withPool(site.dataDir, async (pool) => {
      const { rows: counted } = await pool.query<{ orders: number }>("select count(*) as orders from orders");
      return counted[0]?.orders ?? 0;
    });
    return {
      bench: "csv",
      title: `one CSV file of ${Math.round(size / MEGABYTE)} MB through the intake into the ledger`,
      figures: [
        { name: "rows without an order", value: rows - orders, unit: "rows", bound: { atMost: 0 } },
        { name: "from the drop to the archive", value: seconds, unit: "s" },
        { name: "rows", value: rows / seconds, unit: "rows/s" },
        { name: "bytes", value: size / MEGABYTE / seconds, unit: "MB/s" },
        { name: "daemon's memory at its peak", value: memory.peakMb, unit: "MB", bound: { atMost: 600 } },
      ],
    };
  });
}

async function writeRows(path: string, bytes: number): Promise<number> {
  const file = createWriteStream(path);
  file.write(HEADER);
  let rows = 0;
  for (let written = HEADER.length; written < bytes; ) {
    rows += 1;
    const row = `R-${rows},STORE,NORTH,S-${rows},Ada,Example,1990-01-31,V-${rows},"${DESCRIPTION}"\r\n`;
    written += row.length;
    if (!file.write(row)) await once(file, "drain");
  }
  file.end();
  await once(file, "close");
  return rows;
}
