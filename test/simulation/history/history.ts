import { inspect } from "node:util";
import type { LabOrder } from "../lab.ts";
import { type Judged, judgeService, judgeWords, type OrderEnd } from "../oracles.ts";
import type { Plan } from "../plan.ts";
import { OTHERS } from "../service.ts";
import { judgeTimes, type Life } from "../times.ts";
import { BEGINNING } from "../world.ts";
import { COVERED, LIVES, LIVES_IN_WORDS, OPEN, OPEN_IN_WORDS } from "./asked-of-ledger.ts";
import { Disturbances } from "./disturbances.ts";
import { Person } from "./person.ts";
import { type Given, Scene, type StrikeAt } from "./scene.ts";

/** Until when faults come, and how long it may take after that until all has ended, ms. */
const FAULTS_MS = 50_000;
const ENDS_WITHIN_MS = 3 * 3_600_000;
/** A person looks this often at first, and less often the longer it takes, ms. */
const FIRST_LOOK_MS = 5_000;

/** What came of a history. */
export interface HistoryEnd {
  /** What should not be; empty where all is as promised. */
  readonly troubles: readonly string[];
  readonly story: readonly string[];
  /** Which states, events, calls and faults it came by, and how often. */
  readonly covered: ReadonlyMap<string, number>;
  readonly steps: number;
  readonly simulatedMs: number;
}

/** One history: what its plan says happens, then what follows once nothing more goes wrong. */
export async function runHistory(plan: Plan, given: Given): Promise<HistoryEnd> {
  const { world } = given;
  const strikeAt: StrikeAt = (machine, text) => disturbances.strikeAt(machine, text);
  const scene = new Scene(plan, given, strikeAt);
  const person = new Person(scene);
  const disturbances = new Disturbances(scene, person);
  if (plan.hasNamesake) scene.service.addNamesake(scene.orders[0]?.subject ?? "");
  for (const { what, order } of plan.others)
    if (what === "RETRIEVAL") scene.addStored(scene.orders[order % plan.orders.length] as LabOrder, OTHERS);
  for (const [index, { operation }] of plan.orders.entries()) {
    const order = scene.orders[index] as LabOrder;
    if (operation === "RETRIEVAL") scene.addStored(order, order.label);
  }
  for (const machine of scene.machines) machine.start();
  world.quiet = {
    since: () => Math.max(scene.ledger.changedAt, scene.wokenAt),
    until: () => scene.ledger.quietUntil(),
    leap: (ms) => {
      const up = scene.machines.filter(({ isUp }) => isUp);
      return scene.ledger.leap(
        ms,
        up.map(({ application }) => application),
      );
    },
  };
  disturbances.prepare();
  let trouble: string | undefined;
  try {
    await world.run(BEGINNING + FAULTS_MS);
    calm(scene);
    trouble = await end(scene, person);
  } catch (error) {
    trouble = inspect(error);
  }
  if (trouble !== undefined)
    for (const { what } of await scene.ledger.ask<{ what: string }>(OPEN_IN_WORDS))
      world.say("still open", what);
  const ends = await scene.ledger.ask<OrderEnd & Record<string, unknown>>(
    "select placer_order_number as number, state, failure_code as failure from orders order by id",
  );
  await cover(scene);
  const judged = {
    ...{ orders: scene.orders, labelsOf: scene.labelsOf, service: scene.service, lab: scene.lab, ends },
    ...{ doneAgain: scene.doneAgain, overridden: scene.overridden },
  };
  const troubles = [
    ...judgeService(judged),
    ...judgeWords(judged),
    ...(await judgeInTime(scene, judged)),
    ...[...scene.givenUp].map((number) => `a person has to give ${number} up`),
    ...(trouble === undefined ? [] : [trouble]),
  ];
  if (troubles.length > 0)
    for (const { what } of await scene.ledger.ask<{ what: string }>(LIVES_IN_WORDS))
      world.say("the ledger", what);
  for (const machine of scene.machines) {
    machine.isStopped = true;
    machine.kill();
  }
  return {
    ...{ troubles, story: world.log, covered: scene.covered, steps: world.steps },
    simulatedMs: world.now - BEGINNING,
  };
}

async function judgeInTime(scene: Scene, judged: Judged): Promise<string[]> {
  // What a copy has forgotten is in no order of time with what it has.
  if (scene.wasPutBack) return [];
  const lives = await scene.ledger.ask<Life & Record<string, unknown>>(LIVES);
  return judgeTimes({ ...judged, callsAt: scene.network.createdAt, released: scene.released, lives });
}

/** Nothing goes wrong any more. */
function calm(scene: Scene): void {
  scene.world.say("outside", "nothing goes wrong any more");
  scene.isQuiet = true;
  for (const machine of scene.machines) machine.wake();
  scene.wokenAt = scene.world.now;
}

/** Goes on until every order has ended and was reported, with a person who sees to what needs one. */
async function end(scene: Scene, person: Person): Promise<string | undefined> {
  const world = scene.world;
  const until = world.now + ENDS_WITHIN_MS;
  for (let pauseMs = FIRST_LOOK_MS; world.now < until; pauseMs *= 1.3) {
    await world.run(world.now + Math.round(pauseMs));
    if (scene.isBusy || !scene.lab.isDone) continue;
    const [open] = await scene.ledger.ask<{ orders: number; results: number; calls: number }>(OPEN);
    if (open === undefined) continue;
    if (open.orders === 0 && open.results === 0 && open.calls === 0) return undefined;
    await person.seeTo();
  }
  return "not all ends";
}

async function cover(scene: Scene): Promise<void> {
  for (const [fate, times] of scene.network.fatesMet) scene.count(`call ${fate}`, times);
  for (const { what, times } of await scene.ledger.ask<{ what: string; times: number }>(COVERED))
    scene.count(what, Number(times));
}
