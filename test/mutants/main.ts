import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { MUTANTS, type Mutant } from "./mutants.ts";

/** The tests that are asked about a file behind those that stand with the fault, by the beginning of its path. */
const NEAREST: readonly (readonly [from: string, tests: readonly string[]])[] = [
  ["src/connectors/", ["test/connectors"]],
  ["src/service/", ["test/service"]],
  ["src/", ["test/jobs", "test/ledger"]],
];
/** A fault may have a test wait for ever, ms; or go round for ever, so that no time limit of its own ends it. */
const LONGEST_TEST_MS = 60_000;
const LONGEST_MS = 3_600_000;
/** Not copied: large, or of no use to the tests. */
const LEFT_OUT: ReadonlySet<string> = new Set(["node_modules", ".git", "dist"]);

const HELP = `Makes each fault of mutants.ts in a copy of the project, and says which test catches it.

  npm run mutants -- [--only TEXT] [--all | --seeds N]

  --only TEXT   only faults with that text in their name or file
  --all         asks the whole suite about those that the nearest tests don't catch (many minutes each)
  --seeds N     asks no tests but the simulation, with its kept plans and so many seeds at most (four take a second or so)
`;

const root = join(import.meta.dirname, "../..");

/** What the tests say of a fault: the first test that fails, or none. */
type Verdict = { readonly caughtBy: string } | "survived";

async function main(): Promise<number> {
  const options = {
    only: { type: "string" },
    all: { type: "boolean" },
    seeds: { type: "string" },
    help: { type: "boolean" },
  } as const;
  const { values } = parseArgs({ options });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const { only = "", all = false, seeds } = values;
  const chosen = MUTANTS.filter(({ name, file }) => name.includes(only) || file.includes(only));
  const copy = await mkdtemp(join(tmpdir(), "mutants-"));
  const survivors: Mutant[] = [];
  if (chosen.length === 0) throw new Error(`no fault has ${only} in its name or file`);
  try {
    await cp(root, copy, { recursive: true, filter: (path) => !LEFT_OUT.has(path.slice(root.length + 1)) });
    await symlink(join(root, "node_modules"), join(copy, "node_modules"));
    for (const [nth, mutant] of chosen.entries()) {
      const startedAt = performance.now();
      const verdict = await judge(mutant, copy, seeds ?? [...testsOf(mutant), ...(all ? [[]] : [])]);
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

/** Asks tests, group by group, or the simulation with so many seeds. */
async function judge(
  mutant: Mutant,
  copy: string,
  asked: readonly (readonly string[])[] | string,
): Promise<Verdict> {
  const path = join(copy, mutant.file);
  const sound = await readFile(path, "utf8");
  const within = async (ask: () => Promise<Verdict>) => {
    await writeFile(
      path,
      sound.replace(mutant.from, () => mutant.to),
    );
    return ask().finally(() => writeFile(path, sound));
  };
  if (typeof asked === "string") return within(() => askSimulation(copy, asked));
  for (const tests of asked) {
    await requireSound(copy, tests);
    const verdict = await within(() => askTests(copy, tests));
    if (verdict !== "survived") return verdict;
  }
  return "survived";
}

/** Runs the plans that are kept, and then seeds, until a history goes wrong. */
async function askSimulation(copy: string, seeds: string): Promise<Verdict> {
  const words = ["test/simulation/main.ts", "--kept", "--seeds", seeds, "--until-failure", "--shrinks", "0"];
  const child = spawn(process.execPath, words, { cwd: copy, stdio: ["ignore", "pipe", "ignore"] });
  const said = (await child.stdout.toArray()).join("");
  if (/: 0 went wrong/.test(said)) return "survived";
  // Each is printed as soon as it fails, so the first one has the first line.
  return { caughtBy: said.split("\n", 1)[0] || "a simulation that could not be run" };
}

const foundSound = new Set<string>();

/** What fails without a fault says nothing of one. */
async function requireSound(copy: string, tests: readonly string[]): Promise<void> {
  const group = tests.join(" ");
  if (foundSound.has(group)) return;
  const verdict = await askTests(copy, tests);
  if (verdict !== "survived") throw new Error(`without a fault: ${verdict.caughtBy}`);
  foundSound.add(group);
}

/** Tests to ask one group after the other. */
function testsOf({ file, tests }: Mutant): (readonly string[])[] {
  const nearest = NEAREST.find(([from]) => file.startsWith(from))?.[1] ?? [];
  return [tests, nearest.filter((each) => !tests.includes(each))].filter((group) => group.length > 0);
}

/** Runs tests until one fails, or they take too long. */
async function askTests(copy: string, tests: readonly string[]): Promise<Verdict> {
  const report = join(copy, "report.json");
  await rm(report, { force: true });
  const limits = ["--bail=1", `--testTimeout=${LONGEST_TEST_MS}`];
  const words = [
    "run",
    ...tests,
    ...limits,
    "--exclude=test/mutants/**",
    // What starts and stops servers decides nothing of orders, and takes long.
    "--exclude=test/ledger/embedded/**",
    "--reporter=json",
    `--outputFile=${report}`,
  ];
  const child = spawn(join(copy, "node_modules/.bin/vitest"), words, {
    cwd: copy,
    stdio: "ignore",
    detached: true,
  });
  const ended = once(child, "exit").then(() => true);
  const isOver = await Promise.race([ended, setTimeout(LONGEST_MS, false, { ref: false })]);
  if (!isOver && child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
  const text = await readFile(report, "utf8").catch(() => undefined);
  if (text === undefined)
    return { caughtBy: isOver ? "tests that could not be run" : "tests that went on for ever" };
  const { testResults } = JSON.parse(text) as Report;
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
