import { execFileSync } from "node:child_process";
import {
  appendFile,
  link,
  mkdir,
  open,
  readFile,
  rename,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { type Clock, systemClock } from "../../../src/core/clock.ts";
import { eventually } from "../../support/eventually.ts";
import { machineHas } from "../../support/needs.ts";
import { hl7Message, withDropWorld } from "../drop-world.ts";
import type { Step } from "../steps.ts";

/** A writer that is slow by the connector's clock, whatever the machine is: that goes on as the writer says. */
function slowWriter() {
  let aheadMs = 0;
  let isWriting = true;
  const startedMs = systemClock.monotonic();
  const clock: Clock = {
    ...systemClock,
    monotonic: () => (isWriting ? startedMs : systemClock.monotonic()) + aheadMs,
  };
  const write = async (length: number, part: (from: number, to: number) => Promise<unknown>) => {
    for (let from = 0; from < length; from += 16) {
      await part(from, Math.min(from + 16, length));
      aheadMs += 40;
      await systemClock.sleep(20);
    }
    isWriting = false;
  };
  return { clock, write };
}

const DAY = /^\d{4}-\d\d-\d\d\//;

describe("a file in a drop folder", () => {
  test("is committed message by message and then lies in the archive of its day, unchanged", () =>
    withDropWorld(async (world) => {
      await world.start(world.hl7());
      const content = hl7Message("A") + hl7Message("B");
      await world.drop("orders.hl7", content);
      await world.settled();
      const [archived = ""] = await world.list("archive");
      expect(archived).toMatch(DAY);
      expect(archived.slice(11)).toBe("orders.hl7");
      expect(await world.read("archive", archived)).toBe(content);
      const [file] = world.intake.summary();
      expect(file?.status).toBe("taken");
      expect(file?.messages.map((message) => message.raw)).toEqual([hl7Message("A"), hl7Message("B")]);
      expect(await world.list("error")).toEqual([]);
    }));

  test("is left alone while its name says that it is not done, or is hidden", () =>
    withDropWorld(async (world) => {
      await world.start(world.hl7());
      const names = [".hidden", "a.tmp", "b.part", "c.filepart", "d.crdownload", "e~", "F.TMP"];
      for (const name of names) await world.drop(name, hl7Message(name));
      await world.drop("last.hl7", hl7Message("L"));
      await eventually(() => world.intake.summary().some((file) => file.status === "taken"));
      expect(await world.list("in")).toEqual([...names].sort());
      expect(world.intake.summary().map((file) => file.name)).toEqual(["last.hl7"]);
    }));

  test("is not taken while it grows, however slowly, and is taken whole afterwards", () =>
    withDropWorld(async (world) => {
      const { clock, write } = slowWriter();
      await world.start(world.hl7({ stableForMs: 150 }, { clock }));
      const path = join(world.directories.in, "slow.hl7");
      await writeFile(path, "");
      const content = hl7Message("S1") + hl7Message("S2");
      await write(content.length, (from, to) => appendFile(path, content.slice(from, to)));
      await world.settled();
      expect(
        world.intake
          .summary()[0]
          ?.messages.map((message) => message.raw)
          .join(""),
      ).toBe(content);
      expect(world.intake.summary()).toHaveLength(1);
    }));

  test("is not taken for whole because its final size is there from the first moment", () =>
    withDropWorld(async (world) => {
      const { clock, write } = slowWriter();
      await world.start(world.hl7({ stableForMs: 150 }, { clock }));
      const content = Buffer.from(hl7Message("P1") + hl7Message("P2"));
      const handle = await open(join(world.directories.in, "samba.hl7"), "w");
      await handle.truncate(content.length);
      await write(content.length, (from, to) => handle.write(content, from, to - from, from));
      await handle.close();
      await world.settled();
      expect(world.intake.summary().map((file) => file.status)).toEqual(["taken"]);
      expect(world.intake.summary()[0]?.messages).toHaveLength(2);
    }));

  test("that its writer still changes after it was claimed is read again once it rests", () =>
    withDropWorld(async (world) => {
      const path = join(world.directories.in, "open.hl7");
      let handle: Awaited<ReturnType<typeof open>> | undefined;
      const steps = async (step: string) => {
        if (step !== "read" || !handle) return;
        // Bytes that arrive after the file was read: what is committed from it is not all of it.
        await handle.write(hl7Message("H2"));
        await handle.close();
        handle = undefined;
      };
      const connector = world.hl7({}, { steps });
      await mkdir(world.directories.in, { recursive: true });
      handle = await open(path, "a");
      await handle.write(hl7Message("H1"));
      await world.start(connector);
      await world.settled();
      const [archived = ""] = await world.list("archive");
      expect(await world.read("archive", archived)).toBe(hl7Message("H1") + hl7Message("H2"));
      expect(world.intake.summary().at(-1)?.messages).toHaveLength(2);
      expect(world.intake.summary().at(-1)?.status).toBe("taken");
    }));

  test.each(["read", "accepted"] as const)(
    "of which a program sets the time alone while it is read, after the step %s, is taken nevertheless",
    (after) =>
      withDropWorld(async (world) => {
        let isTouched = false;
        const steps = async (step: Step) => {
          if (step !== after || isTouched) return;
          isTouched = true;
          const [name = ""] = (await world.list("work")).filter((each) => each.endsWith(".hl7"));
          await utimes(join(world.directories.work, name), new Date(0), new Date(0));
        };
        await world.start(world.hl7({}, { steps }));
        const content = hl7Message("A") + hl7Message("B");
        await world.drop("orders.hl7", content);
        await world.settled();
        expect(isTouched).toBe(true);
        expect(world.intake.summary()).toMatchObject([
          { status: "taken", messages: [{ raw: hl7Message("A") }, { raw: hl7Message("B") }] },
        ]);
        expect(await world.list("error")).toEqual([]);
        expect((await world.list("archive")).map((name) => name.slice(11))).toEqual(["orders.hl7"]);
      }),
  );

  test("that is replaced by another of its name while it is read is taken, and the other too", () =>
    withDropWorld(async (world) => {
      let isReplaced = false;
      const steps = async (step: string) => {
        if (step !== "read" || isReplaced) return;
        isReplaced = true;
        await world.drop("same.hl7", hl7Message("SECOND"));
      };
      await world.start(world.hl7({}, { steps }));
      await world.drop("same.hl7", hl7Message("FIRST"));
      await eventually(() => world.intake.summary().filter((file) => file.status === "taken").length === 2);
      await world.settled();
      const archived = await world.list("archive");
      expect(archived).toHaveLength(2);
      const contents = await Promise.all(archived.map((name) => world.read("archive", name)));
      expect(contents.sort()).toEqual([hl7Message("FIRST"), hl7Message("SECOND")]);
    }));

  test("goes in before a younger one, and by name among those of one age", () =>
    withDropWorld(async (world) => {
      await mkdir(world.directories.in, { recursive: true });
      await world.drop("b.hl7", hl7Message("1"), 5);
      await world.drop("a.hl7", hl7Message("2"), 5);
      await world.drop("z.hl7", hl7Message("3"), 9);
      await world.start(world.hl7());
      await world.settled();
      expect(world.intake.summary().map((file) => file.name)).toEqual(["z.hl7", "a.hl7", "b.hl7"]);
    }));

  test("with a marker set waits for its marker, which is removed", () =>
    withDropWorld(async (world) => {
      await world.start(world.hl7({ marker: ".ok", stableForMs: 60_000 }));
      await world.drop("waits.hl7", hl7Message("W"));
      await world.drop("announced.hl7", hl7Message("T"));
      await world.drop("announced.hl7.ok", "");
      await eventually(() => world.intake.summary().length === 1);
      await eventually(async () => (await world.list("archive")).length === 1);
      expect(world.intake.summary()[0]?.name).toBe("announced.hl7");
      expect(await world.list("in")).toEqual(["waits.hl7"]);
    }));

  test("with a marker by stem waits for the marker without its extension", () =>
    withDropWorld(async (world) => {
      await world.start(world.hl7({ marker: "{stem}.ok", stableForMs: 60_000 }));
      await world.drop("waits.txt", hl7Message("W"));
      await world.drop("waits.txt.ok", "");
      for (const name of ["day.1.txt", "day.1.hl7", "bare"]) await world.drop(name, hl7Message(name));
      for (const name of ["day.1.ok", "bare.ok"]) await world.drop(name, "");
      await eventually(async () => (await world.list("archive")).length === 3);
      expect(
        world.intake
          .summary()
          .map(({ name }) => name)
          .sort(),
      ).toEqual(["bare", "day.1.hl7", "day.1.txt"]);
      expect(await world.list("in")).toEqual(["waits.txt", "waits.txt.ok"]);
    }));

  test("with a marker left over from before the start has to rest like any other", () =>
    withDropWorld(async (world) => {
      await mkdir(world.directories.in, { recursive: true });
      await world.drop("old.hl7", hl7Message("O"));
      await world.drop("old.hl7.ok", "");
      await world.start(world.hl7({ marker: ".ok" }));
      await world.settled();
      expect(world.intake.summary().map((file) => file.status)).toEqual(["taken"]);
    }));

  test("keeps its bytes when its name is no text, and gets a harmless name", () =>
    withDropWorld(async (world) => {
      await mkdir(world.directories.in, { recursive: true });
      const name = Buffer.concat([
        Buffer.from(`${world.directories.in}/a\n\x1b[2J`),
        Buffer.from([0xff, 0xfe]),
      ]);
      await writeFile(name, hl7Message("N"));
      await world.start(world.hl7());
      await world.settled();
      const [archived = ""] = await world.list("archive");
      expect(archived.slice(11)).toMatch(/^a__\[2J__~[0-9a-f]{8}$/);
    }));
});

describe("a duplicate", () => {
  test("under another name is reported, archived, and not taken again", () =>
    withDropWorld(async (world) => {
      await world.start(world.hl7());
      await world.drop("first.hl7", hl7Message("A"));
      await world.settled();
      await world.drop("again.hl7", hl7Message("A"));
      await world.settled();
      expect(world.intake.summary()).toHaveLength(1);
      const archived = (await world.list("archive")).map((name) => name.slice(11));
      expect(archived.sort()).toEqual(["again.hl7", "first.hl7"]);
      expect(await world.list("error")).toEqual(["again.hl7.duplicate.json", "again.hl7.duplicate.txt"]);
      const text = await world.read("error", "again.hl7.duplicate.txt");
      expect(text).toMatch(
        /as first\.hl7\.\nWhat to do: {2}Nothing, if .* new order numbers\. .*\nCode: {8}FILE_DUPLICATE\n/,
      );
      expect(JSON.parse(await world.read("error", "again.hl7.duplicate.json")).duplicateOf).toMatchObject({
        ...{ file: "first.hl7", code: "FILE_DUPLICATE" },
        hint: expect.stringContaining("Nothing, if the file was sent twice by mistake."),
      });
    }));
});

describe("a refused file", () => {
  test("lies in the error folder with a report for people and one for programs", () =>
    withDropWorld(async (world) => {
      await world.start(world.hl7());
      await world.drop("bad.hl7", hl7Message("A", "REFUSE"));
      await world.settled();
      expect(await world.list("error")).toEqual(["bad.hl7", "bad.hl7.error.json", "bad.hl7.error.txt"]);
      expect(await world.list("archive")).toEqual([]);
      const report = JSON.parse(await world.read("error", "bad.hl7.error.json"));
      expect(report).toMatchObject({
        file: "bad.hl7",
        connector: "lims",
        result: "refused",
        problems: [{ code: "HL7_STRUCTURE", place: "message 1", message: "expected another word" }],
      });
      expect(report.problems[0].hint).toBeTypeOf("string");
      expect(world.intake.summary()[0]?.status).toBe("refused");
    }));

  test("may be dropped again, and neither file nor report replaces the earlier ones", () =>
    withDropWorld(async (world) => {
      await world.start(world.hl7());
      for (let i = 0; i < 2; i++) {
        await world.drop("bad.hl7", hl7Message("A", "REFUSE"));
        await world.settled();
      }
      const names = await world.list("error");
      expect(names).toHaveLength(6);
      const again = names.find((name) => /^bad\.[0-9A-Z]{26}\.hl7$/.test(name));
      expect(names).toContain(`${again}.error.json`);
    }));

  test("of which a part was good is archived, with a report about the rest", () =>
    withDropWorld(async (world) => {
      await world.start(world.hl7());
      await world.drop("mixed.hl7", hl7Message("A") + hl7Message("B", "REFUSE"));
      await world.settled();
      expect((await world.list("archive")).map((name) => name.slice(11))).toEqual(["mixed.hl7"]);
      expect(await world.list("error")).toEqual(["mixed.hl7.error.json", "mixed.hl7.error.txt"]);
      const report = JSON.parse(await world.read("error", "mixed.hl7.error.json"));
      expect(report).toMatchObject({ result: "partly-refused", counts: { accepted: 1, refused: 1 } });
      expect(report.problems).toHaveLength(1);
    }));

  test("is too large when it has more bytes than the connector takes", () =>
    withDropWorld(async (world) => {
      await world.start(world.hl7({ maxBytes: 50 }));
      await world.drop("big.hl7", hl7Message("A"));
      await world.settled();
      expect(await world.read("error", "big.hl7.error.txt")).toContain("at most 50");
      expect(world.intake.summary()).toEqual([{ name: "big.hl7", status: "refused", messages: [] }]);
    }));

  test("shows nothing that could command a terminal", () =>
    withDropWorld(async (world) => {
      await world.start(world.hl7());
      await world.drop("empty.hl7", "");
      await world.settled();
      // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
      expect(await world.read("error", "empty.hl7.error.txt")).not.toMatch(/[\x00-\x09\x0b-\x1f]/);
    }));
});

describe.runIf(machineHas("linux"))("what is no ordinary file", () => {
  test("is refused without ever being waited for, and ordinary files go on", () =>
    withDropWorld(async (world) => {
      await mkdir(world.directories.in, { recursive: true });
      const path = (name: string) => join(world.directories.in, name);
      for (let i = 0; i < 5; i++) execFileSync("mkfifo", [path(`pipe${i}`)]);
      await writeFile(join(world.folder, "target"), hl7Message("T"));
      await symlink(join(world.folder, "target"), path("soft.hl7"));
      await link(join(world.folder, "target"), path("hard.hl7"));
      await mkdir(path("folder.hl7"));
      await world.start(world.hl7());
      await world.drop("good.hl7", hl7Message("G"));
      await world.settled();
      const taken = world.intake.summary().filter(({ status }) => status !== "refused");
      expect(taken.map(({ name }) => name)).toEqual(["good.hl7"]);
      const refused = ["pipe0", "pipe1", "pipe2", "pipe3", "pipe4", "soft.hl7", "hard.hl7", "folder.hl7"];
      const known = world.intake.summary().filter(({ status }) => status === "refused");
      expect(known.map(({ name }) => name).sort()).toEqual([...refused].sort());
      for (const name of refused) {
        const report = JSON.parse(await world.read("error", `${name}.error.json`));
        expect(report.problems[0].code).toBe("FILE_NOT_REGULAR");
      }
      expect(await readFile(join(world.folder, "target"), "utf8")).toBe(hl7Message("T"));
    }));

  test("may be a file that its writer published by a hard link and then unlinked", () =>
    withDropWorld(async (world) => {
      await world.start(world.hl7());
      const temporary = join(world.folder, "x.new");
      await writeFile(temporary, hl7Message("X"));
      await link(temporary, join(world.directories.in, "x.hl7"));
      await rename(temporary, join(world.folder, "y.new"));
      execFileSync("rm", [join(world.folder, "y.new")]);
      await world.settled();
      expect(world.intake.summary().map((file) => file.status)).toEqual(["taken"]);
    }));
});
