import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "csv-parse/sync";
import { SENDERS } from "./senders.ts";

/** How often each kind occurs: of HL7 messages their type, of CSV rows their status. Most first. */
export type KindCounts = readonly (readonly [kind: string, count: number])[];

/** What the lab of one sender finds in its folder. */
export interface SenderResults {
  readonly sender: string;
  readonly files: number;
  readonly counts: KindCounts;
}

/** Reads all that was written for the labs. */
export async function readResults(folder: string): Promise<SenderResults[]> {
  return Promise.all(
    SENDERS.map(async ({ name: sender }) => {
      const out = join(folder, sender, "out");
      const files = (await readdir(out).catch(() => [])).filter((file) => !file.startsWith("."));
      const kinds = await Promise.all(files.map((file) => readKinds(join(out, file))));
      return { sender, files: files.length, counts: count(kinds.flat()) };
    }),
  );
}

/** What is in one result file; nothing when the lab has taken it away already. */
export async function countResult(path: string): Promise<KindCounts> {
  return count(await readKinds(path));
}

async function readKinds(path: string): Promise<string[]> {
  const text = await readFile(path, "utf8").catch(() => "");
  if (text === "") return [];
  return text.startsWith("MSH") ? [messageType(text)] : rowStatuses(text);
}

function count(kinds: readonly string[]): KindCounts {
  const counts = new Map<string, number>();
  for (const kind of kinds) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]);
}

/** MSH-9: `ORU^R01`. */
function messageType(text: string): string {
  return (text.split("|")[8] ?? "").split("^").slice(0, 2).join("^");
}

/** Column `status` of each row. */
function rowStatuses(text: string): string[] {
  const rows: Record<string, string>[] = parse(text, { columns: true, bom: true });
  return rows.map(({ status = "" }) => status);
}
