import { join } from "node:path";
import { expect, test } from "vitest";
import { hasLedger } from "../../src/cli/open.ts";
import { acquireDaemonLock } from "../../src/ledger/embedded/lock.ts";
import { hangFolder, impatientClock } from "../support/hanging-folder.ts";
import { withFolder } from "../support/with-folder.ts";

test("a data folder that hangs is said to, by the start and by commands", ({ skip }) =>
  withFolder(async (folder) => {
    const hanging = await hangFolder(join(folder, "share"));
    if (!hanging) return skip("this user may mount nothing");
    try {
      const dataDir = join(folder, "share/data");
      const refused = { code: "LEDGER_FOLDER_UNUSABLE", message: `${dataDir} does not answer` };
      await expect(acquireDaemonLock(dataDir, impatientClock)).rejects.toMatchObject(refused);
      await expect(hasLedger({ dataDir, database: {} }, impatientClock)).rejects.toMatchObject(refused);
    } finally {
      await hanging.end();
    }
  }));
