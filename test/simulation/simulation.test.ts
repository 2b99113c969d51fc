import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { MUTANTS } from "../mutants/mutants.ts";
import { dropDatabase, newName, runOnServer } from "../support/with-database.ts";
import { FOUND } from "./found.ts";
import { HELD } from "./held.ts";
import { Histories } from "./history/histories.ts";
import { SimulatedLedger } from "./ledger/ledger.ts";
import { newTally, planOf, runSeed, tell } from "./run.ts";

/** So many histories in the suite; `npm run simulate` runs as many as wanted. */
const SEEDS = 10;

const database = newName();
let histories: Histories;

beforeAll(async () => {
  const server = inject("postgres");
  await runOnServer(server, `create database ${database} template template0`);
  histories = new Histories(await SimulatedLedger.open({ ...server, database }));
});

afterAll(async () => {
  await histories.close();
  await dropDatabase(inject("postgres"), database);
});

test("nothing is lost, doubled, invented or reported wrongly in simulated histories", async () => {
  const tally = newTally();
  for (let seed = 1; seed <= SEEDS; seed += 1) await runSeed(histories, seed, tally, 0);
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
