import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hangFolder } from "../support/hanging-folder.ts";
import { withFolder } from "../support/with-folder.ts";

const END_PROCESS = new URL("../../src/cli/end-process.ts", import.meta.url).href;

/** How a process ends that opens a file and then ends itself. */
async function endAfterOpening(
  file: string,
): Promise<readonly [status: number | null, signal: string | null]> {
  const script = `
const { open } = await import("node:fs/promises");
const { endProcess } = await import(${JSON.stringify(END_PROCESS)});
open(${JSON.stringify(file)}).catch(() => undefined);
await endProcess(7, 200);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "ignore" });
  return (await once(child, "exit")) as [number | null, string | null];
}

test("a process ends with its status, and waits for no file that hangs", ({ skip }) =>
  withFolder(async (folder) => {
    expect(await endAfterOpening(join(folder, "none"))).toEqual([7, null]);
    const hanging = await hangFolder(join(folder, "share"));
    if (!hanging) return skip("this user may mount nothing");
    try {
      expect(await endAfterOpening(join(folder, "share/file"))).toEqual([null, "SIGKILL"]);
    } finally {
      await hanging.end();
    }
  }));
