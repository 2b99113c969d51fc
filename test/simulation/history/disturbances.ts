import { readEpochFile } from "../../../src/ledger/restored/epoch-file.ts";
import type { Machine } from "../daemon.ts";
import type { LabOrder } from "../lab.ts";
import type { Strike } from "../ledger/step.ts";
import { AIMS, type Plan } from "../plan.ts";
import { type Actor, BEGINNING } from "../world.ts";
import type { Person } from "./person.ts";
import type { Scene } from "./scene.ts";

/** By then the next heartbeats have told all daemons how far the ledger has come. */
const LEARNT_MS = 1_100;

const WAITS_FOR_AGE = `
select exists (select 1 from calls where outcome is null)
       or exists (select 1 from ledger where restored_at is not null and restore_lifted_at is null) as "isThere"`;

/** What happens to a daemon. */
interface Happening {
  readonly what: "kill" | "freeze" | "clock" | "away";
  readonly forMs: number;
  readonly byMs?: number;
}

type Aim = keyof typeof AIMS;
const aims = new Map<string, readonly Aim[]>();

/** What a statement is aimed at as. Looked up, since each statement is asked about. */
function aimsAt(text: string): readonly Aim[] {
  let found = aims.get(text);
  if (found === undefined) {
    found = (Object.keys(AIMS) as Aim[]).filter((aim) => text.includes(AIMS[aim]));
    aims.set(text, found);
  }
  return found;
}

/** Has happen what the plan has, at its time or at its statement. */
export class Disturbances {
  readonly #scene: Scene;
  readonly #person: Person;
  readonly #outside: Actor = { name: "outside", state: "up" };
  /** How often a daemon was at each kind of statement. */
  readonly #aimed = new Map<Aim, number>();

  constructor(scene: Scene, person: Person) {
    this.#scene = scene;
    this.#person = person;
  }

  #at(actor: Actor, atMs: number, run: () => void | Promise<void>): void {
    this.#scene.world.later(actor, Math.max(0, BEGINNING + atMs - this.#scene.world.now), run);
  }

  /** Has all come that the plan has. */
  prepare(): void {
    const { orders, daemonEvents, placeEvents, people, others, correlation, surface } = this.#scene.plan;
    const outside = this.#outside;
    for (const [index, { atMs, acts }] of orders.entries()) {
      const order = this.#scene.orders[index] as LabOrder;
      this.#at(outside, atMs, () => this.#scene.lab.order(order));
      for (const { what, afterMs } of acts)
        this.#at(outside, atMs + afterMs, () => {
          if (what === "cancel") this.#scene.lab.cancel(order);
          else if (what === "hold") this.#scene.lab.ask("HD", order);
          else if (what === "release") this.#scene.lab.ask("RL", order);
          else if (what === "again") this.#scene.lab.again(order);
          else this.#change(order);
        });
    }
    for (const event of daemonEvents) {
      const machine = this.#scene.machines[event.daemon % this.#scene.machines.length] as Machine;
      this.#at(outside, event.atMs, () => this.#disturb(machine, event));
    }
    for (const event of placeEvents) this.#at(outside, event.atMs, () => this.#disturbPlace(event, outside));
    for (const { order, atMs, what } of others) {
      const { subject, label } = this.#scene.orders[order % orders.length] as LabOrder;
      if (what === "RETRIEVAL") {
        // One that lists don't show yet when the order comes could be meant by it: nothing tells the two apart.
        const shownMs = atMs + this.#scene.plan.service.listLagMs + 1_000;
        const isKnown = this.#scene.orders.every(
          (each, nth) => each.subject !== subject || shownMs < (orders[nth]?.atMs ?? 0),
        );
        if (isKnown) this.#at(outside, atMs, () => this.#scene.service.retrieveForOthers(surface, subject));
        continue;
      }
      const own = correlation === "token" ? label : `${label}X`;
      this.#at(outside, atMs, () => this.#scene.service.storeForOthers(surface, subject, own));
    }
    for (const { what, order, atMs } of people)
      this.#at(
        this.#person.actor,
        atMs,
        () =>
          void this.#person
            .act(what, order % orders.length)
            .catch((error: unknown) => this.#scene.world.say("a person", `${what}: ${String(error)}`)),
      );
  }

  #change(order: LabOrder): void {
    const label = `${order.label}B`;
    if (order.operation === "RETRIEVAL") this.#scene.addStored(order, label);
    const labels = this.#scene.labelsOf.get(order.number) as string[];
    if (!labels.includes(label)) labels.push(label);
    this.#scene.lab.change(order, label);
  }

  /** What the plan has for a daemon at a statement, if that is the one. */
  strikeAt(machine: Machine, text: string): Strike | undefined {
    if (this.#scene.isQuiet) return undefined;
    for (const aim of aimsAt(text)) {
      const nth = (this.#aimed.get(aim) ?? 0) + 1;
      this.#aimed.set(aim, nth);
      const strike = this.#scene.plan.strikes.find((each) => each.at === aim && each.nth === nth);
      if (!strike) continue;
      const { what, when } = strike;
      const hit = () => {
        this.#scene.world.say(machine.name, `${when} it ${aim}:`);
        this.#scene.count(`struck: ${what} ${when} it ${aim}`);
        this.#disturb(machine, strike);
      };
      return { when, hit };
    }
    return undefined;
  }

  #disturb(machine: Machine, { what, forMs, byMs = 0 }: Happening): void {
    const world = this.#scene.world;
    if (what === "kill") {
      world.say(machine.name, "is killed");
      machine.kill();
    } else if (what === "away") {
      world.say(machine.name, `is killed, and starts ${forMs / 1_000} s later`);
      machine.kill(forMs);
    } else if (what === "freeze") {
      world.say(machine.name, `is frozen for ${forMs / 1_000} s`);
      machine.freeze();
      world.later(this.#outside, forMs, () => {
        world.say(machine.name, "wakes up");
        machine.wake();
        this.#scene.wokenAt = world.now;
      });
    } else {
      world.say(machine.name, `its clock jumps by ${byMs / 1_000} s`);
      machine.wall.skewMs += byMs;
    }
    this.#scene.count(`disturbed: ${what}`);
  }

  async #disturbPlace({ what, forMs, byMs }: Plan["placeEvents"][number], outside: Actor): Promise<void> {
    const world = this.#scene.world;
    this.#scene.count(`disturbed: ${what}`);
    world.say("outside", what);
    switch (what) {
      case "queue emptied":
        return this.#scene.queues.empty();
      case "job doubled":
        return this.#scene.queues.double();
      case "ledger restarted":
        return this.#scene.ledger.restart();
      case "ledger away":
        this.#scene.ledgerAwayUntil = world.now + forMs;
        return this.#scene.ledger.restart();
      case "ledger put back": {
        const copy = await this.#scene.ledger.copy();
        const [ledger] = await this.#scene.ledger.ask<{ epoch: number }>("select epoch from ledger");
        const putBack = async () => {
          if (await this.#isUnknownToOne()) return void world.later(outside, LEARNT_MS, putBack);
          world.say("outside", `the ledger is put back as it was ${forMs / 1_000} s ago`);
          await this.#noteFrozen(ledger?.epoch ?? 0);
          this.#scene.wasPutBack = true;
          if (await copy.restore()) this.#scene.lab.sendAllAgain();
        };
        world.later(outside, forMs, putBack);
        return;
      }
      case "tokens end":
        return this.#scene.service.revokeTokens();
      case "service clock":
        this.#scene.service.aheadMs += byMs;
        return;
      case "ledger clock":
        if (byMs > 0 && (await this.#waitsForAge())) return world.say("outside", "it is left as it is");
        return this.#scene.ledger.setAhead(byMs);
    }
  }

  /**
   * Whether calls that bear no mark may have left of which a daemon hasn't heard: until one that has notices the copy, it would go on with
   * it. That is not promised.
   */
  async #isUnknownToOne(): Promise<boolean> {
    const { correlation, orders } = this.#scene.plan;
    if (correlation === "token" && orders.every(({ operation }) => operation === "STORE")) return false;
    const [now] = await this.#scene.ledger.ask<{ epoch: number }>("select epoch from ledger");
    const known = await Promise.all(this.#scene.machines.map(({ epochFile }) => readEpochFile(epochFile)));
    return known.some((each) => (each?.epoch ?? 0) < (now?.epoch ?? 0));
  }

  /** Whether the age of a call counts right now: no clock is assumed to jump past the time in which a list may lag. */
  async #waitsForAge(): Promise<boolean> {
    const [found] = await this.#scene.ledger.ask<{ isThere: boolean }>(WAITS_FOR_AGE);
    return found?.isThere === true;
  }

  /**
   * A daemon that is frozen, or was just now, may not know what came of the ledger since a copy was made: that numbers are given twice, in
   * the moments until another daemon notices the copy, is no fault.
   */
  async #noteFrozen(epochOfCopy: number): Promise<void> {
    const [now] = await this.#scene.ledger.ask<{ epoch: number }>("select epoch from ledger");
    if (now?.epoch === epochOfCopy) return;
    for (const { epochFile } of this.#scene.machines) {
      const known = await readEpochFile(epochFile);
      if ((known?.epoch ?? 0) <= epochOfCopy) this.#scene.lab.isForgiving = true;
    }
  }
}
