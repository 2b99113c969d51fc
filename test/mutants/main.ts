import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { MUTANTS, type Mutant } from "./mutants.ts";

/** The tests that are nearest to a file, by the beginning of its path; they are asked first. */
const NEAREST: readonly (readonly [from: string, tests: readonly string[]])[] = [
  ["src/connectors/", ["test/connectors"]],
  ["src/service/", ["test/service"]],
  ["src/", ["test/jobs", "test/ledger"]],
];
/** A fault may have a test wait for ever, ms. */
const LONGEST_MS = 60_000;
/** Not copied: large, or of no use to the tests. */
const LEFT_OUT: ReadonlySet<string> = new Set(["node_modules", ".git", "dist"]);

const HELP = `Makes each fault of mutants.ts in a copy of the project, and says which test catches it.

  npm run mutants -- [--only TEXT] [--all]

  --only TEXT   only faults with that text in their name or file
  --all         asks the whole suite about those that the nearest tests don't catch (many minutes each)
`;

const root = join(import.meta.dirname, "../..");

/** What the tests say of a fault: the first test that fails, or none. */
type Verdict = { readonly caughtBy: string } | "survived";

async function main(): Promise<number> {
  const options = { only: { type: "string" }, all: { type: "boolean" }, help: { type: "boolean" } } as const;
  const { values } = parseArgs({ options });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const { only = "", all = false } = values;
  const chosen = MUTANTS.filter(({ name, file }) => name.includes(only) || file.includes(only));
  const copy = await mkdtemp(join(tmpdir(), "mutants-"));
  const survivors: Mutant[] = [];
  try {
    await cp(root, copy, { recursive: true, filter: (path) => !LEFT_OUT.has(path.slice(root.length + 1)) });
    await symlink(join(root, "node_modules"), join(copy, "node_modules"));
    for (const [nth, mutant] of chosen.entries()) {
      const startedAt = performance.now();
      const verdict = await judge(mutant, copy, all);
      const seconds = Math.round((performance.now() - startedAt) / 1_000);
      if (verdict === "survived") survivors.push(mutant);
      const words = verdict === "survived" ? "SURVIVED" : `caught by: ${verdict.caughtBy}`;
      process.stdout.write(
        `${nth + 1}/${chosen.length} ${mutant.file}: ${mutant.name}\n    ${words} (${seconds} s)\n`,
      );
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
  process.stdout.write(`${chosen.length - survivors.length} of ${chosen.length} caught\n`);
  for (const { file, name } of survivors) process.stdout.write(`  survived: ${file}: ${name}\n`);
  return survivors.length === 0 ? 0 : 1;
}

async function judge(mutant: Mutant, copy: string, all: boolean): Promise<Verdict> {
  const path = join(copy, mutant.file);
  const sound = await readFile(path, "utf8");
  await writeFile(
    path,
    sound.replace(mutant.from, () => mutant.to),
  );
  try {
    const nearest = NEAREST.find(([from]) => mutant.file.startsWith(from))?.[1] ?? [];
    const verdict = await askTests(copy, nearest);
    return verdict === "survived" && all ? await askTests(copy, []) : verdict;
  } finally {
    await writeFile(path, sound);
  }
}

/** Runs tests until one fails. */
async function askTests(copy: string, tests: readonly string[]): Promise<Verdict> {
  const report = join(copy, "report.json");
  await rm(report, { force: true });
  const words = [
    "vitest",
    "run",
    ...tests,
    "--bail=1",
    `--testTimeout=${LONGEST_MS}`,
    "--reporter=json",
    `--outputFile=${report}`,
  ];
  const child = spawn("npx", words, { cwd: copy, stdio: "ignore" });
  await new Promise<void>((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", () => resolve());
  });
  const { testResults } = JSON.parse(await readFile(report, "utf8")) as Report;
  for (const { name, message, assertionResults } of testResults) {
    const failed = assertionResults.find(({ status }) => status === "failed");
    const file = name.slice(copy.length + 1);
    if (failed) return { caughtBy: `${file}: ${failed.fullName}` };
    if (message) return { caughtBy: file };
  }
  return "survived";
}

/** What of Vitest's report is read. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly message: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

process.exitCode = await main();
