import { join } from "node:path";
import type pg from "pg";
import { expect, test } from "vitest";
import { findLedgerEpoch } from "../../src/ledger/restored/epoch.ts";
import { writeEpochFile } from "../../src/ledger/restored/epoch-file.ts";
import { presumeAll } from "../support/calls.ts";
import { csvMessage, withLab } from "./with-lab.ts";

const RESTORED = "update ledger set restored_at = now(), restored_by = 'x', forgotten_since = now()";
const PARKED =
  "update orders set state = 'parked', failure_code = 'SUBMIT_UNCERTAIN', failure_text = 'x' where id = 2";
const COMMAND = ["orders", "release-after-restore", "--reason", "all was sent again"];

const actionsOf = async (pool: pg.Pool) =>
  (await pool.query<{ action: string }>("select action from audit order by id")).rows.map(
    ({ action }) => action,
  );

test("asks once, with what may be at the service already and what nothing guards after it", () =>
  withLab(async ({ cli, take, pool }) => {
    await take("bench", [csvMessage(1), csvMessage(2, { subject_code: "S-2" })]);
    await pool.query(RESTORED);
    await presumeAll(pool, "o.id = 1");
    await pool.query(PARKED);
    const asked = await cli(COMMAND);
    expect(asked.status).toBe(2);
    expect(asked.stderr).toMatch(
      /1 open order was not compared .* 1 parked order may be at the service already/s,
    );
    expect(await actionsOf(pool)).toEqual([]);
    const { status, stdout } = await cli([...COMMAND, "--yes", "--json"]);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      results: [{ id: "ledger", isDone: true, text: expect.stringContaining("(1 was not compared)") }],
    });
    expect(await actionsOf(pool)).toEqual(["release-after-restore"]);
  }));

test("of a ledger that was not restored asks nothing, and does nothing", () =>
  withLab(async ({ cli, take, pool }) => {
    await take("bench", [csvMessage(1), csvMessage(2, { subject_code: "S-2" })]);
    await pool.query(PARKED);
    const { status, stdout } = await cli(COMMAND);
    expect({ status, stdout }).toEqual({
      status: 1,
      stdout: "✗ the ledger is not known to have been restored; nothing was done\n",
    });
    expect(await actionsOf(pool)).toEqual([]);
  }));

test("nothing is done to an order of an older copy that no daemon has noticed yet", () =>
  withLab(async ({ cli, take, pool, folder }) => {
    await take("bench", [csvMessage(1)]);
    const epoch = await findLedgerEpoch(pool);
    const file = join(folder, "data.epoch");
    await writeEpochFile(file, { ...epoch, epoch: epoch.epoch + 1 }, { isFirst: true });
    const act = ["orders", "cancel", "o1", "--reason", "ordered twice"];
    const { status, stderr } = await cli(act);
    expect(status).toBe(4);
    expect(stderr).toMatch(
      /older copy: it is at 0, and its epoch file at 1; nothing was done.*Start the daemon/s,
    );
    const release = await cli(["messages", "release", "--code", "WEST"]);
    expect(release).toMatchObject({ status: 4, stderr: expect.stringContaining("older copy") });
    expect(await actionsOf(pool)).toEqual([]);
    // Looking is no act.
    expect((await cli(["orders", "show", "o1"])).status).toBe(0);
    await writeEpochFile(file, epoch, { isFirst: true });
    expect((await cli(act)).status).toBe(0);
  }));
