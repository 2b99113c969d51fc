import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { SAMPLES_FOLDER } from "../../src/cli/demo/samples.ts";

/**
 * The rows of the tables about files in the samples' README: a file's name, and the two cells behind it as plain text,
 * however wide the columns are.
 */
export async function readSampleTables(): Promise<
  { readonly fileName: string; readonly cells: readonly string[] }[]
> {
  const lines = (await readFile(join(SAMPLES_FOLDER, "README.md"), "utf8")).split("\n");
  return lines
    .filter((line) => /^\| `[^`]+\.(?:hl7|csv)` /.test(line))
    .map((line) => {
      const [fileName = "", ...cells] = line
        .trim()
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim().replaceAll("`", "").replaceAll("\\|", "|"));
      return { fileName, cells };
    });
}
