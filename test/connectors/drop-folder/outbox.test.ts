import { readdirSync, readFileSync } from "node:fs";
import { utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { withDropWorld } from "../drop-world.ts";
import type { Step } from "../steps.ts";

const FILE = { fileName: "PO-1_00000A1.hl7", bytes: Buffer.from("MSH|result\r".repeat(50_000)) };

describe("a result", () => {
  test("is never seen half: at every step its name is absent or holds all of it", () =>
    withDropWorld(async (world) => {
      const seen: string[] = [];
      const steps = (step: Step) => {
        const names = readdirSync(world.directories.out).filter((name) => !name.startsWith("."));
        for (const name of names) {
          expect(readFileSync(join(world.directories.out, name)).equals(FILE.bytes)).toBe(true);
        }
        seen.push(`${step} ${names.length}`);
      };
      const connector = await world.start(world.hl7({}, { steps }));
      await connector.deliver(FILE);
      expect(seen).toEqual(["out-written 0", "out-linked 1", "out-unlinked 1"]);
      expect(await world.list("out")).toEqual([FILE.fileName]);
    }));

  test("delivered again changes nothing", () =>
    withDropWorld(async (world) => {
      const connector = await world.start(world.hl7());
      await connector.deliver(FILE);
      await connector.deliver(FILE);
      expect(await world.list("out")).toEqual([FILE.fileName]);
    }));

  test("stays out of the folder once another daemon sends what this one had", () =>
    withDropWorld(async (world) => {
      const connector = await world.start(world.hl7());
      await expect(connector.deliver({ ...FILE, mayLeave: () => false })).rejects.toMatchObject({
        code: "LEDGER_CONTENDED",
      });
      expect(await world.list("out")).toEqual([]);
    }));

  test("never replaces a file of its name with other content", () =>
    withDropWorld(async (world) => {
      const connector = await world.start(world.hl7());
      await writeFile(join(world.directories.out, FILE.fileName), "something else");
      await expect(connector.deliver(FILE)).rejects.toMatchObject({
        code: "FILE_NAME_TAKEN",
        class: "permanent",
      });
      expect(await world.read("out", FILE.fileName)).toBe("something else");
      expect(await world.list("out")).toEqual([FILE.fileName]);
    }));

  test.each(["EPERM", "ENOTSUP", "EXDEV"])("where links fail with %s is renamed or tried later", (code) =>
    withDropWorld(async (world) => {
      const link = () => Promise.reject(Object.assign(new Error("no links here"), { code }));
      const connector = await world.start(world.hl7({}, { fileOps: { link } }));
      if (code === "EXDEV") {
        await expect(connector.deliver(FILE)).rejects.toMatchObject({ class: "transient" });
        expect(await world.list("out")).toEqual([]);
        return;
      }
      await connector.deliver(FILE);
      await connector.deliver(FILE);
      expect(await world.list("out")).toEqual([FILE.fileName]);
    }),
  );

  test("is to be tried later when the folder can't be written", () =>
    withDropWorld(async (world) => {
      const syncFolder = async (folder: string) => {
        if (folder === world.directories.out) throw Object.assign(new Error("full"), { code: "ENOSPC" });
      };
      const connector = await world.start(world.hl7({}, { fileOps: { syncFolder } }));
      await expect(connector.deliver(FILE)).rejects.toMatchObject({
        code: "FILE_SYSTEM_ERROR",
        class: "transient",
      });
    }));

  test.each(["EILSEQ", "EACCES", "ENAMETOOLONG"])(
    "says that its name is in the way when only that fails (%s), and leaves nothing there",
    (code) =>
      withDropWorld(async (world) => {
        const link = async () => {
          throw Object.assign(new Error("no such name"), { code });
        };
        const connector = await world.start(world.hl7({}, { fileOps: { link } }));
        await expect(connector.deliver(FILE)).rejects.toMatchObject({
          code: "FILE_NOT_PLACED",
          class: "transient",
        });
        expect(await world.list("out")).toEqual([]);
      }),
  );

  test("never leaves the folder, whatever its name is made of", () =>
    withDropWorld(async (world) => {
      const connector = await world.start(world.hl7());
      const file = { fileName: "../../PO/1_A.hl7", bytes: Buffer.from("x") };
      await expect(connector.deliver(file)).rejects.toMatchObject({ code: "FILE_NOT_PLACED" });
      expect(await world.list("out")).toEqual([]);
    }));

  test("that a crash left half written is removed after an hour, and a fresh one is not", () =>
    withDropWorld(async (world) => {
      const first = world.hl7();
      await first.start();
      await first.stop();
      const old = join(world.directories.out, ".tmp-old");
      await writeFile(old, "half");
      await writeFile(join(world.directories.out, ".tmp-fresh"), "half");
      await utimes(old, new Date(0), new Date(0));
      await world.start(world.hl7());
      expect(await world.list("out")).toEqual([".tmp-fresh"]);
    }));
});

describe("the marker of a result", () => {
  const CSV = { fileName: "orders.results-1.csv", bytes: Buffer.from("a;b\r\n") };

  test.each([
    [".ok", "orders.results-1.csv.ok"],
    ["{stem}.ok", "orders.results-1.ok"],
  ])("%s is an empty file of its own name", (resultMarker, name) =>
    withDropWorld(async (world) => {
      const connector = await world.start(world.hl7({ resultMarker }));
      await connector.deliver(CSV);
      await connector.deliver(CSV);
      expect((await world.list("out")).sort()).toEqual([CSV.fileName, name].sort());
      expect(await world.read("out", name)).toBe("");
    }),
  );

  test("never stands before its result, which is durable by then", () =>
    withDropWorld(async (world) => {
      const seen: string[] = [];
      const note = (step: string) => {
        const names = readdirSync(world.directories.out).filter((name) => !name.startsWith("."));
        seen.push(`${step} ${names.map((name) => (name.endsWith(".ok") ? "marker" : "result")).join(" ")}`);
      };
      const syncFolder = async (folder: string) => {
        if (folder === world.directories.out) note("synced");
      };
      const connector = await world.start(
        world.hl7({ resultMarker: ".ok" }, { steps: note, fileOps: { syncFolder } }),
      );
      seen.length = 0;
      await connector.deliver(CSV);
      expect(seen).toEqual([
        "out-written ",
        "out-linked result",
        "out-unlinked result",
        "synced result",
        "out-written result",
        "out-linked result marker",
        "out-unlinked result marker",
        "synced result marker",
      ]);
    }));

  test.each<[Step, "result" | "marker"]>([
    ["out-written", "result"],
    ["out-linked", "result"],
    ["out-unlinked", "result"],
    ["out-written", "marker"],
    ["out-linked", "marker"],
    ["out-unlinked", "marker"],
  ])("is there in the end after a crash at %s of the %s", (crash, of) =>
    withDropWorld(async (world) => {
      let left = of === "result" ? 1 : 2;
      const steps = (step: Step) => {
        if (step !== crash || --left !== 0) return;
        throw new Error("the process is gone");
      };
      const connector = await world.start(world.hl7({ resultMarker: ".ok" }, { steps }));
      await expect(connector.deliver(CSV)).rejects.toMatchObject({ class: "transient" });
      await connector.deliver(CSV);
      expect(await world.list("out")).toEqual([CSV.fileName, `${CSV.fileName}.ok`]);
    }),
  );
});
