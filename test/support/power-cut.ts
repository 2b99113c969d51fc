import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "./eventually.ts";

const run = promisify(execFile);

/** What a disk held at one moment: the path of a copy of its image. */
export type Image = string;

/** What a test does right before a cut and during it. */
export interface AroundCut {
  /** The last thing before the cut. What is true by then must be so on the disk. */
  readonly before?: () => void;
  /**
   * While the device takes no more writes: who is killed here has not come to know of anything that isn't in the image.
   * Whoever touches the disk here waits for ever, also to read, since that notes a time.
   */
  readonly meanwhile?: () => void;
}

/** A file system of its own, the power of which can be cut. */
export interface Disk {
  /** Where it is mounted; the same before and after a cut. */
  readonly path: string;
  /**
   * Gives what would be on the disk if the power went now. Whatever was not handed to the device by then is missing: what
   * the file system holds in memory, the middle of its own commits. Who writes goes on afterwards and has noticed nothing
   * but a slow disk.
   */
  cut(around?: AroundCut): Promise<Image>;
  /** The power is back: what is in the image is mounted instead. Nobody may use the disk any more. */
  powerUp(image: Image): Promise<void>;
  /** An image that isn't needed any more. */
  forget(image: Image): Promise<void>;
}

/** What the outer file system needs beside the image in it, bytes. */
const MARGIN = 16 * 1024 * 1024;
/** A copy of this size takes parts of a second. Who hangs on the frozen disk can't end its input by dying, either. */
const FROZEN_SECONDS = 30;
/** What is frozen is freed again also when the test is killed: it would hang whoever writes to it. */
const CUT = `trap '' INT TERM
echo ready
read -r _ || exit 1
fsfreeze --freeze "$1" || exit
cp --sparse=always "$1/disk.img" "$2"
status=$?
echo copied
timeout --signal=KILL ${FROZEN_SECONDS} cat > /dev/null || status=$?
fsfreeze --unfreeze "$1"
exit $status`;

/**
 * Gives a test a disk, and takes it away whatever happens. It is an ext4 file system in a file, `disk.img`, which lies on
 * another file system in a file. That one is frozen while the image is copied: so the copy is of one moment, though the
 * processes that use the disk run on.
 *
 * What was handed to the device counts as kept, flushed or not, in its order: a drive that loses or reorders what is in its
 * cache isn't modelled.
 */
export async function withDisk<T>(megabytes: number, test: (disk: Disk) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "cryobridge-disk-"));
  // A database server that root starts runs under another account, which has to get through.
  await chmod(folder, 0o711);
  const [outside, host, path] = [join(folder, "host.img"), join(folder, "host"), join(folder, "disk")];
  const image = join(host, "disk.img");
  let images = 0;
  try {
    const bytes = megabytes * 1024 * 1024;
    // The real disk need not be flushed: it is the copies that are looked at.
    await makeFileSystem(outside, bytes + MARGIN, ["-O", "^has_journal", "-m", "0", "-N", "16"]);
    await mount(outside, host, ["-o", "nobarrier"]);
    await makeFileSystem(image, bytes);
    await mount(image, path);
    return await test({
      path,
      cut: async (around = {}) => {
        images += 1;
        const copy = join(folder, `cut-${images}.img`);
        await copyFrozen(host, copy, around);
        return copy;
      },
      powerUp: async (copy) => {
        await unmount(path);
        // The kernel lets go of the image a moment later; until then a new mount would see what it remembers of the old one.
        const isFree = async () => (await run("losetup", ["--associated", image])).stdout === "";
        await eventually(isFree, { what: "the release of the image" });
        await run("cp", ["--sparse=always", copy, image]);
        await mount(image, path);
      },
      forget: (copy) => rm(copy, { force: true }),
    });
  } finally {
    await unmount(path).catch(() => undefined);
    await unmount(host).catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  }
}

async function makeFileSystem(file: string, bytes: number, options: readonly string[] = []): Promise<void> {
  await writeFile(file, "");
  await truncate(file, bytes);
  await run("mkfs.ext4", ["-q", "-F", "-E", "lazy_itable_init=0,nodiscard", ...options, file]);
}

async function mount(file: string, at: string, options: readonly string[] = []): Promise<void> {
  await mkdir(at, { recursive: true });
  await run("mount", ["-t", "ext4", "-o", "loop", ...options, file, at]);
}

/** Who was just killed may be a moment from letting go. Of a process that stays, the file system is taken away. */
async function unmount(path: string): Promise<void> {
  const isDone = () =>
    run("umount", [path]).then(
      () => true,
      (error: { stderr?: string }) => /not mounted|no mount point/.test(error.stderr ?? ""),
    );
  await eventually(isDone, { withinMs: 30_000, what: `the end of all use of ${path}` }).catch(
    async (error) => {
      await run("umount", ["--lazy", path]);
      throw error;
    },
  );
}

async function copyFrozen(host: string, copy: Image, { before, meanwhile }: AroundCut): Promise<void> {
  const shell = spawn("/bin/sh", ["-c", CUT, "sh", host, copy], { stdio: ["pipe", "pipe", "inherit"] });
  const ended = once(shell, "exit");
  const isReported = () => Promise.race([once(shell.stdout, "data"), ended]);
  try {
    await isReported();
    const copied = isReported();
    before?.();
    shell.stdin.write("go\n");
    await copied;
    meanwhile?.();
  } finally {
    shell.stdin.end();
  }
  const [status] = await ended;
  if (status !== 0) throw new Error(`the image could not be copied: status ${status}`);
}
