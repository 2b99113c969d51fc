import { execFileSync } from "node:child_process";

/**
 * Lets no file of this process grow beyond so many bytes while the work runs, so that a write ends in its midst. Needs
 * `prlimit`.
 */
export async function withFullDisk<T>(bytes: number, work: () => Promise<T>): Promise<T> {
  const limit = (value: string) =>
    execFileSync("prlimit", ["--pid", `${process.pid}`, `--fsize=${value}:`], { stdio: "ignore" });
  limit(String(bytes));
  try {
    return await work();
  } finally {
    limit("unlimited");
  }
}
