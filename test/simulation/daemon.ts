import pg from "pg";
import { pino } from "pino";
import { Configuration, type Settings } from "../../src/app/configuration.ts";
import { connectorOf } from "../../src/app/connectors.ts";
import { openIntake } from "../../src/app/intake.ts";
import { BATCHES_AT_ONCE, deliveryTargets, runJobs } from "../../src/app/jobs.ts";
import { UntakenValues } from "../../src/app/own-troubles.ts";
import { openEpoch, watchRestored } from "../../src/app/restored.ts";
import { openService } from "../../src/app/service.ts";
import { createSideWork } from "../../src/app/side-work.ts";
import type { Connector } from "../../src/connectors/connector.ts";
import { EVERY_MS } from "../../src/core/every.ts";
import type { Intake } from "../../src/core/intake.ts";
import { noTracer } from "../../src/core/order-step.ts";
import { type Feeder, startFeeder } from "../../src/jobs/feeder.ts";
import { InHand } from "../../src/jobs/submit/in-hand.ts";
import { pollPauseMs } from "../../src/jobs/track/track.ts";
import { UnreadFacilities } from "../../src/jobs/track/unread.ts";
import { joinWorkers, type Membership } from "../../src/ledger/workers/membership.ts";
import { reportToOthers } from "../../src/ledger/workers/service-pause.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import { LONGEST_RETRY_MS } from "../../src/service/http/answer.ts";
import type { HeartbeatClient, LedgerFate, LedgerUser, SimulatedLedger } from "./ledger.ts";
import type { SimulatedNetwork } from "./network.ts";
import type { SimulatedQueues } from "./queues.ts";
import { type Actor, SimulatedClock, type World } from "./world.ts";

const silent = pino(
  { level: process.env.SIMULATION_LOG ?? "silent" },
  { write: (line: string) => void process.stderr.write(line) },
);
const RESTART_MS = 1_500;
/** Nothing is pruned: the oracles look at all that was. */
const neverAlone = { exclusively: async () => false };

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
  service: ServiceClient | undefined;
  pool: pg.Pool | undefined;
  isStopped = false;

  constructor(site: Site, name: string) {
    this.#site = site;
    this.name = name;
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
    return this.#actor.state === "up" && this.intake !== undefined;
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

  /** Ends at once, in the middle of whatever it does; another one starts in its place a moment later. */
  kill(): void {
    if (this.#actor.state === "dead") return;
    this.#actor.state = "dead";
    this.intake = undefined;
    const application = this.#application;
    const { world, ledger } = this.#site;
    world.later(this.#host, 0, () => ledger.endSessionsOf(application));
    world.later(this.#host, RESTART_MS, () => {
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
    const { world, ledger, network, queues: place, settings, connectorOf: openConnector } = this.#site;
    const { name } = this;
    const logger = silent;
    const user: LedgerUser = {
      actor,
      application: this.#application,
      fateOf: (text) => this.#site.ledgerFateOf(name, text),
    };
    this.#site.users.set(user.application, user);
    const pool = ledger.poolOf(user);
    const clock = new SimulatedClock(world, actor, this.wall);
    const configuration = new Configuration({
      ...settings,
      config: { ...settings.config, epochFile: this.#site.epochFileOf(name) },
    });
    const { config } = configuration;
    const feederOf: { current: Feeder | undefined } = { current: undefined };
    const connectorNames = config.connectors.map((each) => each.name);
    const membership: Membership = await joinWorkers({
      connection: { application_name: this.#application },
      pool,
      self: {
        ...{ name, host: name, pid: 1, version: "simulated", roles: ["intake", "worker"] },
        connectors: connectorNames,
      },
      ...{ clock: clock.beating(), logger },
      onWake: () => feederOf.current?.nudge(),
      onDrain: () => undefined,
      onReload: () => undefined,
    });
    const epoch = await openEpoch(config, {
      ...{ pool, logger, worker: membership },
      onWentBack: () => {
        world.say(name, "notices that the ledger was put back, and ends");
        world.later(this.#host, 0, () => this.kill());
      },
    });
    membership.watch(epoch);
    const { random } = world;
    const service = openService(config, {
      ...{ clock, logger, random, wire: network.wireOf(actor), others: reportToOthers(pool, logger) },
    });
    membership.onNews((news) => service.follow(news));
    const stopping = new AbortController();
    const queues = place.of(actor, stopping);
    const isServiceReachable = () => membership.isSure && service.breaker.state !== "open";
    const mayCall = () => membership.isLeader && isServiceReachable();
    const inHand = new InHand();
    const untaken = new UntakenValues(clock);
    const targets = deliveryTargets(configuration, { pool, clock, untaken }, [openConnector(actor)]);
    const nudge = () => {
      feederOf.current?.nudge();
      membership.wakeLeader();
    };
    const side = { pool, service, clock, logger, tracer: noTracer, onProgress: nudge };
    const restored = watchRestored(config, {
      ...{ ...side, service: service.for("reconciling"), epoch, worker: membership, mayCall },
    });
    const sideWork = createSideWork(config, { ...side, mayCall, worker: neverAlone });
    feederOf.current = startFeeder({
      ...{ pool, queues, logger, worker: membership, inHand, isServiceReachable, clock: clock.idle() },
      mayTryLab: (connector) => targets.get(connector)?.breaker.mayTry === true,
      onDue: (due) => {
        restored.begin(due);
        sideWork.begin(due);
      },
      settings: {
        submitsAtOnce: BATCHES_AT_ONCE,
        tickMs: EVERY_MS.due,
        pollPauseMs: pollPauseMs(config.service.polling),
        longestPauseMs: Math.max(
          ...[config.service.polling.maxMs, config.service.reconcile.giveUpAfterMs],
          ...[config.service.reconcile.recheckMs, LONGEST_RETRY_MS],
        ),
        connectors: new Set(connectorNames),
        gatherMsByConnector: new Map(),
      },
    });
    await runJobs(
      { config, clock, logger, pool, membership, tracer: noTracer, onClose: () => undefined },
      {
        ...{ queues, service, nudge, inHand, targets, epoch },
        unread: new UnreadFacilities(clock, config.service.polling.firstMs * 2),
        batchSize: () => 8,
        requireNewestKnown: restored.requireNewestKnown,
      },
    );
    membership.mayLead(() => service.breaker.state === "closed");
    this.pool = pool;
    this.service = service;
    this.intake = await openIntake(configuration, {
      ...{ pool, worker: membership, clock, logger },
      onCommitted: nudge,
    });
    connectorOf(configuration, connectorNames[0] ?? "");
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
