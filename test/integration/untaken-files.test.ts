import { mkdir, readdir, readFile, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { openConsole } from "../../src/app/console.ts";
import { systemClock } from "../../src/core/clock.ts";
import { eventually } from "../support/eventually.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

const CSV =
  "order_number,operation,facility,subject_code,first_name,last_name,date_of_birth,container_label\n";

interface Shown {
  readonly attention: readonly {
    readonly level: string;
    readonly what: string;
    readonly hint: string | null;
  }[];
  readonly untakenFiles: readonly {
    readonly reason: string;
    readonly count: number;
    readonly since: string;
  }[];
}

/** A daemon with its console whose drop folders report what isn't taken for a second. */
async function withShown(
  marker: string | undefined,
  body: (
    look: () => Promise<Shown>,
    inbox: string,
    metrics: () => Promise<string>,
    site: Site,
  ) => Promise<void>,
): Promise<void> {
  await withSite({}, async (site) => {
    const connectors = [
      { name: "hl7", type: "hl7-drop", directory: join(site.folder, "hl7") },
      {
        ...{ name: "csv", type: "csv-drop", directory: join(site.folder, "csv"), stableFor: "300ms" },
        // Names without a dot are none of the lab's.
        ...{
          files: "*.*",
          scanInterval: "50ms",
          alertAfter: "1s",
          ...(marker === undefined ? {} : { marker }),
        },
      },
    ];
    const config = { ...parse(await readFile(site.configFile, "utf8")), connectors };
    await writeFile(site.configFile, stringify(config));
    const daemon = await site.start();
    const { url, close } = await openConsole(daemon, { version: "0", logger: silent, clock: systemClock });
    try {
      const look = async () => (await (await fetch(`${url}/api/status`)).json()) as Shown;
      const metrics = async () => (await fetch(`${url}/metrics`)).text();
      await body(look, join(site.folder, "csv/in"), metrics, site);
    } finally {
      await close();
      await daemon.stop();
    }
  });
}

const countsOf = ({ untakenFiles }: Shown) =>
  Object.fromEntries(untakenFiles.map(({ reason, count }) => [reason, count]));

describe("what lies in a drop folder and is not taken", () => {
  test("by its name is shown with its reason once it has been there for long, and no more when it is taken", () =>
    withShown(undefined, async (look, inbox, metrics) => {
      const names = [
        "list.csv.part",
        ".hidden.csv",
        "list.csv~",
        "LIST.TMP",
        "a.filepart",
        "Müller.crdownload",
        "notes",
      ];
      for (const name of names) await writeFile(join(inbox, name), CSV);
      await mkdir(join(inbox, ".snapshot"));
      await mkdir(join(inbox, "upload.part"));
      const shown = await eventually(
        async () => ((await look()).untakenFiles.length > 1 ? look() : undefined),
        {
          what: "the files being shown",
        },
      );
      expect(countsOf(shown)).toEqual({ name: names.length, folder: 1 });
      expect(shown.attention.filter(({ level }) => level === "act").map(({ what }) => what)).toContain(
        "in the drop folder of connector csv, 1 folder lies there, and nothing in it is taken",
      );
      const item = shown.attention.find(({ what }) => what.includes("never taken by name"));
      expect(item).toMatchObject({
        level: "look",
        hint: expect.stringContaining("rename each file once it is whole"),
      });
      expect(item?.what).toContain(
        "in the drop folder of connector csv, 7 files are never taken by name: a dot at the beginning, or an ending such as .tmp",
      );
      expect(JSON.stringify(shown)).not.toContain("Müller");
      expect(await metrics()).toContain('cryobridge_dropped_files_untaken{connector="csv",reason="name"} 7');
      expect(await metrics()).toMatch(
        /cryobridge_dropped_file_untaken_age_seconds\{connector="csv",reason="name"\} [1-9]/,
      );
      for (const name of [...names, "upload.part"]) await rm(join(inbox, name), { recursive: true });
      await eventually(async () => (await look()).untakenFiles.length === 0, { what: "nothing being shown" });
      expect(await metrics()).not.toContain("cryobridge_dropped_files_untaken{");
    }));

  test("for want of its marker needs a person, and so does a marker without its file", () =>
    withShown(".ok", async (look, inbox) => {
      await writeFile(join(inbox, "a.csv"), CSV);
      await writeFile(join(inbox, "b.csv"), CSV);
      await symlink("nowhere", join(inbox, "link.csv"));
      await writeFile(join(inbox, "gone.csv.ok"), "");
      const shown = await eventually(
        async () => {
          const seen = await look();
          return seen.untakenFiles.length === 2 ? seen : undefined;
        },
        { what: "both being shown" },
      );
      expect(countsOf(shown)).toEqual({ marker: 3, lone_marker: 1 });
      const whats = shown.attention.filter(({ level }) => level === "act").map(({ what }) => what);
      expect(whats).toEqual(
        expect.arrayContaining([
          "in the drop folder of connector csv, 3 files wait for their markers (NAME.EXT.ok for NAME.EXT)",
          "in the drop folder of connector csv, 1 marker has no file (NAME.EXT.ok for NAME.EXT)",
        ]),
      );
      await writeFile(join(inbox, "gone.csv"), CSV);
      await rename(join(inbox, "a.csv"), join(inbox, "c.csv"));
      for (const name of ["b.csv", "c.csv", "link.csv"]) await writeFile(join(inbox, `${name}.ok`), "");
      await eventually(async () => (await look()).untakenFiles.length === 0, { what: "nothing being shown" });
      await eventually(async () => (await readdir(inbox)).length === 0, { what: "everything being taken" });
    }));

  test("for want of a marker of the other form is shown with the setting for that form", () =>
    withShown(".ok", async (look, inbox) => {
      await writeFile(join(inbox, "a.csv"), CSV);
      await writeFile(join(inbox, "a.ok"), "");
      const shown = await eventually(
        async () => ((await look()).untakenFiles.length === 2 ? look() : undefined),
        { what: "both being shown" },
      );
      expect(countsOf(shown)).toEqual({ marker: 1, lone_marker: 1 });
      expect(shown.attention.map(({ hint }) => hint)).toContainEqual(
        expect.stringContaining(
          'Where it writes NAME.ok for NAME.EXT, set marker: "{stem}.ok" for this connector.',
        ),
      );
    }));

  test("since it keeps changing is shown", () =>
    withShown(undefined, async (look, inbox) => {
      const path = join(inbox, "endless.csv");
      await writeFile(path, CSV);
      const writer = setInterval(() => void utimes(path, new Date(), new Date()).catch(() => undefined), 40);
      try {
        const shown = await eventually(
          async () => {
            const seen = await look();
            return seen.untakenFiles.length === 1 ? seen : undefined;
          },
          { what: "the file being shown" },
        );
        expect(countsOf(shown)).toEqual({ changing: 1 });
        expect(shown.attention.map(({ what }) => what)).toContain(
          "in the drop folder of connector csv, 1 file keeps changing, and can't be taken before it rests",
        );
      } finally {
        clearInterval(writer);
      }
      await eventually(async () => (await readdir(inbox)).length === 0, { what: "the file being taken" });
    }));
});
