import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { type Clock, systemClock } from "../../src/core/clock.ts";

/** A file system whose server takes every question and answers none, until a line comes. */
const SILENT = `
import ctypes, os, sys
folder = sys.argv[1].encode()
libc = ctypes.CDLL(None, use_errno=True)
fuse = os.open("/dev/fuse", os.O_RDWR)
options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0".encode()
if libc.mount(b"silent", folder, b"fuse", 6, options) != 0: sys.exit(1)
print("mounted", flush=True)
sys.stdin.readline()
os.close(fuse)
libc.umount2(folder, 2)
`;

/**
 * A folder that hangs, as one on a server that is away does: what touches it waits until the end.
 * @returns undefined where this user may mount nothing
 */
export async function hangFolder(folder: string): Promise<{ end(): Promise<void> } | undefined> {
  await mkdir(folder, { recursive: true });
  const server = spawn("python3", ["-c", SILENT, folder], { stdio: ["pipe", "pipe", "ignore"] });
  const ended = once(server, "exit");
  const isMounted = await Promise.race([
    once(server.stdout, "data").then(() => true),
    ended.then(() => false),
  ]);
  if (!isMounted) return undefined;
  return {
    end: async () => {
      server.stdin.end("\n");
      await ended;
    },
  };
}

/** Waits at most a second for what takes longer otherwise; what does answer does so by then on a busy machine, too. */
export const impatientClock: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 1_000), signal),
};
