import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { stringify } from "yaml";
import {
  type ActSite,
  cancel,
  discard,
  override,
  release,
  resolve,
  retry,
  sendAgain,
} from "../../src/app/acts/orders.ts";
import type { Settings } from "../../src/app/configuration.ts";
import { compileProfiles } from "../../src/app/profiles.ts";
import { openService } from "../../src/app/service.ts";
import { loadConfig } from "../../src/config/load.ts";
import { listOrders } from "../../src/ledger/operator/views.ts";
import type { LedgerOrder } from "../../src/ledger/orders/row.ts";
import { linkOf } from "../../src/ledger/orders/row.ts";
import { readEpochFile } from "../../src/ledger/restored/epoch-file.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import { Machine, replaceClients, type Site } from "./daemon.ts";
import { FOLDER, replaceFiles } from "./files.ts";
import { CONNECTOR, type LabOrder, SimulatedLab } from "./lab.ts";
import type { LedgerUser, SimulatedLedger, Strike } from "./ledger.ts";
import { type CallFate, SimulatedNetwork } from "./network.ts";
import { isAlive, judgeService, judgeWords, type OrderEnd, ordersOf } from "./oracles.ts";
import { AIMS, type Plan } from "./plan.ts";
import { SimulatedQueues } from "./queues.ts";
import { type Request, SimulatedService } from "./service.ts";
import { type Actor, BEGINNING, replaceTimers, SimulatedClock, World } from "./world.ts";

/** Until when faults come, and how long it may take after that until all has ended, ms. */
const FAULTS_MS = 50_000;
const ENDS_WITHIN_MS = 3 * 3_600_000;
/** A person looks this often at first, and less often the longer it takes, ms. */
const FIRST_LOOK_MS = 5_000;
/** The service is looked at for a lost call until then, ms. */
const GIVE_UP_MS = 12_000;
const TIMEOUT_MS = 2_000;
/** A late call arrives after this, or so long before it is given up that a list which lags still shows it, ms. */
const LATE_MS = 9_000;
const SHOWN_BEFORE_MS = 1_500;
/**
 * That nothing was done is believed of these answers after one look, so where lists lag, no gateway gives them that has passed the
 * call on.
 */
const TRUE_REFUSALS: Partial<Record<CallFate, CallFate>> = {
  "429 after": "429 before",
  "401 after": "401 before",
};
/** How often a person has the same order tried again, before discarding it. */
const MOST_RETRIES = 3;

const silent = pino({ level: "silent" });

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

/** Runs histories on a ledger of their own, one after the other. */
export class Histories {
  readonly #ledger: SimulatedLedger;
  readonly #folder = mkdtempSync(join(tmpdir(), "simulation-"));
  readonly #settings = new Map<string, Settings>();

  constructor(ledger: SimulatedLedger) {
    this.#ledger = ledger;
  }

  async close(): Promise<void> {
    rmSync(this.#folder, { recursive: true, force: true });
    await this.#ledger.close();
  }

  async run(plan: Plan): Promise<HistoryEnd> {
    const settings = await this.#settingsOf(plan);
    const world = new World(plan.chance);
    const { random } = Math;
    Math.random = world.random;
    const users = new Map<string, LedgerUser>();
    const restore = replaceClients((application) =>
      this.#ledger.sessionOf(users.get(application) as LedgerUser),
    );
    await this.#ledger.begin(world, plan.chance);
    const restoreTimers = replaceTimers();
    const restoreFiles = replaceFiles();
    try {
      return await new History(plan, world, this.#ledger, settings, users).run();
    } finally {
      restoreFiles();
      restoreTimers();
      await this.#ledger.end();
      restore();
      Math.random = random;
    }
  }

  async #settingsOf({ surface, service, correlation }: Plan): Promise<Settings> {
    const key = `${surface} ${correlation} ${service.hasCancel}`;
    const known = this.#settings.get(key);
    if (known) return known;
    const file = join(this.#folder, `${this.#settings.size}.yaml`);
    const path =
      surface === "request"
        ? "/api/procedure-requests/{id}/cancel"
        : "/api/v1/external/procedures/{id}/cancel";
    const given = {
      dataDir: join(this.#folder, "data"),
      service: {
        baseUrl: "https://service.example.org",
        ...{ surface, correlation },
        auth: {
          tokenUrl: "https://service.example.org/oauth/token",
          clientId: "lab",
          clientSecret: "secret",
        },
        timeout: `${TIMEOUT_MS}ms`,
        maxRequestsPerSecond: 1_000,
        polling: { first: "3s", max: "10s", factor: 1.5 },
        reconcile: { checks: ["1s", "4s"], giveUpAfter: `${GIVE_UP_MS}ms`, recheck: "20s" },
        ...(service.hasCancel && { cancel: { method: "POST", path } }),
      },
      facilities: { NORTH: 12 },
      connectors: [{ name: CONNECTOR, type: "mllp", results: { host: "127.0.0.1", port: 2600 } }],
      database: { url: "postgres://nobody:nothing@127.0.0.1:1/none" },
    };
    writeFileSync(file, stringify(given), { mode: 0o600 });
    const config = loadConfig(file, { profileSchema, env: {} });
    const settings = { config, profiles: await compileProfiles(config) };
    this.#settings.set(key, settings);
    return settings;
  }
}

const WAITS_FOR_AGE = `
select exists (select 1 from calls where outcome is null)
       or exists (select 1 from ledger where restored_at is not null and restore_lifted_at is null) as "isThere"`;

/** What happens to a daemon. */
interface Happening {
  readonly what: "kill" | "freeze" | "clock";
  readonly forMs: number;
  readonly byMs?: number;
}

/** One history: what its plan says happens, then what follows once nothing more goes wrong. */
class History {
  readonly #plan: Plan;
  readonly #world: World;
  readonly #ledger: SimulatedLedger;
  readonly #service: SimulatedService;
  readonly #network: SimulatedNetwork;
  readonly #queues: SimulatedQueues;
  readonly #machines: Machine[];
  readonly #lab: SimulatedLab;
  readonly #orders: LabOrder[];
  readonly #labelsOf = new Map<string, string[]>();
  readonly #covered = new Map<string, number>();
  readonly #doneAgain = new Map<string, number>();
  readonly #tries = new Map<string, number>();
  readonly #aimed = new Map<string, number>();
  readonly #outside: Actor = { name: "outside", state: "up" };
  readonly #person: Actor = { name: "a person", state: "up" };
  readonly #user: LedgerUser;
  readonly #site: ActSite;
  #isQuiet = false;
  #wokenAt = 0;
  #ledgerAwayUntil = 0;
  #isBusy = false;

  constructor(
    plan: Plan,
    world: World,
    ledger: SimulatedLedger,
    settings: Settings,
    users: Map<string, LedgerUser>,
  ) {
    this.#plan = plan;
    this.#world = world;
    this.#ledger = ledger;
    this.#service = new SimulatedService(world, plan.service);
    this.#network = new SimulatedNetwork(world, this.#service, {
      timeoutMs: TIMEOUT_MS,
      lateMs: Math.min(LATE_MS, GIVE_UP_MS - plan.service.listLagMs - SHOWN_BEFORE_MS),
      fateOf: (kind, nth) => {
        if (this.#isQuiet) return undefined;
        const fate = plan.calls.find((each) => each.kind === kind && each.nth === nth)?.fate;
        const isLagging = plan.service.listLagMs > 0;
        return isLagging && fate !== undefined ? (TRUE_REFUSALS[fate] ?? fate) : fate;
      },
    });
    this.#queues = new SimulatedQueues(world);
    const steps = new Map<string, number>();
    const site: Site = {
      ...{ world, ledger, network: this.#network, queues: this.#queues, settings, users },
      epochFileOf: (daemon) => this.#epochFileOf(daemon),
      connectorOf: (actor) => this.#lab.connectorOf(actor),
      ledgerFateOf: (daemon) => {
        if (this.#isQuiet) return "done";
        if (world.now < this.#ledgerAwayUntil) return "refused";
        const nth = (steps.get(daemon) ?? 0) + 1;
        steps.set(daemon, nth);
        const fate = plan.ledger.find(
          (each) => `daemon ${each.daemon + 1}` === daemon && each.nth === nth,
        )?.fate;
        if (fate !== undefined) world.say(daemon, `a step of the ledger is ${fate}`);
        return fate ?? "done";
      },
      strikeAt: (machine, text) => this.#strikeAt(machine, text),
    };
    this.#machines = Array.from(
      { length: plan.daemons },
      (_, index) => new Machine(site, `daemon ${index + 1}`),
    );
    this.#lab = new SimulatedLab(world, this.#machines, (nth) =>
      this.#isQuiet ? undefined : plan.results.find((each) => each.nth === nth)?.fate,
    );
    this.#orders = plan.orders.map(({ operation, subject }, index) => ({
      ...{ number: `P-${index + 1}`, operation, subject: `S-${subject + 1}`, label: `V-${index + 1}` },
    }));
    for (const { number, label } of this.#orders) this.#labelsOf.set(number, [label]);
    this.#user = {
      actor: this.#person,
      application: "person",
      fateOf: () => "done",
      strikeAt: () => undefined,
    };
    const wire = this.#network.wireOf(this.#person);
    let client: ServiceClient | undefined;
    this.#site = {
      pool: ledger.poolOf(this.#user),
      config: settings.config,
      withService: (work) => {
        const clock = new SimulatedClock(world, this.#person, { skewMs: 0 });
        client ??= openService(settings.config, { clock, logger: silent, random: world.random, wire });
        return work(client);
      },
    };
  }

  async run(): Promise<HistoryEnd> {
    const world = this.#world;
    for (const [index, { operation }] of this.#plan.orders.entries()) {
      const order = this.#orders[index] as LabOrder;
      if (operation === "RETRIEVAL") this.#addStored(order, order.label);
    }
    for (const machine of this.#machines) machine.start();
    world.quiet = {
      since: () => Math.max(this.#ledger.changedAt, this.#wokenAt),
      until: () => this.#ledger.quietUntil(),
      leap: (ms) => {
        const up = this.#machines.filter(({ isUp }) => isUp);
        return this.#ledger.leap(
          ms,
          up.map(({ application }) => application),
        );
      },
    };
    this.#prepare();
    let trouble: string | undefined;
    try {
      await world.run(BEGINNING + FAULTS_MS);
      this.#calm();
      trouble = await this.#end();
    } catch (error) {
      trouble = error instanceof Error ? (error.stack ?? error.message) : String(error);
    }
    if (trouble !== undefined)
      for (const { what } of await this.#ledger.ask<{ what: string }>(OPEN_IN_WORDS))
        world.say("still open", what);
    const ends = await this.#ledger.ask<OrderEnd & Record<string, unknown>>(
      "select placer_order_number as number, state, failure_code as failure from orders order by id",
    );
    await this.#cover();
    const judged = {
      ...{ orders: this.#orders, labelsOf: this.#labelsOf, service: this.#service, lab: this.#lab, ends },
      doneAgain: this.#doneAgain,
    };
    const troubles = [
      ...judgeService(judged),
      ...judgeWords(judged),
      ...(trouble === undefined ? [] : [trouble]),
    ];
    if (troubles.length > 0)
      for (const { what } of await this.#ledger.ask<{ what: string }>(LIVES_IN_WORDS))
        world.say("the ledger", what);
    for (const machine of this.#machines) {
      machine.isStopped = true;
      machine.kill();
    }
    return {
      ...{ troubles, story: world.log, covered: this.#covered, steps: world.steps },
      simulatedMs: world.now - BEGINNING,
    };
  }

  #addStored({ subject }: LabOrder, label: string): void {
    const who = { firstName: "Ada", lastName: "Example", dateOfBirth: "1990-01-31" };
    this.#service.addStored({ facilityId: 12, code: subject, ...who }, label);
  }

  #at(actor: Actor, atMs: number, run: () => void | Promise<void>): void {
    this.#world.later(actor, Math.max(0, BEGINNING + atMs - this.#world.now), run);
  }

  /** Has all come that the plan has. */
  #prepare(): void {
    const { orders, daemonEvents, placeEvents, people, others, correlation, surface } = this.#plan;
    const outside = this.#outside;
    for (const [index, { atMs, acts }] of orders.entries()) {
      const order = this.#orders[index] as LabOrder;
      this.#at(outside, atMs, () => this.#lab.order(order));
      for (const { what, afterMs } of acts)
        this.#at(outside, atMs + afterMs, () => {
          if (what === "cancel") this.#lab.cancel(order);
          else if (what === "hold") this.#lab.ask("HD", order);
          else if (what === "release") this.#lab.ask("RL", order);
          else if (what === "again") this.#lab.again(order);
          else this.#change(order);
        });
    }
    for (const event of daemonEvents) {
      const machine = this.#machines[event.daemon % this.#machines.length] as Machine;
      this.#at(outside, event.atMs, () => this.#disturb(machine, event));
    }
    for (const event of placeEvents) this.#at(outside, event.atMs, () => this.#disturbPlace(event, outside));
    for (const { order, atMs } of others) {
      const { subject, label } = this.#orders[order % orders.length] as LabOrder;
      const own = correlation === "token" ? label : `${label}X`;
      this.#at(outside, atMs, () => this.#service.storeForOthers(surface, subject, own));
    }
    for (const { what, order, atMs } of people)
      this.#at(
        this.#person,
        atMs,
        () =>
          void this.#act(what, order % this.#orders.length).catch((error: unknown) =>
            this.#world.say("a person", `${what}: ${String(error)}`),
          ),
      );
  }

  #change(order: LabOrder): void {
    const label = `${order.label}B`;
    if (order.operation === "RETRIEVAL") this.#addStored(order, label);
    const labels = this.#labelsOf.get(order.number) as string[];
    if (!labels.includes(label)) labels.push(label);
    this.#lab.change(order, label);
  }

  /** What the plan has for a daemon at a statement, if that is the one. */
  #strikeAt(machine: Machine, text: string): Strike | undefined {
    if (this.#isQuiet) return undefined;
    for (const [aim, words] of Object.entries(AIMS)) {
      if (!text.includes(words)) continue;
      const nth = (this.#aimed.get(aim) ?? 0) + 1;
      this.#aimed.set(aim, nth);
      const strike = this.#plan.strikes.find((each) => each.at === aim && each.nth === nth);
      if (!strike) continue;
      const { what, when } = strike;
      const hit = () => {
        this.#world.say(machine.name, `${when} it ${aim}:`);
        this.#count(`struck: ${what} ${when} it ${aim}`);
        this.#disturb(machine, strike);
      };
      return { when, hit };
    }
    return undefined;
  }

  #disturb(machine: Machine, { what, forMs, byMs = 0 }: Happening): void {
    const world = this.#world;
    if (what === "kill") {
      world.say(machine.name, "is killed");
      machine.kill();
    } else if (what === "freeze") {
      world.say(machine.name, `is frozen for ${forMs / 1_000} s`);
      machine.freeze();
      world.later(this.#outside, forMs, () => {
        world.say(machine.name, "wakes up");
        machine.wake();
        this.#wokenAt = world.now;
      });
    } else {
      world.say(machine.name, `its clock jumps by ${byMs / 1_000} s`);
      machine.wall.skewMs += byMs;
    }
    this.#count(`disturbed: ${what}`);
  }

  async #disturbPlace({ what, forMs, byMs }: Plan["placeEvents"][number], outside: Actor): Promise<void> {
    const world = this.#world;
    this.#count(`disturbed: ${what}`);
    world.say("outside", what);
    switch (what) {
      case "queue emptied":
        return this.#queues.empty();
      case "job doubled":
        return this.#queues.double();
      case "ledger restarted":
        return this.#ledger.restart();
      case "ledger away":
        this.#ledgerAwayUntil = world.now + forMs;
        return this.#ledger.restart();
      case "ledger put back": {
        const copy = await this.#ledger.copy();
        const [ledger] = await this.#ledger.ask<{ epoch: number }>("select epoch from ledger");
        const putBack = async () => {
          if (await this.#isUnknownToOne()) return void world.later(outside, LEARNT_MS, putBack);
          world.say("outside", `the ledger is put back as it was ${forMs / 1_000} s ago`);
          await this.#noteFrozen(ledger?.epoch ?? 0);
          if (await copy.restore()) this.#lab.sendAllAgain();
        };
        world.later(outside, forMs, putBack);
        return;
      }
      case "tokens end":
        return this.#service.revokeTokens();
      case "service clock":
        this.#service.aheadMs += byMs;
        return;
      case "ledger clock":
        if (byMs > 0 && (await this.#waitsForAge())) return world.say("outside", "it is left as it is");
        return this.#ledger.setAhead(byMs);
    }
  }

  /**
   * Whether calls that bear no mark may have left of which a daemon hasn't heard: until one that has notices the copy, it would go on with
   * it. That is not promised.
   */
  async #isUnknownToOne(): Promise<boolean> {
    const { correlation, orders } = this.#plan;
    if (correlation === "token" && orders.every(({ operation }) => operation === "STORE")) return false;
    const [now] = await this.#ledger.ask<{ epoch: number }>("select epoch from ledger");
    const known = await Promise.all(this.#machines.map(({ name }) => readEpochFile(this.#epochFileOf(name))));
    return known.some((each) => (each?.epoch ?? 0) < (now?.epoch ?? 0));
  }

  /** Whether the age of a call counts right now: no clock is assumed to jump past the time in which a list may lag. */
  async #waitsForAge(): Promise<boolean> {
    const [found] = await this.#ledger.ask<{ isThere: boolean }>(WAITS_FOR_AGE);
    return found?.isThere === true;
  }

  /**
   * A daemon that is frozen, or was just now, may not know what came of the ledger since a copy was made: that numbers are given twice, in
   * the moments until another daemon notices the copy, is no fault.
   */
  async #noteFrozen(epochOfCopy: number): Promise<void> {
    const [now] = await this.#ledger.ask<{ epoch: number }>("select epoch from ledger");
    if (now?.epoch === epochOfCopy) return;
    for (const { name } of this.#machines) {
      const known = await readEpochFile(this.#epochFileOf(name));
      if ((known?.epoch ?? 0) <= epochOfCopy) this.#lab.isForgiving = true;
    }
  }

  #epochFileOf(daemon: string): string {
    return `${FOLDER}/${daemon}.epoch`;
  }

  /** Nothing goes wrong any more. */
  #calm(): void {
    this.#world.say("outside", "nothing goes wrong any more");
    this.#isQuiet = true;
    for (const machine of this.#machines) machine.wake();
    this.#wokenAt = this.#world.now;
  }

  /** Goes on until every order has ended and was reported, with a person who sees to what needs one. */
  async #end(): Promise<string | undefined> {
    const world = this.#world;
    const until = world.now + ENDS_WITHIN_MS;
    for (let pauseMs = FIRST_LOOK_MS; world.now < until; pauseMs *= 1.3) {
      await world.run(world.now + Math.round(pauseMs));
      if (this.#isBusy || !this.#lab.isDone) continue;
      const [open] = await this.#ledger.ask<{ orders: number; results: number; calls: number }>(OPEN);
      if (open === undefined) continue;
      if (open.orders === 0 && open.results === 0 && open.calls === 0) return undefined;
      await this.#seeTo();
    }
    return "not all ends";
  }

  /** A person sees to what waits for one, and knows what the service has. */
  async #seeTo(): Promise<void> {
    const orders = await this.#read(() => listOrders(this.#site.pool, { limit: 100 }));
    for (const order of orders) {
      if (order.heldAt !== undefined && order.state !== "parked") await this.#do("release", order);
      else if (order.state === "parked") await this.#settleParked(order);
    }
  }

  async #settleParked(order: LedgerOrder): Promise<void> {
    const tries = (this.#tries.get(String(order.id)) ?? 0) + 1;
    this.#tries.set(String(order.id), tries);
    if (this.#network.quietAt > this.#world.now) return;
    const own = this.#ofOrder(order);
    const isForgotten = order.failure?.code === "SUBMIT_FORGOTTEN_REQUEST";
    const there = own.find(isAlive) ?? (isForgotten ? own.at(-1) : undefined);
    if (there && linkOf(order) === undefined && tries <= MOST_RETRIES)
      return this.#do("resolve", order, there);
    if (tries <= MOST_RETRIES) {
      const { code = "" } = order.failure ?? {};
      if (/^ORDER_|FORGOTTEN/.test(code) && there === undefined) return this.#do("override", order);
      return this.#do("retry", order);
    }
    return this.#do("discard", order);
  }

  #ofOrder(order: LedgerOrder): Request[] {
    const number = order.placerOrderNumber;
    const judged = { orders: this.#orders, labelsOf: this.#labelsOf };
    return this.#service.requests.filter((each) =>
      ordersOf(judged, each).some((one) => one.number === number),
    );
  }

  /** Waits for something that the program does while time goes by. */
  async #read<T>(work: () => Promise<T>): Promise<T> {
    let ended: { value: T } | { error: unknown } | undefined;
    this.#world.later(this.#person, 0, () => {
      void work().then(
        (value) => {
          ended = { value };
        },
        (error: unknown) => {
          ended = { error };
        },
      );
    });
    await this.#world.run(this.#world.now + 120_000, () => ended !== undefined);
    if (ended === undefined) throw new Error("what a person does doesn't end");
    if ("error" in ended) throw ended.error;
    return ended.value;
  }

  async #do(what: Plan["people"][number]["what"], order: LedgerOrder, there?: Request): Promise<void> {
    await this.#read(() => this.#perform(what, order, there)).catch((error: unknown) =>
      this.#world.say("a person", `${what} of ${order.placerOrderNumber}: ${String(error)}`),
    );
  }

  /** A person acts while things go wrong, on what the ledger and the service show at that moment. */
  async #act(what: Plan["people"][number]["what"], index: number): Promise<void> {
    const { number } = this.#orders[index] as LabOrder;
    this.#isBusy = true;
    try {
      const orders = await listOrders(this.#site.pool, { limit: 100 });
      const order = orders.find(({ placerOrderNumber }) => placerOrderNumber === number);
      if (order) await this.#perform(what, order);
    } finally {
      this.#isBusy = false;
    }
  }

  async #perform(
    what: Plan["people"][number]["what"],
    order: LedgerOrder,
    there = this.#ofOrder(order).find(isAlive),
  ): Promise<void> {
    const act = { actor: "person", reason: "simulated" };
    const site = this.#site;
    const { placerOrderNumber: number = "" } = order;
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
        if (there !== undefined || this.#network.quietAt > this.#world.now) return undefined;
        return sendAgain(site, order, act);
      },
      resolve: async () => (there === undefined ? undefined : resolve(site, order, { id: there.id }, act)),
    }[what];
    // What the service has of it has come to nothing, and the person wants it done nevertheless.
    const isAgain =
      (what === "retry" || what === "override") && this.#ofOrder(order).length > 0 && there === undefined;
    const acted = await run();
    if (acted === undefined) return;
    const [isDone, words] = acted;
    this.#count(`person: ${what}${isDone ? "" : ", not done"}`);
    this.#world.say("a person", `${what} of ${number}: ${words.slice(0, 120)}`);
    if (isDone && isAgain) this.#doneAgain.set(number, (this.#doneAgain.get(number) ?? 0) + 1);
  }

  #count(what: string, times = 1): void {
    this.#covered.set(what, (this.#covered.get(what) ?? 0) + times);
  }

  async #cover(): Promise<void> {
    for (const [fate, times] of this.#network.fatesMet) this.#count(`call ${fate}`, times);
    for (const { what, times } of await this.#ledger.ask<{ what: string; times: number }>(COVERED))
      this.#count(what, Number(times));
  }
}

/** What is not over yet. */
const OPEN = `
select (select count(*)::integer
          from orders o
         where o.state not in ('completed', 'rejected', 'cancelled', 'failed', 'discarded')) as orders,
       (select count(*)::integer from outcomes t where not t.is_composed)
       + (select count(*)::integer from deliveries d where d.state = 'pending') as results,
       (select count(*)::integer from calls k where k.outcome is not null and k.look_at is not null)
       + (select count(*)::integer from control_requests r where r.state = 'open') as calls`;

/** By then the next heartbeats have told all daemons how far the ledger has come. */
const LEARNT_MS = 1_100;

const OPEN_IN_WORDS = `
select concat_ws(' ', o.placer_order_number, o.state, o.failure_code, 'due in', extract(epoch from o.next_at - now())::integer, 's') as what
  from orders o
 where o.state not in ('completed', 'rejected', 'cancelled', 'failed', 'discarded')
union all
select concat_ws(' ', 'result', d.state, d.failure_code, 'due in', extract(epoch from d.next_at - now())::integer, 's')
  from deliveries d
 where d.state = 'pending'
union all
select 'outcome ' || t.kind from outcomes t where not t.is_composed
union all
select concat_ws(' ', 'look for', k.kind, k.outcome, 'in', extract(epoch from k.look_at - now())::integer, 's')
  from calls k
 where k.look_at is not null
union all
select concat_ws(' ', 'control', r.control, 'due in', extract(epoch from r.next_at - now())::integer, 's')
  from control_requests r
 where r.state = 'open'`;

/** What the ledger knows of each order, for whoever looks into what went wrong. */
const LIVES_IN_WORDS = `
select x.what
  from (select o.id, 0 as part, e.id as nth,
               concat_ws(' ', o.placer_order_number, e.at::time(3), e.kind, '> ' || e.to_state, nullif(e.detail, '{}')) as what
          from order_events e
          join orders o on o.id = e.order_id
        union all
        select o.id, 1, k.id,
               concat_ws(' ', o.placer_order_number, k.at::time(3), 'call', k.kind, case when k.is_presumed then 'presumed' end,
                         k.mark, 'since ' || k.since::time(3), 'left by ' || k.left_by::time(3), k.answer, k.failure_code,
                         coalesce(k.outcome, 'open'), k.service_id)
          from calls k
          join orders o on o.id = k.order_id) x
 order by x.id, x.part, x.nth`;

/** Which moves, calls and refusals there were. */
const COVERED = `
select 'move: ' || coalesce(e.former, '-') || ' > ' || e.to_state as what, count(*) as times
  from (select e.to_state, lag(e.to_state) over (partition by e.order_id order by e.id) as former
          from order_events e
         where e.to_state is not null) e
 group by 1
union all
select 'event: ' || e.kind, count(*) from order_events e group by 1
union all
select 'call: ' || k.kind || case when k.is_presumed then ' presumed' else '' end || ' ' || coalesce(k.outcome, 'open')
       || coalesce(', answered ' || k.answer, ''), count(*)
  from calls k group by 1
union all
select 'parked: ' || (e.detail ->> 'code'), count(*) from order_events e where e.kind = 'parked' group by 1
union all
select 'task: ' || t.kind, count(*) from tasks t group by 1
union all
select 'end: ' || o.operation || ' ' || o.state, count(*) from orders o group by 1`;
