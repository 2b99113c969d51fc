import type pg from "pg";
import type { DatabaseConnection } from "../../../src/ledger/database.ts";
import { HEARTBEAT } from "../../../src/ledger/workers/roster.ts";
import type { Actor, World } from "../world.ts";
import { LEAP_WORKERS, QUIET_UNTIL } from "./due.ts";
import { HeartbeatClient, type SessionKeeper } from "./own-session.ts";
import { SimulatedPool } from "./pool.ts";
import type { ServerSession } from "./server-session.ts";
import { broken, kindOf, type LedgerUser, StepConnection } from "./step.ts";
import { makeTables } from "./tables.ts";

/** Rows of histories that were rolled back are cleared away after so many. */
const VACUUM_EVERY = 100;

const SERVER: Actor = { name: "database server", state: "up" };

interface Session {
  readonly pid: number;
  readonly client: HeartbeatClient;
}

/**
 * The ledger of a history: the real server with the real statements, on one connection and within one transaction that is
 * rolled back in the end. What a daemon does at once, be it a statement or a transaction, is one step; a transaction is a
 * savepoint.
 */
export class SimulatedLedger implements SessionKeeper {
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
    const session = await makeTables(connection);
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

  /** A statement of the simulation itself; it can be asked after a step that left what failed, too. */
  async ask<Row extends pg.QueryResultRow>(text: string, values: unknown[] = []): Promise<Row[]> {
    if (this.#session.failed) await this.#session.script("rollback to savepoint step");
    this.#enter(0, true);
    const { rows } = await new StepConnection(this.#session, "done").query(text, values);
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
    return new SimulatedPool(
      user,
      (...step) => this.step(...step),
      () => this.run,
    ) as unknown as pg.Pool;
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
    work: (connection: StepConnection) => Promise<T>,
  ): Promise<T> {
    const world = this.#world as World;
    const { isReading } = kindOf(text);
    return new Promise<T>((resolve, reject) => {
      world.later(user.actor, world.between(0, 3), async () => {
        const connection = new StepConnection(this.#session, user.fateOf(text), {
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
          if (connection.fate !== "refused" && !isReading) await connection.rollback();
          tell(() => reject(error));
        }
        // What a step that only reads would go back to is the step before.
        const { failed } = this.#session;
        if (failed) throw new Error(`a step does not end what failed in it: ${text}`, { cause: failed });
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
