import pg from "pg";
import type { Clock } from "../../core/clock.ts";
import { EVERY_MS } from "../../core/every.ts";
import type { Logger } from "../../core/logger.ts";
import type { ServiceNews } from "../../core/service-outage.ts";
import type { DatabaseConnection } from "../database.ts";
import { asLedgerFailure } from "../database-failures.ts";
import { WORKER_LOCK } from "../locks.ts";
import type { Epoch } from "../restored/epoch.ts";
import { sessionOptions } from "../session-settings.ts";
import { SURE_FOR_MS, workLock } from "./alive.ts";
import {
  endWorker,
  HEARTBEAT,
  type Heartbeat,
  type NewWorker,
  newsOf,
  registerWorker,
  takeOver,
} from "./roster.ts";

/**
 * This daemon among those of a ledger. It holds a lock of its own on a session of its own, and a heartbeat each second: one
 * whose lock is gone is dead, and others take over within seconds what it had in hand.
 */
export interface Membership {
  /**
   * As the owner of orders in hand. Another one after it was taken for dead, and once the database was restarted or is another
   * one: what it may have lost of the latest commits, it may give again.
   */
  readonly id: number;
  /**
   * Whether nobody can have taken over yet: to be asked right before a call or a message leaves. It is not while the database
   * is away, or after the process was stopped for a while.
   */
  readonly isSure: boolean;
  /** The time by the database's clock, ms since 1970, whatever this machine's says: that of the latest heartbeat, and what has gone by since. */
  ledgerNow(): number;
  /** Resolves once it is, or when the signal is aborted; gives whether it is. */
  untilSure(signal: AbortSignal): Promise<boolean>;
  /** Whether this one feeds the queues and calls the service for all. True of two for some seconds at most. */
  readonly isLeader: boolean;
  /** How many daemons submit from the ledger, this one included if it does; at least 1. */
  readonly workers: number;
  /** Goes up whenever this one hears that daemons that submit have come or gone, and never down. */
  readonly rosterChanges: number;
  /** From now on it may become the leader, and be it while the service answers it: it is ready to do what the leader does. */
  mayLead(isAnswered: () => boolean): void;
  /** From now on each heartbeat looks how far the ledger has come. */
  watch(epoch: Pick<Epoch, "look">): void;
  /** Calls back with what each heartbeat says of the service, and at once with the latest, until the returned function is called. */
  onNews(listener: (news: ServiceNews) => void): () => void;
  /** Calls back when something may have become due, until the returned function is called. */
  onWake(listener: () => void): () => void;
  /** Has this one and the leader look for what may have become due. Cheap, however often it is called. */
  wake(): void;
  /** Calls back for each request of a person to reload the configuration, also one that came before this call. */
  onReload(listener: (request: number) => void): void;
  /**
   * Does something that one worker at a time may do. The lock ends with the session, so `isHeld` is asked before each step.
   *
   * @returns false when another one has the lock, and nothing was done
   */
  exclusively(name: string, work: (isHeld: () => boolean) => Promise<void>): Promise<boolean>;
  /** Notes that this one stopped. What it still has in hand is free. */
  leave(): Promise<void>;
}

export interface MembershipDeps {
  /** With an `application_name` that all sessions of this daemon have, and nobody else's. */
  readonly connection: DatabaseConnection;
  readonly pool: pg.Pool;
  readonly self: NewWorker;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A person asked this one to stop. Called once. */
  readonly onDrain: () => void;
}

const TRY_AGAIN_MS = 500;
/** How often one that waits until it is sure looks whether it is. */
const LOOK_AGAIN_MS = 100;
/** What wakes the leader is gathered this long. */
const GATHER_WAKES_MS = 20;
const CHANNEL = "cryobridge_due";
/**
 * A machine that is gone is noticed within 4 s, ignored where the connection is a Unix socket; and a heartbeat that a crash of
 * the database forgets does no harm.
 */
const SESSION = sessionOptions("cryobridge", {
  ...{ tcp_keepalives_idle: "2", tcp_keepalives_interval: "1", tcp_keepalives_count: "2" },
  ...{ synchronous_commit: "off", statement_timeout: "0", lock_timeout: "0" },
});
/** Another one after a restart, a failover, and where the database was made anew. */
const FIND_RUN = `
select concat_ws(' ', extract(epoch from pg_postmaster_start_time()), d.oid) as run
  from pg_database d
 where d.datname = current_database()`;
/** Also names the session, so that it is known again when it lives on behind a broken connection; $1 the worker. */
const TRY_LOCK = `
select pg_try_advisory_lock(${WORKER_LOCK}, $1) as "isOurs", a.pid, a.backend_start::text as since
  from pg_stat_activity a
 where a.pid = pg_backend_pid()`;
/** $1 pid, $2 since when; a pid may be another session's by now. */
const END_SESSION = `
select pg_terminate_backend(a.pid)
  from pg_stat_activity a
 where a.pid = $1
   and a.backend_start = $2::timestamptz`;
/** $1 what it is. */
const TRY_WORK = `select pg_try_advisory_lock(${workLock("$1")}) as is_ours`;
const END_WORK = `select pg_advisory_unlock(${workLock("$1")})`;

const NEVER = { monotonic: Number.NEGATIVE_INFINITY, wall: Number.NEGATIVE_INFINITY };

/** A session of the database server's. */
interface Session {
  readonly client: pg.Client;
  readonly pid: number;
  readonly since: string;
  isOver: boolean;
}

/**
 * Enters this daemon among the workers of a ledger.
 *
 * @throws Failure LEDGER_UNAVAILABLE
 */
export async function joinWorkers(deps: MembershipDeps): Promise<Membership> {
  const member = new Member(deps);
  await member.join();
  return member;
}

class Member implements Membership {
  readonly #deps: MembershipDeps;
  readonly #stop = new AbortController();
  readonly #locks = new Set<string>();
  readonly #listeners = new Set<(news: ServiceNews) => void>();
  readonly #wakeListeners = new Set<() => void>();
  #reload: ((request: number) => void) | undefined;
  #id = 0;
  /** Which run of the server it entered in; undefined where it isn't among the workers (any more). */
  #run: string | undefined;
  #epoch: Pick<Epoch, "look"> | undefined;
  #session: Session | undefined;
  #former: Session | undefined;
  #said: Heartbeat | undefined;
  rosterChanges = 0;
  /** When the latest heartbeat that was answered was sent, by both clocks: one stands still while a machine sleeps, one may jump. */
  #sentAt = NEVER;
  #ledgerAt = { monotonic: 0, ms: 0 };
  #beating: Promise<void> = Promise.resolve();
  #endBeat = () => {};
  #wake: NodeJS.Timeout | undefined;
  #isDrainSaid = false;
  #reloadSaid = 0;
  #isAnswered: (() => boolean) | undefined;
  #takingOver: Promise<void> | undefined;

  constructor(deps: MembershipDeps) {
    this.#deps = deps;
  }

  get id(): number {
    return this.#id;
  }

  get isSure(): boolean {
    return this.#session !== undefined && this.#silentMs() < SURE_FOR_MS;
  }

  ledgerNow(): number {
    return this.#ledgerAt.ms + this.#deps.clock.monotonic() - this.#ledgerAt.monotonic;
  }

  async untilSure(signal: AbortSignal): Promise<boolean> {
    while (!this.isSure && !signal.aborted)
      await this.#deps.clock.sleep(LOOK_AGAIN_MS, signal).catch(() => undefined);
    return this.isSure;
  }

  get isLeader(): boolean {
    return this.isSure && this.#said?.isLeader === true;
  }

  get workers(): number {
    return Math.max(1, this.#said?.workerIds.length ?? 1);
  }

  async join(): Promise<void> {
    try {
      this.#session = await this.#attach();
      await this.#beat(this.#session);
    } catch (error) {
      await this.#session?.client.end().catch(() => undefined);
      throw asLedgerFailure(error);
    }
    this.#beating = this.#keepBeating();
  }

  mayLead(isAnswered: () => boolean): void {
    this.#isAnswered = isAnswered;
    this.#endBeat();
  }

  watch(epoch: Pick<Epoch, "look">): void {
    this.#epoch = epoch;
  }

  onNews(listener: (news: ServiceNews) => void): () => void {
    this.#listeners.add(listener);
    if (this.#said) listener(newsOf(this.#said));
    return () => this.#listeners.delete(listener);
  }

  onWake(listener: () => void): () => void {
    this.#wakeListeners.add(listener);
    return () => this.#wakeListeners.delete(listener);
  }

  onReload(listener: (request: number) => void): void {
    this.#reload = listener;
    if (this.#reloadSaid !== 0) listener(this.#reloadSaid);
  }

  wake(): void {
    this.#wakeUp();
    if (this.isLeader || this.#wake !== undefined) return;
    this.#wake = setTimeout(() => {
      this.#wake = undefined;
      // The leader looks each second anyway.
      void this.#session?.client.query("select pg_notify($1, '')", [CHANNEL]).catch(() => undefined);
    }, GATHER_WAKES_MS).unref();
  }

  async exclusively(name: string, work: (isHeld: () => boolean) => Promise<void>): Promise<boolean> {
    const session = this.#session;
    if (!session || this.#locks.has(name)) return false;
    this.#locks.add(name);
    // A lock that was not answered may have been taken.
    let isOthers = false;
    try {
      const { rows } = await session.client.query<{ is_ours: boolean }>(TRY_WORK, [name]);
      isOthers = rows[0]?.is_ours !== true;
      if (isOthers) return false;
      await work(() => this.#session === session && this.isSure);
      return true;
    } finally {
      this.#locks.delete(name);
      if (!isOthers && !session.isOver) await session.client.query(END_WORK, [name]).catch(() => undefined);
    }
  }

  async leave(): Promise<void> {
    this.#stop.abort();
    this.#endBeat();
    clearTimeout(this.#wake);
    await this.#beating;
    await this.#takingOver;
    // What still runs may send nothing from here on: others may take over as soon as the end is noted.
    const session = this.#session;
    this.#session = undefined;
    await endWorker(this.#deps.pool, this.#id).catch((error: unknown) =>
      this.#deps.logger.warn({ err: error }, "it could not be noted that this worker stopped"),
    );
    await session?.client.end().catch(() => undefined);
  }

  async #keepBeating(): Promise<void> {
    const { clock, logger } = this.#deps;
    const { signal } = this.#stop;
    while (!signal.aborted) {
      const ended = new Promise<void>((resolve) => {
        this.#endBeat = resolve;
      });
      const pausing = new AbortController();
      const pauseMs = this.#session ? EVERY_MS.heartbeat : TRY_AGAIN_MS;
      await Promise.race([clock.sleep(pauseMs, pausing.signal).catch(() => undefined), ended]);
      // A reason spares an exception with a stack that nobody looks at.
      pausing.abort("over");
      if (signal.aborted) return;
      try {
        this.#session ??= await this.#attach();
        await this.#beat(this.#session);
      } catch (error) {
        if (this.#session)
          logger.warn({ err: error }, "no heartbeat goes through; nothing is sent until one does");
        this.#drop();
      }
    }
  }

  /** Enters itself, as a new one where it was there before: what it had in hand is free then. */
  async #enter(run: string): Promise<void> {
    const { pool, self, connection, logger } = this.#deps;
    const former = this.#id;
    if (this.#run !== undefined) await endWorker(pool, former);
    this.#id = await registerWorker(pool, self, connection.application_name);
    this.#run = run;
    this.#former = undefined;
    if (former !== 0)
      logger.warn(
        { worker: this.#id, former },
        "the database was restarted, or others took this worker's work over; it goes on as a new one",
      );
  }

  /** Opens the session and takes this worker's lock on it. */
  async #attach(): Promise<Session> {
    const { connection } = this.#deps;
    const client = new pg.Client({
      ...connection,
      keepAlive: true,
      options: SESSION,
      // A heartbeat that is answered later lets nobody act.
      connectionTimeoutMillis: SURE_FOR_MS,
      query_timeout: SURE_FOR_MS,
      // A heartbeat and the locks of several connectors may be asked for at the same time.
      pipeline: true,
    });
    client.on("error", () => undefined);
    try {
      await client.connect();
      const [here] = (await client.query<{ run: string }>(FIND_RUN)).rows;
      if (!here) throw new RangeError("the database does not know itself");
      if (here.run !== this.#run) await this.#enter(here.run);
      const { rows } = await client.query<{ isOurs: boolean; pid: number; since: string }>(TRY_LOCK, [
        this.#id,
      ]);
      const [row] = rows;
      if (!row?.isOurs) {
        // Its former session lives on behind a connection that broke.
        if (this.#former) await client.query(END_SESSION, [this.#former.pid, this.#former.since]);
        throw new Error("another session has the worker's lock");
      }
      await client.query(`listen ${CHANNEL}`);
      const session: Session = { client, pid: row.pid, since: row.since, isOver: false };
      client.on("notification", () => {
        if (this.isLeader) this.#wakeUp();
      });
      client.once("end", () => {
        session.isOver = true;
        if (this.#session !== session) return;
        this.#drop();
        this.#endBeat();
      });
      this.#former = session;
      return session;
    } catch (error) {
      void client.end().catch(() => undefined);
      throw error;
    }
  }

  async #beat(session: Session): Promise<void> {
    const { clock, logger, onDrain } = this.#deps;
    const sentAt = { monotonic: clock.monotonic(), wall: clock.now() };
    const compare = this.#epoch?.look();
    const { rows } = await session.client.query<Heartbeat>({
      // Planned once a session.
      name: "heartbeat",
      text: HEARTBEAT,
      values: [this.#id, this.#isAnswered?.() === true, this.#said?.isLeader === true],
    });
    const [said] = rows;
    // The others took this worker for dead, and have what it had in hand.
    if (!said) {
      this.#run = undefined;
      return this.#drop();
    }
    compare?.(said);
    const wasLeader = this.#said?.isLeader;
    if (said.workerIds.join() !== this.#said?.workerIds.join()) this.rosterChanges += 1;
    this.#said = said;
    this.#sentAt = sentAt;
    this.#ledgerAt = { monotonic: sentAt.monotonic, ms: said.nowMs };
    for (const listener of this.#listeners) listener(newsOf(said));
    if (said.isLeader && !wasLeader) {
      logger.info({ worker: this.#id }, "this worker is the leader: it hands out the work");
      this.#wakeUp();
    }
    if (said.isDraining && !this.#isDrainSaid) {
      this.#isDrainSaid = true;
      onDrain();
    }
    if (said.reload !== this.#reloadSaid) {
      this.#reloadSaid = said.reload;
      // One that entered anew was asked for nothing yet.
      if (said.reload !== 0) this.#reload?.(said.reload);
    }
    // Beside the heartbeats: orders of a frozen worker may be locked by it for a while.
    if (said.gone.length > 0)
      this.#takingOver ??= this.#takeOver(said.gone)
        .catch((error: unknown) =>
          logger.warn({ err: error }, "a worker's work could not be taken over; it is tried again"),
        )
        .finally(() => {
          this.#takingOver = undefined;
        });
  }

  async #takeOver(gone: readonly number[]): Promise<void> {
    const { workers, orders } = await takeOver(this.#deps.pool, gone);
    for (const { id, name } of workers)
      this.#deps.logger.warn({ worker: id, name }, "a worker was lost; its work is taken over");
    if (orders === 0) return;
    this.#deps.logger.warn({ orders }, "orders whose worker was lost were taken over");
    this.wake();
  }

  #wakeUp(): void {
    for (const listener of this.#wakeListeners) listener();
  }

  #silentMs(): number {
    const { clock } = this.#deps;
    return Math.max(clock.monotonic() - this.#sentAt.monotonic, clock.now() - this.#sentAt.wall);
  }

  #drop(): void {
    const session = this.#session;
    this.#session = undefined;
    this.#said = undefined;
    // A new session may be to a ledger that was put back: nothing is sent before its first heartbeat.
    this.#sentAt = NEVER;
    if (!session) return;
    session.isOver = true;
    // What is under way on it has to fail now, not when the system finds out.
    session.client.connection.stream.destroy();
    void session.client.end().catch(() => undefined);
  }
}
