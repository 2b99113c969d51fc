import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** A report about a file, as it lies in the folder `error`. */
export interface Refusal {
  readonly sender: string;
  readonly fileName: string;
  readonly result: "refused" | "partly-refused" | "duplicate";
  readonly problems: readonly { readonly place: string; readonly message: string }[];
}

/** The reports for programs are written last, so everything else is in place. */
const REPORT = /\.(?:error|duplicate)\.json$/;

/** A reader of the folders `error` of some senders; it gives each report once. */
export function createRefusalReader(folder: string, senders: readonly string[]): () => Promise<Refusal[]> {
  const seen = new Set<string>();
  return async () => {
    const refusals: Refusal[] = [];
    for (const sender of senders) {
      const errors = join(folder, sender, "error");
      const names = await readdir(errors).catch(() => []);
      for (const name of names.filter((each) => REPORT.test(each)).sort()) {
        const path = join(errors, name);
        if (seen.has(path)) continue;
        const report = JSON.parse(await readFile(path, "utf8")) as Omit<Refusal, "sender" | "fileName"> & {
          readonly file: string;
        };
        seen.add(path);
        const { file: fileName, result, problems } = report;
        refusals.push({ sender, fileName, result, problems });
      }
    }
    return refusals;
  };
}
