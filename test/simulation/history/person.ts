import { pino } from "pino";
import {
  type ActSite,
  cancel,
  discard,
  override,
  release,
  resolve,
  retry,
  sendAgain,
} from "../../../src/app/acts/orders.ts";
import { openService } from "../../../src/app/service.ts";
import { listOrders } from "../../../src/ledger/operator/views.ts";
import { type LedgerOrder, linkOf } from "../../../src/ledger/orders/row.ts";
import { requireNoOlderCopy } from "../../../src/ledger/restored/epoch.ts";
import type { ServiceClient } from "../../../src/service/client.ts";
import type { LabOrder } from "../lab.ts";
import type { LedgerUser } from "../ledger/step.ts";
import { isAlive } from "../oracles.ts";
import type { Plan } from "../plan.ts";
import type { Request } from "../service.ts";
import { type Actor, SimulatedClock } from "../world.ts";
import { epochFileOf, type Scene } from "./scene.ts";

/** How often a person has the same order tried again, before discarding it. */
const MOST_RETRIES = 3;

const silent = pino({ level: "silent" });

/** Whoever uses the program's commands: at the moments that the plan has, and once nothing goes wrong any more. */
export class Person {
  readonly actor: Actor = { name: "a person", state: "up" };
  readonly #scene: Scene;
  readonly #site: ActSite;
  readonly #tries = new Map<string, number>();

  constructor(scene: Scene) {
    this.#scene = scene;
    const { world, ledger, network, settings } = scene;
    const user: LedgerUser = {
      actor: this.actor,
      application: "person",
      fateOf: () => "done",
      strikeAt: () => undefined,
    };
    const wire = network.wireOf(this.actor);
    let client: ServiceClient | undefined;
    this.#site = {
      pool: ledger.poolOf(user),
      config: settings.config,
      profiles: async () => settings.profiles,
      withService: (work) => {
        const clock = new SimulatedClock(world, this.actor, { skewMs: 0 });
        client ??= openService(settings.config, { clock, logger: silent, random: world.random, wire });
        return work(client);
      },
    };
  }

  /** A person sees to what waits for one, and knows what the service has. */
  async seeTo(): Promise<void> {
    const orders = await this.#read(() => listOrders(this.#site.pool, { limit: 100 }));
    for (const order of orders) {
      if (order.heldAt !== undefined && order.state !== "parked") await this.#do("release", order);
      else if (order.state === "parked") await this.#settleParked(order);
    }
  }

  async #settleParked(order: LedgerOrder): Promise<void> {
    if (this.#scene.network.quietAt > this.#scene.world.now) return;
    const tries = (this.#tries.get(String(order.id)) ?? 0) + 1;
    this.#tries.set(String(order.id), tries);
    const own = this.#scene.requestsOf(order.placerOrderNumber);
    // A retrieval may have made whatever a gateway has done twice for its subject.
    const subject = this.#scene.orders.find(({ number }) => number === order.placerOrderNumber)?.subject;
    const isDoubled = this.#scene.service.requests.some(
      ({ isCopy, subjectCode }) => isCopy && subjectCode === subject,
    );
    const { code = "" } = order.failure ?? {};
    const isForgotten = code === "SUBMIT_FORGOTTEN_REQUEST";
    const there = own.find(isAlive) ?? (isForgotten ? own.at(-1) : undefined);
    if (there && linkOf(order) === undefined && tries <= MOST_RETRIES)
      return this.#do("resolve", order, there);
    if (tries <= MOST_RETRIES) {
      // The program has said that a retry has it sent again: where it is as unclear as before, a person looks into it with the facility.
      if (tries > 1 && code === "SUBMIT_UNCERTAIN" && there === undefined) {
        if (!isDoubled) this.#scene.givenUp.add(order.placerOrderNumber ?? "");
        return this.#do("not at service", order);
      }
      if (/^ORDER_|FORGOTTEN/.test(code) && there === undefined) return this.#do("override", order);
      return this.#do("retry", order);
    }
    // Of what it has sent the program says what to do; but a change that a copy has forgotten, and what a gateway has done twice, is for the
    // lab to sort out, as is all that the order itself asks for.
    if (/^(SUBMIT|SERVICE)_/.test(code) && !isForgotten && !isDoubled)
      this.#scene.givenUp.add(order.placerOrderNumber ?? "");
    return this.#do("discard", order);
  }

  /** Waits for something that the program does while time goes by. */
  async #read<T>(work: () => Promise<T>): Promise<T> {
    let ended: { value: T } | { error: unknown } | undefined;
    this.#scene.world.later(this.actor, 0, () => {
      void work().then(
        (value) => {
          ended = { value };
        },
        (error: unknown) => {
          ended = { error };
        },
      );
    });
    await this.#scene.world.run(this.#scene.world.now + 120_000, () => ended !== undefined);
    if (ended === undefined) throw new Error("what a person does doesn't end");
    if ("error" in ended) throw ended.error;
    return ended.value;
  }

  async #do(what: Plan["people"][number]["what"], order: LedgerOrder, there?: Request): Promise<void> {
    await this.#read(() => this.#perform(what, order, there)).catch((error: unknown) =>
      this.#scene.world.say("a person", `${what} of ${order.placerOrderNumber}: ${String(error)}`),
    );
  }

  /** A person acts while things go wrong, on what the ledger and the service show at that moment. */
  async act(what: Plan["people"][number]["what"], index: number): Promise<void> {
    const { number } = this.#scene.orders[index] as LabOrder;
    this.#scene.isBusy = true;
    try {
      const orders = await listOrders(this.#site.pool, { limit: 100 });
      const order = orders.find(({ placerOrderNumber }) => placerOrderNumber === number);
      if (order) await this.#perform(what, order);
    } finally {
      this.#scene.isBusy = false;
    }
  }

  async #perform(
    what: Plan["people"][number]["what"],
    order: LedgerOrder,
    there = this.#scene.requestsOf(order.placerOrderNumber).find(isAlive),
  ): Promise<void> {
    const act = { actor: "person", reason: "simulated" };
    const site = this.#site;
    // As the program's commands do, on the machine of the first daemon.
    await requireNoOlderCopy(site.pool, epochFileOf("daemon 1"));
    const { placerOrderNumber: number = "" } = order;
    if (what === "release") this.#scene.released.push({ number, at: this.#scene.world.now });
    const run = {
      retry: () => retry(site, order, act),
      discard: () => discard(site, order, act),
      release: () => release(site, order, act),
      // The same: what may be the order's is named to whoever does that.
      override: async () =>
        there !== undefined && order.failure?.code.startsWith("SUBMIT_")
          ? undefined
          : override(site, order, act),
      cancel: () => cancel(site, order, act),
      "not at service": async () => {
        // An honest person has looked at the service, where nothing is under way any more.
        if (there !== undefined || this.#scene.network.quietAt > this.#scene.world.now) return undefined;
        return sendAgain(site, order, act);
      },
      resolve: async () => (there === undefined ? undefined : resolve(site, order, { id: there.id }, act)),
    }[what];
    // What the service has of it has come to nothing, and the person wants it done nevertheless.
    const isAgain =
      (what === "retry" || what === "override") &&
      this.#scene.requestsOf(order.placerOrderNumber).length > 0 &&
      (there === undefined || there.isCopy);
    const acted = await run();
    if (acted === undefined) return;
    const [isDone, words] = acted;
    this.#scene.count(`person: ${what}${isDone ? "" : ", not done"}`);
    this.#scene.world.say("a person", `${what} of ${number}: ${words.slice(0, 120)}`);
    if (isDone && what === "override") this.#scene.overridden.add(number);
    if (isDone && isAgain) this.#scene.doneAgain.set(number, (this.#scene.doneAgain.get(number) ?? 0) + 1);
  }
}
