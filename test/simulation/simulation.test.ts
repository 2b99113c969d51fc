import { queryObjects } from "node:v8";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { inTransaction } from "../../src/ledger/database.ts";
import { MUTANTS } from "../mutants/mutants.ts";
import { dropDatabase, newName, runOnServer } from "../support/with-database.ts";
import { FOUND } from "./found.ts";
import { HELD } from "./held.ts";
import { Histories } from "./history/histories.ts";
import { SimulatedLedger } from "./ledger/ledger.ts";
import type { LedgerUser } from "./ledger/step.ts";
import { newTally, ofSeed, planOf, runChosen, tell } from "./run.ts";
import { World } from "./world.ts";

/** So many histories in the suite; `npm run simulate` runs as many as wanted. */
const SEEDS = 10;

const database = newName();
let ledger: SimulatedLedger;
let histories: Histories;

beforeAll(async () => {
  const server = inject("postgres");
  await runOnServer(server, `create database ${database} template template0`);
  ledger = await SimulatedLedger.open({ ...server, database });
  histories = new Histories(ledger);
});

afterAll(async () => {
  await histories.close();
  await dropDatabase(inject("postgres"), database);
});

test("nothing is lost, doubled, invented or reported wrongly in simulated histories", async () => {
  const tally = newTally();
  for (let seed = 1; seed <= SEEDS; seed += 1) await runChosen(histories, ofSeed(seed), tally, 0);
  expect(tally.failing.map(tell)).toEqual([]);
  expect(tally.histories).toBe(SEEDS);
});

test.each(FOUND)("does not happen again: $what", async ({ plan }) => {
  expect((await histories.run(plan)).troubles).toEqual([]);
});

test.each(HELD)("nothing goes wrong when $what", async ({ plan, fault }) => {
  expect((await histories.run(plan)).troubles).toEqual([]);
  expect(MUTANTS.map(({ name }) => name)).toContain(fault);
});

test("a seed gives the same history each time", async () => {
  const plan = planOf(1);
  const one = await histories.run(plan);
  const other = await histories.run(plan);
  expect(other.story).toEqual(one.story);
  expect(other.steps).toBe(one.steps);
});

test("nothing of a history is kept once the next one runs", async () => {
  const countKept = () => queryObjects(World, { format: "count" });
  await histories.run(planOf(1));
  const before = countKept();
  for (let seed = 1; seed <= 6; seed += 1) await histories.run(planOf(seed));
  expect(countKept()).toBeLessThanOrEqual(before);
});

/** A user of the ledger that nothing happens to. */
const USER: LedgerUser = {
  actor: { name: "daemon", state: "up" },
  application: "daemon",
  fateOf: () => "done",
  strikeAt: () => undefined,
};

test("a statement that fails where nothing is taken back is told, and the ledger can be asked after it", async () => {
  const world = new World(1);
  await ledger.begin(world, 1);
  try {
    const asked = ledger.poolOf(USER).query("select 1 / 0");
    const heard = expect(asked).rejects.toThrow("division by zero");
    await expect(world.run(world.now + 1_000)).rejects.toThrow(
      "a step does not end what failed in it: select 1 / 0",
    );
    await heard;
    expect(await ledger.ask("select 1 as one")).toEqual([{ one: 1 }]);
  } finally {
    await ledger.end();
  }
});

test("a transaction is kept though a part of it failed and was taken back to a savepoint", async () => {
  const world = new World(1);
  await ledger.begin(world, 1);
  try {
    const done = inTransaction(ledger.poolOf(USER), async (client) => {
      await client.query("insert into sim.sessions values (7, 'before', now())");
      await client.query("savepoint part");
      await expect(client.query("select 1 / 0")).rejects.toThrow("division by zero");
      await client.query("rollback to savepoint part");
      await client.query("release savepoint part");
    });
    await world.run(world.now + 1_000);
    await done;
    expect(await ledger.ask("select pid from sim.sessions")).toEqual([{ pid: 7 }]);
  } finally {
    await ledger.end();
  }
});
