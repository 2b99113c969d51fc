import { EventEmitter } from "node:events";
import { readFile } from "node:fs/promises";
import type pg from "pg";
import { pino } from "pino";
import { type DatabaseConnection, openPool } from "../../src/ledger/database.ts";
import { migrateLedger } from "../../src/ledger/migrate.ts";
import { HEARTBEAT } from "../../src/ledger/workers/roster.ts";
import { type Outcome, ServerSession } from "./server-session.ts";
import type { Actor, World } from "./world.ts";

const silent = pino({ level: "silent" });
const SCHEMAS = "cryobridge,sim,pg_catalog";
/** Rows of histories that were rolled back are cleared away after so many. */
const VACUUM_EVERY = 100;

/** How the ledger treats a step of a daemon. */
export type LedgerFate =
  | "done"
  /** The connection breaks before anything is done. */
  | "refused"
  /** It breaks after all was committed, before the answer comes. */
  | "answer lost";

/** Who uses the ledger, and how it is treated. */
export interface LedgerUser {
  readonly actor: Actor;
  /** The `application_name` of its sessions. */
  readonly application: string;
  /** Asked for each step. */
  readonly fateOf: (text: string) => LedgerFate;
  /** Asked for each statement. */
  readonly strikeAt: (text: string) => Strike | undefined;
}

/** What happens to a process that is at a statement: before anything of the step is done, or once it is committed. */
export interface Strike {
  readonly when: "before" | "after";
  hit(): void;
}

interface Session {
  readonly pid: number;
  readonly client: HeartbeatClient;
}

/**
 * The ledger of a history: the real server with the real statements, on one connection and within one transaction that is
 * rolled back in the end. What a daemon does at once, be it a statement or a transaction, is one step; a transaction is a
 * savepoint.
 */
export class SimulatedLedger {
  readonly #session: ServerSession;
  readonly #sequences: string;
  #histories = 0;
  #world: World | undefined;
  #sessions: Session[] = [];
  #pids = 1_000;
  #copies = 0;
  readonly #kept = new Set<number>();
  #started = 0;
  /** What the server was told last of the time and the session. */
  #told: { readonly at: number; readonly pid: number; readonly started: number } | undefined;
  /** Whether something was done since the last look for what is due, and what that look found. */
  #isChanged = true;
  /** When something was done last, heartbeats left out. */
  changedAt = 0;
  #quietUntil = Number.POSITIVE_INFINITY;
  /** How often the server has ended all sessions. */
  run = 0;
  #ahead = 0;

  private constructor(session: ServerSession, sequences: string) {
    this.#session = session;
    this.#sequences = sequences;
  }

  /** Makes the ledger's tables in an empty database. */
  static async open(connection: DatabaseConnection): Promise<SimulatedLedger> {
    const plain = openPool(
      { connection, schema: "cryobridge", max: 1, applicationName: "simulation" },
      silent,
    );
    await plain.query("create schema cryobridge");
    await plain.query(`set search_path to cryobridge, public`);
    const sql = await readFile(new URL("sessions.sql", import.meta.url), "utf8");
    const [before = "", after = ""] = sql.split(/(?=-- Marks come from the seed)/);
    await plain.query(before);
    await migrateLedger(withSearchPath(plain));
    await plain.query(after);
    await plain.query("set sim.now = '2026-03-01T00:00:00Z'");
    await plain.query("update ledger set instance_code = 'S1MS1M', mark_prefix = 'S1MS'");
    await plain.end();
    const pool = openPool({ connection, schema: SCHEMAS, max: 1, applicationName: "simulation" }, silent);
    const session = await ServerSession.open(pool.options);
    await pool.end();
    await session.script(
      "set idle_in_transaction_session_timeout = 0; set statement_timeout = 0; set lock_timeout = 0; set client_min_messages = error; set plan_cache_mode = force_generic_plan",
    );
    const { rows } = await session.query(
      "select format('%I.%I', schemaname, sequencename) as name from pg_catalog.pg_sequences where schemaname = 'cryobridge' order by 1",
    );
    return new SimulatedLedger(session, rows.map(({ name }) => String(name)).join(","));
  }

  async close(): Promise<void> {
    await this.#session.close();
  }

  /** Begins a history: the tables are as they were made. */
  async begin(world: World, seed: number): Promise<void> {
    this.#world = world;
    this.#sessions = [];
    this.#pids = 1_000;
    this.#copies = 0;
    this.#kept.clear();
    this.#started = world.now - 3_600_000;
    this.#ahead = 0;
    this.#told = undefined;
    this.#change();
    const resets = this.#sequences
      .split(",")
      .map((name) => `setval('${name}', 1, false)`)
      .join(", ");
    const chance = ((seed % 1_000_000) / 1_000_000).toFixed(6);
    await this.#session.script(
      `begin; set constraints all immediate; select ${resets}, setseed(${chance}); ${this.#news(0)} update ledger set created_at = now(); savepoint step`,
    );
  }

  #change(): void {
    this.#isChanged = true;
    this.changedAt = (this.#world as World).now;
  }

  /** Ends it, and leaves nothing of it. */
  async end(): Promise<void> {
    await this.#session.script("rollback");
    this.#histories += 1;
    if (this.#histories % VACUUM_EVERY === 0) await this.#session.script("vacuum");
  }

  /** How far the database's clock is ahead. */
  setAhead(ms: number): void {
    this.#ahead = ms;
    this.#change();
  }

  /** What the server is not yet told of the time and the session. */
  #news(pid: number): string {
    const at = (this.#world?.now ?? 0) + this.#ahead;
    const told = this.#told;
    let news = "";
    if (told?.at !== at) news += `set local sim.now = '${new Date(at).toISOString()}';`;
    if (told?.pid !== pid) news += `set local sim.pid = ${pid};`;
    if (told?.started !== this.#started)
      news += `set local sim.started = '${new Date(this.#started).toISOString()}';`;
    if (news !== "") this.#told = { at, pid, started: this.#started };
    return news;
  }

  /**
   * Begins a step. What the former one did is kept for good only then; a step that only reads needs no savepoint to go back to.
   */
  #enter(pid: number, isReading: boolean): void {
    const news = this.#news(pid);
    const text = isReading ? news : `release savepoint step;${news}savepoint step`;
    if (text !== "") this.#session.script(text).catch(() => undefined);
  }

  /** A statement of the simulation itself. */
  async ask<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    this.#enter(0, true);
    const { rows } = await new Connection(this.#session, "done").query(text, values);
    return rows as Row[];
  }

  /** Until when nothing is due in the ledger, by the world's clock. */
  async quietUntil(): Promise<number> {
    if (this.#isChanged) {
      const [row] = await this.ask<{ ms: number | null }>(QUIET_UNTIL);
      this.#quietUntil = row?.ms == null ? Number.POSITIVE_INFINITY : row.ms - this.#ahead;
      this.#isChanged = false;
    }
    return this.#quietUntil;
  }

  /** Lets time go by in which the daemons of these sessions have shown that they live. */
  async leap(ms: number, applications: readonly string[]): Promise<void> {
    await this.ask(LEAP_WORKERS, [ms, applications]);
  }

  /** Puts a copy of the ledger aside. */
  async copy(): Promise<{ restore(): Promise<boolean> }> {
    this.#copies += 1;
    const nth = this.#copies;
    const name = `copy_${nth}`;
    this.#kept.add(nth);
    await this.#session.script(`release savepoint step; savepoint ${name}; savepoint step`);
    const names = this.#sequences.split(",");
    const read = names
      .map((each) => `select '${each}' as name, last_value, is_called from ${each}`)
      .join(" union all ");
    const { rows } = await this.#session.query(read);
    return {
      restore: async () => {
        // One that was taken since is gone with what it was taken of.
        if (!this.#kept.has(nth)) return false;
        for (const each of this.#kept) if (each > nth) this.#kept.delete(each);
        await this.#session.script(`rollback to savepoint ${name}; savepoint step`);
        this.#told = undefined;
        this.#change();
        const sets = rows.map((each) => `setval('${each.name}', ${each.last_value}, ${each.is_called})`);
        await this.#session.script(`select ${sets.join(", ")}`);
        await this.restart();
        return true;
      },
    };
  }

  /** The server ends all sessions, and is another run from then on. */
  async restart(): Promise<void> {
    this.#started = (this.#world as World).now + this.#ahead;
    this.run += 1;
    await this.#session.query("delete from sim.sessions");
    await this.#breakEnded();
  }

  /** The sessions of a process that died end with it. */
  async endSessionsOf(application: string): Promise<void> {
    await this.#session.query("delete from sim.sessions where application_name = $1", [application]);
    this.#sessions = this.#sessions.filter(({ client }) => client.application !== application);
  }

  /** Tells clients whose session the server has ended. */
  async #breakEnded(): Promise<void> {
    if (this.#sessions.length === 0) return;
    const { rows } = await this.#session.query("select pid from sim.sessions");
    const alive = new Set(rows.map(({ pid }) => Number(pid)));
    const [ended, rest] = [
      this.#sessions.filter(({ pid }) => !alive.has(pid)),
      this.#sessions.filter(({ pid }) => alive.has(pid)),
    ];
    this.#sessions = rest;
    for (const { client } of ended) client.lose();
  }

  /** What the program is given as its pool. */
  poolOf(user: LedgerUser): pg.Pool {
    return new SimulatedPool(this, user) as unknown as pg.Pool;
  }

  /** What the program gets when it opens a session of its own. */
  sessionOf(user: LedgerUser): HeartbeatClient {
    return new HeartbeatClient(this, user);
  }

  /** Schedules one step; a transaction's is over when its connection is given back. */
  step<T>(
    user: LedgerUser,
    pid: number,
    text: string,
    work: (connection: Connection) => Promise<T>,
  ): Promise<T> {
    const world = this.#world as World;
    const isReading = READS.test(text);
    return new Promise<T>((resolve, reject) => {
      world.later(user.actor, world.between(0, 3), async () => {
        const connection = new Connection(this.#session, user.fateOf(text), {
          strikeAt: user.strikeAt,
          awake: () => world.sleep(user.actor, 0),
        });
        // One that was struck hears of it once it is awake.
        const tell = (give: () => void) => {
          if (connection.isStruck) world.later(user.actor, 0, give);
          else give();
        };
        try {
          if (connection.fate === "refused") throw broken();
          this.#enter(pid, isReading);
          const result = await Promise.race([work(connection), connection.broken]).finally(() => {
            if (connection.mayHaveWritten && text !== HEARTBEAT) this.#change();
          });
          await connection.keep();
          if (connection.fate === "answer lost") throw broken();
          tell(() => resolve(result));
        } catch (error) {
          // What it would go back to is the step before.
          if (isReading && connection.hasFailed) throw error;
          if (connection.fate !== "refused" && !isReading) await connection.rollback();
          tell(() => reject(error));
        }
        if (connection.hasEndedSessions) await this.#breakEnded();
      });
    });
  }

  /** Enters a session. */
  async connect(user: LedgerUser, client: HeartbeatClient): Promise<number> {
    this.#pids += 1;
    const pid = this.#pids;
    await this.step(user, pid, "connect", (connection) =>
      connection.query("insert into sim.sessions values ($1, $2, now())", [pid, user.application]),
    );
    this.#sessions.push({ pid, client });
    return pid;
  }

  async disconnect(client: HeartbeatClient): Promise<void> {
    const own = this.#sessions.find((each) => each.client === client);
    if (!own) return;
    this.#sessions = this.#sessions.filter((each) => each !== own);
    const world = this.#world as World;
    world.later(SERVER, 0, async () => {
      await this.#session.query("delete from sim.sessions where pid = $1", [own.pid]);
    });
  }

  /** Wakes up all that listen. */
  notify(): void {
    const world = this.#world as World;
    for (const { client } of this.#sessions)
      world.later(client.actor, world.between(0, 3), () => void client.emit("notification", {}));
  }

  /** Has a daemon hear something of its session, which it does when it is awake. */
  tell(client: HeartbeatClient, event: string): void {
    (this.#world as World).later(client.actor, 0, () => void client.emit(event));
  }
}

/**
 * When the next thing is due, as ms since the epoch. What waits behind a parked order is not due, nor is a result, or what waits to be
 * composed, behind one that the lab has not taken, nor what needs a call while none may leave; what is in a daemon's hands is, unless the ledger's clock has gone back and the daemon, which
 * may be dead, was last heard of in what is the future now.
 */
const QUIET_UNTIL = `
select extract(epoch from min(d.at))::float8 * 1000 as ms
  from (select greatest(o.next_at, p.asked_until, p.until_at) as at
          from orders o
         cross join service_pause p
         where o.state in ('received', 'submitted', 'accepted', 'in_progress')
           and (o.state <> 'received' or o.held_at is null)
           and (o.state <> 'received'
                or not exists (select 1
                                 from orders e
                                where e.lane = o.lane
                                  and e.id < o.id
                                  and e.state in ('received', 'submitting', 'parked')))
        union all
        select greatest(now(), w.heartbeat_at)
          from orders o
          join workers w on w.id = o.owner
         where o.state = 'submitting'
        union all
        select greatest(k.look_at, p.asked_until, p.until_at)
          from calls k
         cross join service_pause p
         where k.look_at is not null
        union all
        select r.next_at
          from control_requests r
          join orders o on o.id = r.order_id
         where r.state = 'open'
           and o.state in ('submitted', 'accepted', 'in_progress')
        union all
        select d.next_at
          from deliveries d
         where d.state = 'pending'
           and not exists (select 1
                             from deliveries e
                            where e.order_ids && d.order_ids
                              and e.id < d.id
                              and e.state in ('pending', 'parked')
                              and not (e.state = 'parked' and e.is_answer))
        union all
        select coalesce((select min(d.next_at)
                           from deliveries d
                          where d.connector = t.connector
                            and d.state = 'pending'), now())
          from outcomes t
         where not t.is_composed) d`;

/** $1 ms, $2 text[] names of sessions. */
const LEAP_WORKERS = `
update workers
   set heartbeat_at = heartbeat_at + $1 * interval '1 millisecond'
 where sessions = any ($2)
   and ended_at is null`;

/** Statements that change nothing: a session's locks are rows here. */
const READS = /^\s*select(?!.*(?:advisory|terminate|nextval|pg_notify))/s;

/** Statements that say nothing of what is due. */
const CONTROLS = /^\s*(?:begin|commit|rollback|savepoint|release|set|select pg_advisory_xact_lock)\b/i;

const wroteNothing = ({ command, rowCount }: Outcome): boolean =>
  rowCount === 0 && ["INSERT", "UPDATE", "DELETE"].includes(command);

const SERVER: Actor = { name: "database server", state: "up" };

function broken(): Error {
  return Object.assign(new Error("Connection terminated unexpectedly"), { code: "ECONNRESET" });
}

/** Whose step it is: what happens to it, and until when it hears nothing. */
interface Process extends Pick<LedgerUser, "strikeAt"> {
  awake(): Promise<void>;
}

/** The one connection, lent for a step. */
class Connection {
  readonly fate: LedgerFate;
  hasEndedSessions = false;
  /** Whether a statement may have changed what is due; a claim that takes nothing has not. */
  mayHaveWritten = false;
  /** Whether a statement failed and nothing was taken back since. */
  hasFailed = false;
  /** Whether its process was struck; it hears nothing of what it is at then. */
  isStruck = false;
  #isKept = false;
  #isTakenBack = false;
  #strike: Strike | undefined;
  readonly #process: Process | undefined;
  readonly #break = Promise.withResolvers<never>();
  readonly #session: ServerSession;

  constructor(session: ServerSession, fate: LedgerFate, process?: Process) {
    this.#session = session;
    this.fate = fate;
    this.#process = process;
    this.broken.catch(() => undefined);
  }

  /** Rejects when it breaks. */
  get broken(): Promise<never> {
    return this.#break.promise;
  }

  get connection(): unknown {
    return this.#session.connection;
  }

  query(given: string | pg.QueryConfig, values: unknown[] = []): Promise<Outcome> {
    const text = typeof given === "string" ? given : given.text;
    this.#strike ??= this.#process?.strikeAt(text);
    if (this.#strike?.when === "before") {
      this.#hit();
      return this.awake().then(() => {
        throw broken();
      });
    }
    if (text.includes("pg_terminate_backend")) this.hasEndedSessions = true;
    const list = typeof given === "string" ? values : (given.values ?? []);
    const isScript = list.length === 0 && text.includes(";");
    const asked = isScript ? this.#session.script(text) : this.#session.query(text, list);
    asked.then(
      (result) => {
        if (!READS.test(text) && !CONTROLS.test(text) && !wroteNothing(result)) this.mayHaveWritten = true;
      },
      () => {
        this.mayHaveWritten = true;
        this.hasFailed = true;
      },
    );
    return asked;
  }

  /** From here on nothing of it is taken back, unless a statement failed. */
  async keep(): Promise<void> {
    if (this.#isKept) return;
    if (this.hasFailed) await this.rollback();
    this.#isKept = true;
    this.#hit();
  }

  /** Resolves once the process hears what came of it. */
  async awake(): Promise<void> {
    if (this.isStruck) await this.#process?.awake();
  }

  #hit(): void {
    if (!this.#strike || this.isStruck) return;
    this.isStruck = true;
    this.#strike.hit();
    this.#break.reject(broken());
  }

  /** Takes back what was done in the step. */
  async rollback(): Promise<void> {
    if (this.#isKept || this.#isTakenBack) return;
    this.#isTakenBack = this.isStruck;
    this.hasFailed = false;
    await this.#session.script("rollback to savepoint step");
  }
}

/** Takes statements and transactions of the program. */
class SimulatedPool {
  readonly #ledger: SimulatedLedger;
  readonly #user: LedgerUser;
  /** What the program wants to be asked of each new session. */
  check: ((client: Connection) => Promise<void>) | undefined;
  #run: number;

  constructor(ledger: SimulatedLedger, user: LedgerUser) {
    this.#ledger = ledger;
    this.#user = user;
    this.#run = ledger.run;
  }

  query(given: string | pg.QueryConfig, values?: unknown[]): Promise<Outcome> {
    const text = typeof given === "string" ? given : given.text;
    return this.#ledger.step(this.#user, 0, text, async (connection) => {
      await this.#begin(connection);
      return connection.query(given, values);
    });
  }

  /** Its sessions are new ones after the server has ended them. */
  async #begin(connection: Connection): Promise<void> {
    if (this.#run === this.#ledger.run) return;
    await this.check?.(connection);
    this.#run = this.#ledger.run;
  }

  connect(): Promise<TransactionClient> {
    return new Promise((resolve, reject) => {
      this.#ledger
        .step(this.#user, 0, "transaction", async (connection) => {
          await this.#begin(connection);
          const client = new TransactionClient(connection);
          resolve(client);
          await client.released;
        })
        .catch(reject);
    });
  }

  async end(): Promise<void> {}
}

/** A connection of the pool, for one transaction. */
class TransactionClient extends EventEmitter {
  readonly released: Promise<void>;
  readonly #connection: Connection;
  #release: () => void = () => undefined;

  constructor(connection: Connection) {
    super();
    this.#connection = connection;
    this.released = new Promise((resolve) => {
      this.#release = resolve;
    });
  }

  get connection(): unknown {
    return this.#connection.connection;
  }

  async query(given: string | pg.QueryConfig, values?: unknown[]): Promise<unknown> {
    if (given === "begin") return { rows: [] };
    if (given === "rollback") {
      await this.#connection.rollback();
      return { rows: [] };
    }
    if (given === "commit") {
      await this.#connection.keep();
      await this.#connection.awake();
      if (this.#connection.fate === "answer lost") throw broken();
      return { rows: [] };
    }
    return this.#connection.query(given, values);
  }

  release(): void {
    this.#release();
  }
}

/** A session of a daemon's own, as `pg.Client` is one. */
export class HeartbeatClient extends EventEmitter {
  readonly #ledger: SimulatedLedger;
  readonly #user: LedgerUser;
  readonly connection = { stream: { destroy: () => void this.end() } };
  #pid = 0;
  #isOver = false;

  constructor(ledger: SimulatedLedger, user: LedgerUser) {
    super();
    this.#ledger = ledger;
    this.#user = user;
  }

  get actor(): Actor {
    return this.#user.actor;
  }

  get application(): string {
    return this.#user.application;
  }

  async connect(): Promise<void> {
    this.#pid = await this.#ledger.connect(this.#user, this);
  }

  async query(given: string | pg.QueryConfig, values?: unknown[]): Promise<unknown> {
    const text = typeof given === "string" ? given : given.text;
    if (this.#isOver) throw broken();
    if (text.startsWith("listen ")) return { rows: [] };
    if (text.startsWith("select pg_notify")) {
      this.#ledger.notify();
      return { rows: [] };
    }
    const result = await this.#ledger
      .step(this.#user, this.#pid, text, (connection) => connection.query(given, values))
      .catch((error: unknown) => {
        // A connection that broke is over.
        if (error instanceof Error && "code" in error && error.code === "ECONNRESET") this.lose();
        throw error;
      });
    if (this.#isOver) throw broken();
    return result;
  }

  /** The server has ended the session. */
  lose(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    void this.#ledger.disconnect(this);
    this.#ledger.tell(this, "end");
  }

  async end(): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    await this.#ledger.disconnect(this);
  }
}

/** Lets the migrations see the simulation's functions, so that what they make, such as defaults, calls those. */
function withSearchPath(pool: pg.Pool): pg.Pool {
  return {
    connect: async () => {
      const client = await pool.connect();
      await client.query("set sim.now = '2026-03-01T00:00:00Z'");
      const query = client.query.bind(client) as (text: string, values?: unknown[]) => Promise<unknown>;
      return {
        on: client.on.bind(client),
        off: client.off.bind(client),
        release: (how?: boolean) => client.release(how ?? true),
        query: (text: string, values?: unknown[]) =>
          query(
            text.startsWith("set local search_path") ? `set local search_path to ${SCHEMAS},public` : text,
            values,
          ),
      };
    },
  } as unknown as pg.Pool;
}
