import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";

const ROOT = resolve(import.meta.dirname, "../..");
const FOLDERS = [
  "config/samples",
  "config/labs",
  "config/profile-tests",
  "config/profiles",
  "config/samples/profiles",
  "test/fixtures",
];
/** Longer examples say nothing that shorter ones don't. */
const LONGEST = 6_000;

/** The project's own examples with these endings, always in one sequence. */
export function examples(...endings: readonly string[]): Buffer[] {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) =>
      join(ROOT, folder, name),
    ),
  );
  return [...new Set(files)]
    .filter((file) => endings.some((ending) => file.endsWith(ending)))
    .sort()
    .map((file) => readFileSync(file))
    .filter((bytes) => bytes.length <= LONGEST);
}
