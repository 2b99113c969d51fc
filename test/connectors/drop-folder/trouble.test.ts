import { execFileSync } from "node:child_process";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { ClaimIds } from "../../../src/connectors/drop-folder/claim.ts";
import { openForReading, systemFileOps } from "../../../src/connectors/drop-folder/file-ops.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { eventually } from "../../support/eventually.ts";
import { machineHas } from "../../support/needs.ts";
import { type DropWorld, dropDirectories, hl7Message, makeWorld, withDropWorld } from "../drop-world.ts";
import { ledgerAway } from "../journal-intake.ts";
import type { Step } from "../steps.ts";

/** What the system says of a full disk. */
function systemError(code: string): Error {
  return Object.assign(new Error("as the system words it"), { code });
}

describe("while the ledger is away", () => {
  test("files wait, the trouble is reported, and they are taken by themselves once it is back", () =>
    withDropWorld(async (world) => {
      world.intake.failure = ledgerAway();
      const connector = await world.start(world.hl7());
      await world.drop("a.hl7", hl7Message("A"));
      await eventually(() => connector.trouble?.includes("the ledger can't be reached"));
      await world.drop("b.hl7", hl7Message("B"));
      expect(await world.list("archive")).toEqual([]);
      world.intake.failure = undefined;
      await world.settled();
      expect(world.intake.summary().map((file) => file.name)).toEqual(["a.hl7", "b.hl7"]);
      await eventually(() => connector.trouble === undefined);
    }));

  test("nothing is claimed, and a stop leaves what was claimed before to the next start", () =>
    withDropWorld(async (world) => {
      const steps = (step: Step) => {
        if (step === "claims-durable") world.intake.failure = ledgerAway();
      };
      const connector = world.hl7({}, { steps });
      await connector.start();
      await world.drop("a.hl7", hl7Message("A"));
      await eventually(() => connector.trouble);
      await world.drop("b.hl7", hl7Message("B"));
      await connector.stop();
      expect(await world.list("in")).toEqual(["b.hl7"]);
      expect(await world.list("work")).toEqual([expect.stringMatching(/^TESTED\/\w{26}__a\.hl7$/)]);
      world.intake.failure = undefined;
      await world.start(world.hl7());
      await world.settled();
      expect(world.intake.summary().map(({ name, status }) => [name, status])).toEqual([
        ["a.hl7", "taken"],
        ["b.hl7", "taken"],
      ]);
    }));
});

describe("a file about which was decided", () => {
  test("is done with as it was decided, also where the answer to that commit was lost", () =>
    withDropWorld(async (world) => {
      world.intake.losesAnswer = true;
      await world.start(world.hl7());
      await world.drop("a.hl7", hl7Message("A") + hl7Message("B", "REFUSE"));
      await world.settled();
      expect(world.intake.summary()).toMatchObject([{ name: "a.hl7", status: "taken" }]);
      expect(await world.list("error")).toEqual(["a.hl7.error.json", "a.hl7.error.txt"]);
      expect(world.intake.duplicates).toEqual([]);
    }));

  test("goes to the day's folder that was decided, whatever day the machine that goes on with it has", () =>
    withDropWorld(async (world) => {
      const id = new ClaimIds().next(0);
      const folder = join(world.directories.work, world.intake.ledger);
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, `${id}__a.hl7`), hl7Message("A"));
      await world.intake.claim("lims", [{ id, name: "a.hl7" }]);
      const fate = { folder: "archive", day: "2020-02-29" } as const;
      const kept = { fate, names: ["a.hl7", "b.hl7"] } as const;
      await world.intake.settleFile({ claimId: id, fileId: "1", kept });
      await world.start(world.hl7());
      await world.settled();
      expect(await world.list("archive")).toEqual(["2020-02-29/a.hl7"]);
    }));

  test("keeps its report when something is missing while that is put in its place", () =>
    withDropWorld(async (world) => {
      let isMissing = true;
      const link = async (from: string, to: string) => {
        if (!isMissing) return systemFileOps.link(from, to);
        isMissing = false;
        throw systemError("ENOENT");
      };
      await world.start(world.hl7({}, { fileOps: { link } }));
      await world.drop("a.hl7", hl7Message("A", "REFUSE"));
      await world.settled();
      expect(await world.list("error")).toEqual(["a.hl7", "a.hl7.error.json", "a.hl7.error.txt"]);
    }));
});

describe("an error that nobody expected", () => {
  test.each(["ENOENT", "EACCES"])(
    "at the opening of a file that is there (%s) is reported, and it is tried again after a while",
    (code) =>
      withDropWorld(async (world) => {
        let tries = 0;
        const openForReading = async (path: string | Buffer) => {
          if (!String(path).startsWith(world.directories.work)) return systemFileOps.openForReading(path);
          tries += 1;
          throw systemError(code);
        };
        const connector = await world.start(world.hl7({}, { fileOps: { openForReading } }));
        await world.drop("a.hl7", hl7Message("A"));
        await eventually(() => connector.warning?.includes("can't be taken"));
        expect(tries).toBe(1);
      }),
  );

  test("holds up its own file only, which stays where it is and is reported", () =>
    withDropWorld(async (world) => {
      const { intake } = world;
      const openFile = intake.openFile.bind(intake);
      intake.openFile = (file, claimId, messages) => {
        const text = messages.map((message) => message.raw.reveal().toString()).join();
        if (text.includes("POISON")) throw new TypeError("a patient's name would stand here");
        return openFile(file, claimId, messages);
      };
      const connector = await world.start(world.hl7());
      await world.drop("poison.hl7", hl7Message("POISON"), 5);
      await world.drop("good.hl7", hl7Message("G"));
      await eventually(async () => (await world.list("archive")).length === 1);
      await eventually(() => connector.warning);
      expect(connector.warning).not.toContain("patient");
      expect(connector.trouble).toBeUndefined();
      expect((await world.list("work")).filter((name) => name.endsWith("__poison.hl7"))).toHaveLength(1);
    }));
});

describe("when the disk is full", () => {
  test("nothing is moved or lost, and intake goes on by itself once there is room", () =>
    withDropWorld(async (world) => {
      let isFull = true;
      const syncFolder = async (folder: string) => {
        if (isFull && folder.startsWith(world.directories.work)) throw systemError("ENOSPC");
      };
      const connector = world.hl7({}, { fileOps: { syncFolder } });
      isFull = false;
      await world.start(connector);
      isFull = true;
      await world.drop("a.hl7", hl7Message("A"));
      await eventually(() => connector.trouble?.includes("ENOSPC"));
      expect(await world.list("archive")).toEqual([]);
      isFull = false;
      await world.settled();
      expect((await world.list("archive")).map((name) => name.slice(11))).toEqual(["a.hl7"]);
      expect(world.intake.summary().map((file) => file.status)).toEqual(["taken"]);
    }));

  test.runIf(machineHas("root", "linux"))("for real, nothing is lost either", () =>
    withDropWorld(async (outer) => {
      const mountPoint = join(outer.folder, "small");
      await mkdir(mountPoint);
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=256k", "tmpfs", mountPoint]);
      const world = makeWorld(mountPoint, []);
      const connector = outer.hl7({ directories: dropDirectories(mountPoint) });
      try {
        await connector.start();
        await writeFile(join(mountPoint, "ballast"), Buffer.alloc(64 * 1024));
        const beside = join(mountPoint, "mixed.part");
        await writeFile(beside, hl7Message("A") + hl7Message("B", "REFUSE"));
        await writeFile(join(mountPoint, "ballast"), Buffer.alloc(1024 * 1024)).catch(() => undefined);
        await rename(beside, join(mountPoint, "in", "mixed.hl7"));
        await eventually(() => connector.trouble?.includes("ENOSPC"));
        const lying = await Promise.all((["in", "work", "archive"] as const).map(world.list));
        expect(lying.flat().filter((name) => name.endsWith("mixed.hl7"))).toHaveLength(1);
        await rm(join(mountPoint, "ballast"));
        await world.settled();
        expect((await world.list("archive")).map((name) => name.slice(11))).toEqual(["mixed.hl7"]);
        expect(await world.list("error")).toHaveLength(2);
        expect(outer.intake.summary()[0]?.messages).toHaveLength(2);
      } finally {
        await connector.stop();
        execFileSync("umount", [mountPoint]);
      }
    }),
  );
});

describe("a rename that Windows or a virus scanner holds up", () => {
  test("is tried again", () =>
    withDropWorld(async (world) => {
      let refusals = 3;
      const ops = {
        rename: async (from: string | Buffer, to: string) => {
          if (to.startsWith(world.directories.archive) && refusals-- > 0) throw systemError("EBUSY");
          await rename(from, to);
        },
      };
      await world.start(world.hl7({}, { fileOps: ops }));
      await world.drop("a.hl7", hl7Message("A"));
      await world.settled();
      expect(await world.list("archive")).toHaveLength(1);
    }));
});

describe.runIf(machineHas("root", "linux"))("a share that is mounted on a folder", () => {
  const mount = {
    tmpfs: (folder: string) => execFileSync("mount", ["-t", "tmpfs", "tmpfs", folder]),
    bind: (folder: string) => {
      mkdirSync(`${folder}-share`, { recursive: true });
      execFileSync("mount", ["--bind", `${folder}-share`, folder]);
    },
  };
  const unmount = (folder: string) => execFileSync("umount", ["--lazy", folder]);
  const RESULT = { fileName: "PO-1_1.hl7", bytes: Buffer.from("MSH|result\r") };

  describe.each(["tmpfs", "bind"] as const)("(%s)", (kind) => {
    const withShare = (
      key: "in" | "out",
      run: (world: DropWorld, folder: string) => Promise<void>,
    ): Promise<void> =>
      withDropWorld(async (world) => {
        const folder = world.directories[key];
        await mkdir(folder, { recursive: true });
        mount[kind](folder);
        try {
          await run(world, folder);
        } finally {
          unmount(folder);
        }
      });

    test("lets results wait while it is away, and takes them when it is back", () =>
      withShare("out", async (world, folder) => {
        const connector = await world.start(world.hl7());
        await connector.deliver(RESULT);
        unmount(folder);
        const late = { ...RESULT, fileName: "PO-2_1.hl7" };
        await expect(connector.deliver(late)).rejects.toMatchObject({
          ...{ code: "FILE_SYSTEM_ERROR", class: "transient" },
          message: expect.stringContaining("is its share mounted?"),
        });
        expect(await world.list("out")).toEqual([]);
        mount[kind](folder);
        await connector.deliver(late);
        expect(await world.list("out")).toContain(late.fileName);
      }));

    test.each<Step>(["out-written", "out-linked", "out-unlinked"])(
      "counts a result during which it went away (%s) as not delivered",
      (when) =>
        withShare("out", async (world, folder) => {
          let isAway = false;
          const steps = (step: Step) => {
            if (step !== when || isAway) return;
            isAway = true;
            unmount(folder);
            // What is written now is written below it.
            writeFileSync(join(folder, "of-others"), "");
          };
          const connector = await world.start(world.hl7({}, { steps }));
          await expect(connector.deliver(RESULT)).rejects.toMatchObject({ code: "FILE_SYSTEM_ERROR" });
          expect(await world.list("out")).toEqual(["of-others"]);
          mount[kind](folder);
        }),
    );
  });

  test("that holds the drop folder is not mistaken for an empty one, and goes on when it is back", () =>
    withDropWorld(async (world) => {
      const shared = join(world.folder, "shared");
      await mkdir(shared);
      mount.bind(shared);
      const outer = makeWorld(shared, []);
      const connector = world.hl7({ directories: dropDirectories(shared) });
      try {
        await connector.start();
        unmount(shared);
        for (const folder of Object.values(dropDirectories(shared))) await mkdir(folder, { recursive: true });
        await outer.drop("below.hl7", hl7Message("A"));
        await eventually(() => connector.trouble?.includes("is its share mounted?"));
        mount.bind(shared);
        await outer.drop("again.hl7", hl7Message("B"));
        await eventually(() => world.intake.summary().length > 0);
        expect(world.intake.summary().map(({ name }) => name)).toEqual(["again.hl7"]);
      } finally {
        await connector.stop();
        unmount(shared);
      }
    }));

  test.each<[Step, string]>([
    ["claims-durable", "decided"],
    ["settled", "moved"],
  ])("and goes away (at the step %s) before a claimed file is %s does not make it forgotten", (step) =>
    withDropWorld(async (world) => {
      const shared = join(world.folder, "shared");
      await mkdir(shared);
      mount.bind(shared);
      let isAway = false;
      const steps = async (met: Step) => {
        if (met !== step || isAway) return;
        isAway = true;
        unmount(shared);
        for (const folder of Object.values(dropDirectories(shared))) await mkdir(folder, { recursive: true });
      };
      const outer = makeWorld(shared, []);
      const connector = world.hl7({ directories: dropDirectories(shared) }, { steps });
      try {
        await connector.start();
        await outer.drop("a.hl7", hl7Message("A"));
        await eventually(() => connector.trouble?.includes("is its share mounted?"));
        expect([...world.intake.rows.values()]).toMatchObject([{ name: "a.hl7", worker: 1 }]);
        mount.bind(shared);
        await eventually(() => [...world.intake.rows.values()].every(({ archived }) => archived));
        expect(world.intake.summary()).toMatchObject([{ name: "a.hl7", status: "taken" }]);
        expect((await outer.list("archive")).map((name) => name.slice(11))).toEqual(["a.hl7"]);
        expect(await outer.list("error")).toEqual([]);
        expect(world.intake.duplicates).toEqual([]);
      } finally {
        await connector.stop();
        unmount(shared);
      }
    }),
  );
});

describe("a file that may not be read", () => {
  /** Refuses to open dropped files until it is told otherwise. */
  const lockedOps = (code: string, isLocked: (path: string) => boolean) => ({
    openForReading: async (path: string | Buffer) => {
      if (isLocked(String(path))) throw systemError(code);
      return openForReading(path);
    },
  });

  test.each(["EACCES", "EPERM", "EBUSY", "ESTALE"])(
    "for a moment (%s) stays where it was dropped, holds up no other, and is taken then",
    (code) =>
      withDropWorld(async (world) => {
        let isLocked = true;
        const fileOps = lockedOps(code, (path) => isLocked && path.includes("late"));
        const connector = await world.start(world.hl7({}, { fileOps }));
        await world.drop("late.hl7", hl7Message("A"), 1);
        await world.drop("other.hl7", hl7Message("B"));
        await eventually(() => world.intake.summary().length === 1);
        await eventually(() => connector.warning?.includes(`can't be read yet, ${code} (FILE_UNREADABLE)`));
        expect(await world.list("in")).toEqual(["late.hl7"]);
        isLocked = false;
        await world.settled();
        expect(world.intake.summary().map(({ name }) => name)).toEqual(["other.hl7", "late.hl7"]);
        expect(await world.list("error")).toEqual([]);
      }),
  );

  test("right after it was taken is tried again, and then read", () =>
    withDropWorld(async (world) => {
      let refusals = 1;
      const fileOps = lockedOps(
        "EACCES",
        (path) => path.startsWith(world.directories.work) && refusals-- > 0,
      );
      await world.start(world.hl7({}, { fileOps }));
      await world.drop("a.hl7", hl7Message("A"));
      await world.settled();
      expect(await world.list("archive")).toHaveLength(1);
    }));

  test("for a minute is taken and refused", () =>
    withDropWorld(async (world) => {
      // A clock that runs a thousand times as fast.
      const clock = {
        now: () => systemClock.now(),
        monotonic: () => systemClock.monotonic() * 1_000,
        sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(Math.ceil(ms / 1_000), signal),
      };
      await world.start(world.hl7({}, { clock, fileOps: lockedOps("EACCES", () => true) }));
      await world.drop("a.hl7", hl7Message("A"));
      await world.settled();
      const report = (await world.list("error")).find((name) => name.endsWith(".error.txt"));
      expect(await world.read("error", report ?? "")).toContain("the file may not be read (EACCES)");
    }));
});

test("a folder that somebody made anew in the same place is the same to intake and results", () =>
  withDropWorld(async (world) => {
    const connector = await world.start(world.hl7());
    for (const key of ["in", "out", "work"] as const) {
      await rename(world.directories[key], `${world.directories[key]}-before`);
      await mkdir(world.directories[key]);
    }
    await world.drop("a.hl7", hl7Message("A"));
    await world.settled();
    await connector.deliver({ fileName: "PO-1_1.hl7", bytes: Buffer.from("MSH|result\r") });
    expect(await world.list("out")).toEqual(["PO-1_1.hl7"]);
  }));

describe("folders", () => {
  test("that are missing are made, and work is private", () =>
    withDropWorld(async (world) => {
      expect((await world.hl7().check()).every(({ level }) => level === undefined)).toBe(true);
      await world.start(world.hl7());
      expect(await world.hl7().check()).toEqual([
        { subject: expect.stringMatching(/^folders .*work/), detail: "can be written" },
      ]);
    }));

  test("one of which is a link or no folder stop the start, and check says which", () =>
    withDropWorld(async (world) => {
      await mkdir(join(world.folder, "elsewhere"));
      await symlink(join(world.folder, "elsewhere"), world.directories.archive);
      await writeFile(world.directories.error, "");
      await expect(world.hl7().start()).rejects.toMatchObject({
        code: "FILE_FOLDER_UNUSABLE",
        message: expect.stringMatching(/archive: is a symbolic link.*error: is not a folder/),
      });
      const wrong = (await world.hl7().check()).filter(({ level }) => level === "act");
      expect(wrong).toHaveLength(2);
    }));

  test.runIf(machineHas("linux"))("that lie on two file systems stop the start", () =>
    withDropWorld(async (world) => {
      const { dev } = statSync(world.folder);
      const places = ["/dev/shm", "/var/tmp"].filter((place) => statSync(place).dev !== dev);
      const work = join(places[0] ?? "no second file system", `cryobridge-${process.pid}`);
      try {
        const directories = { ...world.directories, work };
        await expect(world.hl7({ directories }).start()).rejects.toMatchObject({
          code: "FILE_FOLDER_UNUSABLE",
          message: expect.stringContaining("another file system"),
        });
      } finally {
        await rm(work, { recursive: true, force: true });
      }
    }),
  );

  test("that go away are distinguished from empty ones, and intake goes on when they are back", () =>
    withDropWorld(async (world) => {
      const connector = await world.start(world.hl7());
      const away = join(world.folder, "unmounted");
      await rename(world.directories.in, away);
      await eventually(() => connector.trouble?.includes("can't be reached"));
      await rename(away, world.directories.in);
      await world.drop("a.hl7", hl7Message("A"));
      await world.settled();
      await eventually(() => connector.trouble === undefined);
      expect(await world.list("archive")).toHaveLength(1);
    }));
});
