import { mkdir, readdir, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { CarryOut } from "../../src/connectors/drop-folder/carry-out.ts";
import { ClaimIds, claimOf } from "../../src/connectors/drop-folder/claim.ts";
import { systemFileOps } from "../../src/connectors/drop-folder/file-ops.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { NotInHand } from "../../src/core/dropped-files.ts";
import { droppedFilesOf } from "../../src/ledger/messages/dropped-files.ts";
import { SURE_FOR_MS } from "../../src/ledger/workers/alive.ts";
import { joinWorkers } from "../../src/ledger/workers/membership.ts";
import { dropDirectories } from "../connectors/drop-world.ts";
import { withFolder } from "../support/with-folder.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

const FILES = 8;

test("a worker that stood still between two files moves and reports nothing more by what the ledger said before", () =>
  withLedger(({ pool, connection }) =>
    withFolder(async (folder) => {
      let aheadMs = 0;
      const clock: Clock = {
        ...systemClock,
        monotonic: () => systemClock.monotonic() + aheadMs,
        // No heartbeat comes between.
        sleep: () => new Promise(() => {}),
      };
      const self = { name: "a", host: "here", pid: 1, version: "1.0.0", roles: [], connectors: ["lims"] };
      const application_name = "still-mover";
      const member = await joinWorkers({
        ...{ connection: { ...connection, application_name }, pool, self, clock, logger: silent },
        onDrain: () => undefined,
      });
      const dropped = droppedFilesOf(pool, "CODE", member);
      const directories = dropDirectories(folder);
      await mkdir(directories.work);
      await mkdir(directories.error);
      const ids = new ClaimIds();
      const claims = Array.from({ length: FILES }, (_, i) =>
        claimOf(directories.work, ids.next(i), `${i}.hl7`),
      );
      for (const { path } of claims) await writeFile(path, "");
      const mayMove = await dropped.claim("lims", claims);
      const moved: string[] = [];
      const move = (how: "rename" | "link") => async (from: string | Buffer, to: string) => {
        moved.push(to);
        // As where the process was stopped, or the file server did not answer.
        aheadMs = SURE_FOR_MS;
        await systemFileOps[how](`${from}`, to);
      };
      const carryOut = new CarryOut({
        ...{ connector: "lims", directories, folderMode: 0o700, dropped, clock: systemClock },
        ops: { ...systemFileOps, rename: move("rename"), link: move("link") },
        assertFolders: async () => undefined,
      });
      const counts = { accepted: 0, duplicate: 0, refused: 1, ignored: 0, waiting: 0 };
      const report = { result: "refused", counts, problems: [], waiting: [], moreProblems: 0 } as const;
      const ends = await Promise.allSettled(
        claims.map((claim) => {
          const fate = { folder: "error", day: "2026-03-27", keptAs: claim.name, report } as const;
          return carryOut.carryOut(claim, { fate, mayMove });
        }),
      );
      await member.leave();
      expect(moved).toHaveLength(1);
      expect(ends.map((end) => end.status === "rejected" && end.reason)).toEqual(
        ends.map(() => expect.any(NotInHand)),
      );
      expect(await readdir(directories.error)).toHaveLength(1);
    }),
  ));
