import { readdir, readFile, rename, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pino } from "pino";
import { connectorsSchema } from "../../src/config/connector-schema.ts";
import { DropFolder } from "../../src/connectors/drop-folder/drop-folder.ts";
import type {
  DropDirectories,
  DropFolderDeps,
  DropFolderSettings,
  FileFormat,
} from "../../src/connectors/drop-folder/settings.ts";
import { type Hl7FileSettings, hl7FileFormat } from "../../src/connectors/hl7-drop/hl7-drop.ts";
import { systemClock } from "../../src/core/clock.ts";
import { eventually } from "../support/eventually.ts";
import { withFolder } from "../support/with-folder.ts";
import { isAnyInHand, JournalIntake } from "./journal-intake.ts";
import { type OnStep, withSteps } from "./steps.ts";

const [DEFAULTS] = connectorsSchema.parse([{ name: "lims", type: "hl7-drop", directory: "/drop" }]);
if (DEFAULTS?.type !== "hl7-drop") throw new TypeError("no drop folder");
const { maxBytes, alertAfterMs, folderMode } = DEFAULTS;

/** The schema's defaults, but fast enough for a test, and still two looks apart. */
export const QUICK = { alertAfterMs, folderMode, stableForMs: 30, scanIntervalMs: 15 } as const;

/** What a connector of a test has of its own. */
export type OwnDeps = Partial<DropFolderDeps> & { readonly steps?: OnStep | undefined };

/** A drop folder with an intake to it, and what tests look at. */
export interface DropWorld {
  readonly folder: string;
  readonly directories: DropDirectories;
  readonly journalPath: string;
  readonly intake: JournalIntake;
  /** What its connectors are given, beside or in the place of what is a test's own. */
  deps(own?: OwnDeps): DropFolderDeps;
  /** Puts a whole file in at once, as careful senders do. `age` orders files dropped together: higher is older. */
  drop(name: string, content: string | Buffer, age?: number): Promise<void>;
  /** Starts a connector that ends with the test. */
  start(connector: DropFolder): Promise<DropFolder>;
  hl7(
    settings?: Partial<DropFolderSettings & Hl7FileSettings & Pick<FileFormat, "resultMarker">>,
    deps?: OwnDeps,
  ): DropFolder;
  /** Waits until nothing is left in `in` and `work`, or the test has seen enough. */
  settled(isEnough?: () => boolean): Promise<void>;
  list(folder: keyof DropDirectories): Promise<string[]>;
  read(folder: keyof DropDirectories, name: string): Promise<string>;
}

/** The folders of a connector under one. */
export function dropDirectories(folder: string): DropDirectories {
  const at = (name: string) => join(folder, name);
  return { in: at("in"), out: at("out"), archive: at("archive"), error: at("error"), work: at("work") };
}

/** Gives a test a drop folder and stops what it started. */
export async function withDropWorld(test: (world: DropWorld) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const started: DropFolder[] = [];
    const world = makeWorld(folder, started);
    try {
      await test(world);
    } finally {
      for (const connector of started) await connector.stop();
    }
  });
}

/** The same folder seen by another run, without stopping anything. */
export function makeWorld(
  folder: string,
  started: DropFolder[],
  journalPath = join(folder, "journal"),
): DropWorld {
  const directories = dropDirectories(folder);
  const intake = new JournalIntake(journalPath);
  const common = { intake, dropped: intake, clock: systemClock, logger: pino({ level: "silent" }) };
  const deps = ({ steps, ...own }: OwnDeps = {}, folders = directories) => {
    const dropped = own.intake instanceof JournalIntake ? own.intake : intake;
    const given = { ...common, dropped, ...own };
    return steps ? withSteps(given, folders, steps) : given;
  };
  const list = (key: keyof DropDirectories) => listDeep(directories[key]);
  return {
    folder,
    directories,
    journalPath,
    intake,
    deps,
    list,
    drop: async (name, content, age = 0) => {
      const temporary = join(folder, `.${name}.new`);
      await writeFile(temporary, content);
      const at = new Date(Date.UTC(2026, 0, 2) - age * 60_000);
      await utimes(temporary, at, at);
      await rename(temporary, join(directories.in, name));
    },
    start: async (connector) => {
      started.push(connector);
      await connector.start();
      return connector;
    },
    hl7: (settings, own) =>
      new DropFolder(
        () => ({ ...hl7FileFormat({ maxBytes, ...settings }), resultMarker: settings?.resultMarker }),
        { name: "lims", directories, ...QUICK, ...settings },
        deps(own, settings?.directories),
      ),
    settled: async (isEnough = () => false) => {
      const isEmpty = async () =>
        (await list("in")).length === 0 && (await list("work")).length === 0 && !isAnyInHand(journalPath);
      await eventually(async () => isEnough() || (await isEmpty()), {
        what: "an empty drop folder",
      });
    },
    read: (key, name) => readFile(join(directories[key], name), "utf8"),
  };
}

/** An HL7 order with that control id; `note` may say REFUSE. */
export function hl7Message(controlId: string, note = ""): string {
  return `MSH|^~\\&|LAB|N|CB|S|20260101||ORM^O01|${controlId}|P|2.3\rPID|1||S-1\rNTE|1||${note}\r`;
}

/** Everything below a folder, folders left out, sorted. */
export async function listDeep(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => !entry.isDirectory());
  return files.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)).sort();
}
