import { spawn } from "node:child_process";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PLANTED, type Planted } from "./planted.ts";

const root = join(import.meta.dirname, "../..");
const INPUTS = 20_000;

/** Fuzzes a copy with each planted fault up to the first finding, and says after how many inputs. */
async function main(): Promise<number> {
  const [only = ""] = process.argv.slice(2);
  const chosen = PLANTED.filter(({ name, file }) => name.includes(only) || file.includes(only));
  const copy = await mkdtemp(join(tmpdir(), "planted-"));
  let found = 0;
  try {
    for (const part of ["src", "test", "config", "package.json", "tsconfig.json"])
      await cp(join(root, part), join(copy, part), { recursive: true });
    await symlink(join(root, "node_modules"), join(copy, "node_modules"));
    for (const fault of chosen) {
      const said = await fuzzWith(fault, copy);
      if (said.startsWith("found")) found += 1;
      process.stdout.write(`${fault.target} ${fault.file}: ${fault.name}\n    ${said}\n`);
    }
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
  process.stdout.write(`${found} of ${chosen.length} found\n`);
  return found === chosen.length ? 0 : 1;
}

async function fuzzWith({ file, from, to, target }: Planted, copy: string): Promise<string> {
  const path = join(copy, file);
  const sound = await readFile(path, "utf8");
  if (sound.split(from).length !== 2) return "NOT PLANTED: its text does not stand there once";
  await writeFile(
    path,
    sound.replace(from, () => to),
  );
  const words = ["test/fuzz/main.ts", "--target", target, "--inputs", String(INPUTS), "--until-fault"];
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", ...words], {
    ...{ cwd: copy, stdio: ["ignore", "pipe", "pipe"] },
  });
  const [out, errors] = await Promise.all([child.stdout.toArray(), child.stderr.toArray()]);
  await writeFile(path, sound);
  const fault = /^FAULT after (\d+) inputs?: (.*)$/m.exec(out.join(""));
  if (fault !== null) return `found after ${fault[1]}: ${fault[2]}`;
  return errors.length > 0 ? `NOT RUN: ${errors.join("").slice(0, 300)}` : "not found";
}

process.exitCode = await main();
