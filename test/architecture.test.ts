import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { expect, test } from "vitest";

const SOURCE = resolve(import.meta.dirname, "../src");

/** Which folders each folder may import from; itself always. `app` and `cli` may import everything. */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  core: [],
  config: ["core"],
  formats: ["core"],
  mapping: ["core", "formats"],
  ledger: ["core"],
  service: ["core"],
  connectors: ["core", "formats"],
  jobs: ["core", "formats", "mapping", "ledger", "service"],
  alerts: ["core", "ledger"],
  operator: ["core", "formats", "ledger", "jobs"],
  standing: ["core", "ledger", "jobs", "operator"],
  console: ["core", "formats", "ledger", "jobs", "operator", "standing"],
  simulator: ["core"],
  tracing: ["core"],
};

/** Packages that only one folder may know. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  pg: ["ledger", "app"],
  undici: ["service"],
  bullmq: ["jobs"],
  ioredis: ["jobs"],
  nodemailer: ["alerts"],
};

interface Import {
  readonly file: string;
  readonly folder: string;
  readonly target: string;
  readonly isType: boolean;
}

function listImports(): Import[] {
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  return files.flatMap((file) => {
    const folder = file.includes("/") ? (file.split("/")[0] as string) : "app";
    const text = readFileSync(join(SOURCE, file), "utf8");
    const found = text.matchAll(/^(import|export)( type)? [^;]*?from "([^"]+)"|^import\("([^"]+)"\)/gms);
    return [...found].map((match) => ({
      file,
      folder,
      target: match[3] ?? match[4] ?? "",
      isType: match[2] !== undefined,
    }));
  });
}

const imports = listImports();
const folderOf = ({ file, target }: Import) => {
  const path = relative(SOURCE, resolve(SOURCE, dirname(file), target));
  return path.includes("/") ? (path.split("/")[0] as string) : "app";
};

test("the imports of all files are seen", () => {
  expect(imports.length).toBeGreaterThan(500);
  expect(imports).toContainEqual(
    expect.objectContaining({ file: "app/jobs.ts", target: "../jobs/submit/submit.ts" }),
  );
});

/** What a folder takes of the configuration is the type of its settings. */
const isSettingsType = (each: Import) => folderOf(each) === "config" && each.isType;

test("dependencies point one way, as the import table says", () => {
  const wrong = imports
    .filter(({ folder, target }) => folder in MAY_IMPORT && target.startsWith("."))
    .filter((each) => folderOf(each) !== each.folder && !MAY_IMPORT[each.folder]?.includes(folderOf(each)))
    .filter((each) => each.folder === "core" || !isSettingsType(each));
  expect(wrong.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
});

test("each of the packages with an owner is used by its owner alone", () => {
  const wrong = imports.filter(
    ({ folder, target, isType }) =>
      !isType && target in OWNERS && !OWNERS[target]?.includes(folder) && folder !== "cli",
  );
  expect(wrong.map(({ file, target }) => `${file} imports ${target}`)).toEqual([]);
});

test("OpenTelemetry is known to tracing alone, which loads it only once it is asked for", () => {
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  const users = files.filter((file) => readFileSync(join(SOURCE, file), "utf8").includes("@opentelemetry/"));
  expect(users.sort()).toEqual(["tracing/exporting.ts", "tracing/tracing.ts"]);
  const loaded = imports.filter(({ target, isType }) => target.startsWith("@opentelemetry/") && !isType);
  expect(loaded).toEqual([]);
});

test("only the command line ends the process, and only the configuration reads its environment", () => {
  const files = readdirSync(SOURCE, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".ts"),
  );
  const offenders = files.filter((file) => {
    const text = readFileSync(join(SOURCE, file), "utf8");
    const exits = /process\.exit\(/.test(text) && !file.startsWith("cli/");
    const reads = /process\.env\b/.test(text) && !file.startsWith("cli/") && !file.startsWith("config/");
    return exits || reads;
  });
  expect(offenders).toEqual([]);
});

test("no files import each other in a circle, imports of types included", () => {
  const graph = new Map<string, string[]>();
  for (const each of imports) {
    if (!each.target.startsWith(".")) continue;
    const path = relative(SOURCE, resolve(SOURCE, dirname(each.file), each.target));
    graph.set(each.file, [...(graph.get(each.file) ?? []), path]);
  }
  const circles: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, trail: readonly string[]) => {
    if (trail.includes(file)) {
      circles.push([...trail.slice(trail.indexOf(file)), file].join(" -> "));
      return;
    }
    if (done.has(file)) return;
    for (const next of graph.get(file) ?? []) visit(next, [...trail, file]);
    done.add(file);
  };
  for (const file of graph.keys()) visit(file, []);
  expect(circles).toEqual([]);
});
