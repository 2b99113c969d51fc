import pg from "pg";
import { pino } from "pino";
import { Configuration, type Settings } from "../../src/app/configuration.ts";
import type { Context } from "../../src/app/context.ts";
import { openIntake } from "../../src/app/intake.ts";
import { openEpoch } from "../../src/app/restored.ts";
import { startWorker } from "../../src/app/worker.ts";
import type { Connector } from "../../src/connectors/connector.ts";
import type { Intake } from "../../src/core/intake.ts";
import { noTracer } from "../../src/core/order-step.ts";
import { PeerCertificates } from "../../src/core/peer-certificates.ts";
import type { Role } from "../../src/core/role.ts";
import { epochFileOf } from "../../src/ledger/restored/epoch-file.ts";
import { joinWorkers } from "../../src/ledger/workers/membership.ts";
import type { SimulatedLedger } from "./ledger/ledger.ts";
import type { HeartbeatClient } from "./ledger/own-session.ts";
import type { LedgerFate, LedgerUser, Strike } from "./ledger/step.ts";
import type { SimulatedNetwork } from "./network.ts";
import type { SimulatedQueues } from "./queues.ts";
import { type Actor, SimulatedClock, type World } from "./world.ts";

const silent = pino(
  { level: process.env.SIMULATION_LOG ?? "silent" },
  { write: (line: string) => void process.stderr.write(line) },
);
const RESTART_MS = 1_500;

/** What daemons work with. */
export interface Site {
  readonly world: World;
  readonly ledger: SimulatedLedger;
  readonly network: SimulatedNetwork;
  readonly queues: SimulatedQueues;
  readonly settings: Settings;
  readonly epochFileOf: (daemon: string) => string;
  readonly connectorOf: (actor: Actor) => Connector;
  readonly ledgerFateOf: (daemon: string, text: string) => LedgerFate;
  readonly strikeAt: (machine: Machine, text: string) => Strike | undefined;
  /** Who has which name for its sessions. */
  readonly users: Map<string, LedgerUser>;
}

/** A machine on which a daemon runs, and runs again when it ended. */
export class Machine {
  readonly name: string;
  readonly #site: Site;
  readonly #host: Actor;
  readonly wall = { skewMs: 0 };
  #actor: Actor = { name: "", state: "dead" };
  #application = "";
  #runs = 0;
  intake: Intake | undefined;
  isStopped = false;
  readonly #roles: ReadonlySet<Role>;
  #isRunning = false;

  constructor(site: Site, name: string, roles: ReadonlySet<Role>) {
    this.#site = site;
    this.name = name;
    this.#roles = roles;
    this.#host = { name: `${name}'s machine`, state: "up" };
  }

  get actor(): Actor {
    return this.#actor;
  }

  /** The `application_name` of its sessions. */
  get application(): string {
    return this.#application;
  }

  get isUp(): boolean {
    return this.#actor.state === "up" && this.#isRunning;
  }

  /** Where it keeps how far the ledger has come. */
  get epochFile(): string {
    return epochFileOf(this.#site.epochFileOf(this.name), this.#roles);
  }

  start(): void {
    if (this.#actor.state !== "dead") return;
    this.#runs += 1;
    const actor: Actor = { name: this.name, state: "up" };
    this.#actor = actor;
    this.#application = `cryobridge-${this.name}-${this.#runs}`;
    this.#site.world.later(actor, 0, () => {
      void this.#run(actor).catch((error: unknown) => {
        this.#site.world.say(
          this.name,
          `can't start: ${error instanceof Error ? error.message : String(error)}`,
        );
        this.kill();
      });
    });
  }

  /** Ends at once, in the middle of whatever it does; another one starts in its place so many ms later. */
  kill(restartMs = RESTART_MS): void {
    if (this.#actor.state === "dead") return;
    this.#actor.state = "dead";
    this.intake = undefined;
    this.#isRunning = false;
    const application = this.#application;
    const { world, ledger } = this.#site;
    world.later(this.#host, 0, () => ledger.endSessionsOf(application));
    world.later(this.#host, restartMs, () => {
      if (!this.isStopped) this.start();
    });
  }

  freeze(): void {
    if (this.#actor.state === "up") this.#actor.state = "frozen";
  }

  wake(): void {
    if (this.#actor.state === "frozen") this.#actor.state = "up";
  }

  /** What the program's own start does, with the edges of the simulation. */
  async #run(actor: Actor): Promise<void> {
    const { world, ledger, network, queues, settings, epochFileOf, connectorOf } = this.#site;
    const { name } = this;
    const logger = silent;
    const user: LedgerUser = {
      actor,
      application: this.#application,
      fateOf: (text) => this.#site.ledgerFateOf(name, text),
      strikeAt: (text) => this.#site.strikeAt(this, text),
    };
    this.#site.users.set(user.application, user);
    const pool = ledger.poolOf(user);
    const connection = { application_name: user.application };
    const clock = new SimulatedClock(world, actor, this.wall);
    const configuration = new Configuration({
      ...settings,
      config: { ...settings.config, epochFile: epochFileOf(name) },
    });
    const { config } = configuration;
    const membership = await joinWorkers({
      ...{ connection, pool, clock: clock.beating(), logger },
      self: {
        ...{ name, host: name, pid: 1, version: "simulated", roles: [...this.#roles] },
        connectors: config.connectors.map((each) => each.name),
      },
      onDrain: () => undefined,
    });
    const onFatal = () => {
      world.say(name, "notices that the ledger was put back, and ends");
      world.later(this.#host, 0, () => this.kill());
    };
    const roles = this.#roles;
    const epoch = await openEpoch(config, { pool, logger, roles, worker: membership, onWentBack: onFatal });
    membership.watch(epoch);
    const context: Context = {
      ...{ configuration, config, host: name, clock, logger, membership, epoch, tracer: noTracer },
      options: {
        ...{ roles, logger, onFatal },
        ...{ wire: network.wireOf(actor), openQueues: async () => queues.of(actor) },
      },
      ledger: { pool, connection, isEmbedded: false, close: async () => undefined },
      ...{ observers: new Set(), certificates: new PeerCertificates(clock), onClose: () => undefined },
    };
    if (roles.has("worker")) await startWorker(context, [connectorOf(actor)]);
    if (roles.has("intake"))
      this.intake = await openIntake(configuration, {
        ...{ pool, worker: membership, clock, logger },
        onCommitted: () => membership.wake(),
      });
    this.#isRunning = true;
  }
}

/**
 * A daemon's session of its own is opened by `new pg.Client`; in the simulation that gives a simulated one. Its settings name whose it
 * is.
 */
export function replaceClients(sessionOf: (application: string) => HeartbeatClient): () => void {
  const { Client } = pg;
  const opens = new Proxy(Client, {
    construct: (target, [config]: [({ readonly application_name?: string } & pg.ClientConfig)?]) => {
      const application = config?.application_name;
      return application?.startsWith("cryobridge-") ? sessionOf(application) : new target(config);
    },
  });
  (pg as { Client: unknown }).Client = opens;
  return () => {
    (pg as { Client: unknown }).Client = Client;
  };
}
