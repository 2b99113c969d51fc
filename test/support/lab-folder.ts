import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { withoutCode } from "./without-code.ts";

/** The folders of a lab with one HL7 and one CSV connector, named `hl7` and `csv`. */
export interface LabFolder {
  /** Drops a file as a well-behaved sender does: written beside, renamed in. */
  drop(connector: string, name: string, content: string | Buffer): Promise<void>;
  /** What stands in one of a connector's folders, by name; empty while the folder isn't there. */
  read(connector: string, role: "out" | "error"): Promise<Map<string, string>>;
}

/** The lab's side of a site whose connectors have their folders under `folder`. */
export function openLabFolder(folder: string): LabFolder {
  return {
    drop: async (connector, name, content) => {
      const inbox = join(folder, connector, "in");
      await mkdir(inbox, { recursive: true });
      const beside = join(folder, `.${connector}-${name}.part`);
      await writeFile(beside, content);
      await rename(beside, join(inbox, name));
    },
    read: async (connector, role) => {
      const outbox = join(folder, connector, role);
      const names = (await withoutCode("ENOENT", readdir(outbox))) ?? [];
      const shown = names.filter((name) => !name.startsWith(".")).sort();
      const files = shown.map(async (name) => [name, await readFile(join(outbox, name), "utf8")] as const);
      return new Map(await Promise.all(files));
    },
  };
}
