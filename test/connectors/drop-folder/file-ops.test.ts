import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { publishWhole, systemFileOps } from "../../../src/connectors/drop-folder/file-ops.ts";
import { withFolder } from "../../support/with-folder.ts";

const noLinks = () => Promise.reject(Object.assign(new Error("no links"), { code: "ENOTSUP" }));
const WITHOUT_LINKS = { ...systemFileOps, link: noLinks };

describe("publishing where there are no links", () => {
  test("renames, and never over another file", () =>
    withFolder(async (folder) => {
      const from = join(folder, "from");
      const final = join(folder, "a.hl7");
      await writeFile(from, "ours");
      expect(await publishWhole(WITHOUT_LINKS, from, final)).toBe("published");
      await writeFile(from, "later");
      expect(await publishWhole(WITHOUT_LINKS, from, final)).toBe("taken");
      expect(await readFile(final, "utf8")).toBe("ours");
    }));
});
