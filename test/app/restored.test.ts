import { join } from "node:path";
import { expect, test } from "vitest";
import { openEpoch } from "../../src/app/restored.ts";
import type { Config } from "../../src/config/config.ts";
import { systemClock } from "../../src/core/clock.ts";
import { findRestored } from "../../src/ledger/restored/restore.ts";
import { joinWorkers, type Membership } from "../../src/ledger/workers/membership.ts";
import { withFolder } from "../support/with-folder.ts";
import { silent, type TestLedger, withLedger } from "../support/with-ledger.ts";

const enter = ({ connection, pool }: TestLedger, name: string): Promise<Membership> =>
  joinWorkers({
    connection: { ...connection, application_name: name },
    ...{ pool, clock: systemClock, logger: silent },
    self: { name, host: "here", pid: 1, version: "1.0.0", roles: ["worker"], connectors: [] },
    onDrain: () => undefined,
  });

const open = (worker: Membership, { pool }: TestLedger, epochFile: string) =>
  openEpoch({ epochFile } as Config, {
    ...{ pool, logger: silent, worker },
    onWentBack: (failure) => {
      throw failure;
    },
  });

test("a worker that starts while the first one of a new ledger has still to write its epoch file takes it for no older copy", () =>
  withFolder((folder) =>
    withLedger(async (ledger) => {
      const first = await enter(ledger, "first");
      const second = await enter(ledger, "second");
      try {
        // The number is up, and the file can't be written: the moment between the two lasts.
        await expect(open(first, ledger, join(folder, "missing", "first.epoch"))).rejects.toMatchObject({
          code: "LEDGER_EPOCH_UNUSABLE",
        });
        await open(second, ledger, join(folder, "second.epoch"));
        expect(await findRestored(ledger.pool)).toBeUndefined();
      } finally {
        await Promise.all([first.leave(), second.leave()]);
      }
    }),
  ));
