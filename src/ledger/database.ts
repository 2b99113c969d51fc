import pg from "pg";
import { hostAndPortOf } from "../core/address-list.ts";
import type { Failure } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";
import type { OrderStep, SentResult } from "../core/order-step.ts";
import { asLedgerFailure, isMissingObject } from "./database-failures.ts";
import { sessionOptions } from "./session-settings.ts";

/** Where the ledger's PostgreSQL is: a URL, or the parts of one (`host` may be a socket folder). */
export interface DatabaseConnection {
  readonly connectionString?: string;
  readonly host?: string;
  readonly port?: number;
  readonly user?: string;
  readonly password?: string;
  readonly database?: string;
  /** The embedded server counts its users by this name, and a daemon's sessions are known by it. */
  readonly application_name?: string;
}

export interface PoolSettings {
  readonly connection: DatabaseConnection;
  /** First schema of the search path: `cryobridge` for the ledger, `bullmq` for the queue. */
  readonly schema: string;
  readonly max: number;
  /** Shown in `pg_stat_activity`. */
  readonly applicationName: string;
  /** How long a failed attempt to connect, or a query for what isn't there, is kept back, ms; 0 when not set. */
  readonly pauseAfterFailureMs?: number | undefined;
  /** Whether a statement may take as long as `statement_timeout` lets it; else an answer is waited for some two minutes. */
  readonly mayTakeLong?: boolean | undefined;
  /** Hears what was done to orders in transactions of this pool. */
  readonly observer?: LedgerObserver | undefined;
}

/** Hears what was done to orders, once it is committed. Must not throw. */
export interface LedgerObserver {
  ordersMoved(steps: readonly OrderStep[]): void;
  resultsSent(results: readonly SentResult[]): void;
}

const DEAF: LedgerObserver = { ordersMoved: () => {}, resultsSent: () => {} };

/** What hears of a transaction once it is committed. */
interface Listener {
  readonly logger: Logger;
  readonly observer: LedgerObserver;
}

/** How the sessions of a pool are, beside what all sessions share. */
const OF_POOLS = {
  // Bounds of our own statements, so that a lock that nobody gives up, or a dead connection, hangs nothing for ever. What a
  // process that is frozen amid a transaction has locked may be what every other worker needs next, so that is over first.
  statement_timeout: "120s",
  lock_timeout: "60s",
  idle_in_transaction_session_timeout: "5s",
  // The server checks whether we are still there: a session whose connection broke unnoticed, and what it has locked, is over
  // after some 75 s and not after the two hours of the system. Ignored where the connection is a Unix socket.
  tcp_keepalives_idle: "30",
  tcp_keepalives_interval: "5",
  // All of our statements are short. But where the planner knows a table little yet, it takes the recursive ones for endless, and
  // a server that compiles what costs much (`jit`, on by default) then does so each time, for a second or two.
  jit: "off",
  // Our statements go from a few keys through indexes. Of tables that were filled a moment ago the planner has no statistics
  // yet: it takes them for small, and reads and hashes them whole for each batch of orders.
  enable_seqscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  enable_nestloop: "on",
  enable_indexscan: "on",
  random_page_cost: "1.1",
};
/** A connection that died without a word is given up after this, ms; longer than `statement_timeout`. */
const QUERY_TIMEOUT_MS = 130_000;

/**
 * A session keeps the plans that it made, which are made anew when the server has counted a table's rows again. Where it never does,
 * those that were made for small tables end with their session.
 */
const SESSION_SECONDS = 600;

const INT8 = 20;
const INT8_ARRAY = 1016;

/** Ids of the ledger and the service are safe integers, so they are read as numbers and anything beyond is refused. */
function parseInt8(text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value)) throw new RangeError("integer beyond 2^53 in the ledger");
  return value;
}

const parseInt8Array = (text: string): number[] =>
  text === "{}" ? [] : text.slice(1, -1).split(",").map(parseInt8);

const TYPES: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") => {
    if (oid === INT8 && format !== "binary") return parseInt8;
    if (oid === INT8_ARRAY && format !== "binary") return parseInt8Array;
    return pg.types.getTypeParser(oid, format);
  }) as pg.CustomTypesConfig["getTypeParser"],
};

const ignore = () => undefined;

/**
 * A pool that gives a failed connection attempt, or a query whose tables or functions are missing, back only after a
 * pause, for a user that would try again at once and without end (BullMQ's worker loop, for every error but ECONNREFUSED).
 */
class PatientPool extends pg.Pool {
  readonly listener: Listener;
  check: SessionCheck | undefined;
  readonly #pauseMs: number;

  constructor(config: pg.PoolConfig, pauseMs: number, listener: Listener) {
    super(config);
    this.listener = listener;
    this.#pauseMs = pauseMs;
    this.options.verify = (client, done) => {
      if (this.check === undefined) return done();
      // The pool listens no more, and whoever gets the client not yet: one that breaks fails what is asked of it.
      client.on("error", ignore);
      const end = (error?: Error) => {
        client.off("error", ignore);
        done(error);
      };
      this.check(client).then(() => end(), end);
    };
    if (pauseMs > 0) this.query = this.#patientQuery(super.query.bind(this)) as pg.Pool["query"];
  }

  #patientQuery(query: (text: string, values?: unknown[]) => Promise<unknown>) {
    return async (text: string, values?: unknown[]): Promise<unknown> => {
      try {
        return await query(text, values);
      } catch (error) {
        if (isMissingObject(error)) await new Promise((resolve) => setTimeout(resolve, this.#pauseMs));
        throw error;
      }
    };
  }

  override connect(): Promise<pg.PoolClient>;
  override connect(done: ConnectDone): void;
  override connect(done?: ConnectDone): Promise<pg.PoolClient> | undefined {
    if (!done) {
      return super.connect().catch(async (error: unknown) => {
        await new Promise((resolve) => setTimeout(resolve, this.#pauseMs));
        throw error;
      });
    }
    super.connect((error, client, release) => {
      if (error) setTimeout(() => done(error, client, release), this.#pauseMs);
      else done(error, client, release);
    });
    return undefined;
  }
}

/** The names of prepared statements by their texts: constants of ours, of which there are a few hundred. */
const statementNames = new Map<string, string>();

/** Says how the statement begins, for who reads what the server does. Names are cut after 63 bytes, so what tells them apart comes first. */
function nameOf(text: string): string {
  const known = statementNames.get(text);
  if (known !== undefined) return known;
  const name = `${statementNames.size + 1} ${text.trim().replaceAll(/\s+/g, " ").slice(0, 50)}`;
  statementNames.set(text, name);
  return name;
}

/**
 * A client that prepares each statement with values when it is first sent, since to plan one takes ten times as long as to carry it
 * out. One that is given as an object is left alone.
 */
class PreparingClient extends pg.Client {
  // The driver declares a dozen forms of this, which all end here.
  override query = ((query: unknown, values: unknown, ...more: unknown[]) => {
    const isPrepared = typeof query === "string" && Array.isArray(values) && values.length > 0;
    const asked = isPrepared ? [{ name: nameOf(query), text: query, values }] : [query, values];
    return Reflect.apply(super.query, this, [...asked, ...more]);
  }) as pg.Client["query"];
}

type ConnectDone = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  release: (release?: unknown) => void,
) => void;

/** Asks something of a connection that is about to be lent for the first time. Where it throws, whoever asked for one gets that failure. */
type SessionCheck = (client: Queryable) => Promise<void>;

/** Has each connection that the pool opens from now on checked before anything is done on it. */
export function checkNewSessions(pool: pg.Pool, check: SessionCheck): void {
  (pool as PatientPool).check = check;
}

/**
 * A pool whose connections survive a restart of the server: an idle connection that breaks is logged and replaced.
 * Every commit is flushed to disk whatever the server's default says.
 */
export function openPool(settings: PoolSettings, logger: Logger): pg.Pool {
  const config: pg.PoolConfig = {
    ...settings.connection,
    max: settings.max,
    application_name: settings.connection.application_name ?? settings.applicationName,
    options: sessionOptions(settings.schema, OF_POOLS),
    types: TYPES,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    // What is asked for at the same time leaves at the same time. BullMQ's pool, the patient one, is left as it knows it.
    ...(settings.pauseAfterFailureMs === undefined && {
      ...{ pipeline: true, Client: PreparingClient, maxLifetimeSeconds: SESSION_SECONDS },
    }),
    query_timeout: settings.mayTakeLong ? undefined : QUERY_TIMEOUT_MS,
  };
  const listener = { logger, observer: settings.observer ?? DEAF };
  const pool = new PatientPool(config, settings.pauseAfterFailureMs ?? 0, listener);
  pool.on("error", (error) => logger.warn({ err: error }, "an idle database connection broke"));
  return pool;
}

/** Where the server is, such as `db.example.org:5432` or a folder of sockets; undefined where that can't be read. Without who logs in. */
export function placeOf(pool: Queryable): string | undefined {
  try {
    const { host, port } = pool instanceof pg.Pool ? new pg.Client(pool.options) : (pool as pg.Client);
    return host?.startsWith("/") ? host : host && hostAndPortOf(host, port);
  } catch {
    // Files of certificates that the address names are read for that, and may be missing.
    return undefined;
  }
}

/** A query runner: the pool, or one connection inside a transaction. */
export type Queryable = Pick<pg.PoolClient, "query">;

/**
 * Sends statements of one transaction in one go and waits for them; they are carried out in the order in which they are
 * asked for. When some fail, the failure of the first is thrown: those behind it fail because of it, and theirs says
 * nothing.
 *
 * @param ask asks for all of them before it returns
 */
export async function together<T extends readonly unknown[] | []>(
  client: pg.PoolClient,
  ask: () => T,
): Promise<{ -readonly [K in keyof T]: Awaited<T[K]> }> {
  const { stream } = client.connection;
  stream.cork();
  const statements = orUncork(stream, ask);
  await Promise.allSettled(statements);
  return Promise.all(statements);
}

function orUncork<T>(stream: { uncork(): void }, ask: () => T): T {
  try {
    return ask();
  } finally {
    stream.uncork();
  }
}

/**
 * Runs `work` in one transaction and commits it.
 *
 * @throws Failure LEDGER_UNAVAILABLE when the server was out of reach. When the connection broke during the commit the
 * outcome is unknown, and it may still be committed after this has thrown: callers repeat their work, which every statement
 * of the ledger allows.
 */
export function inTransaction<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  return onConnection(pool, async (client) => {
    await client.query("begin");
    try {
      const result = await work(client);
      await client.query("commit");
      if (pool instanceof PatientPool) for (const report of reports.get(client) ?? []) report(pool.listener);
      return result;
    } finally {
      reports.delete(client);
    }
  });
}

/**
 * Within this transaction the first of many are found in the order of an index: where the statistics are of a time when there were few, the
 * planner would read and sort all of them.
 */
export const GO_BY_INDEX = "set local enable_sort = off";

type Report = (to: Listener) => void;

/** What is to be reported of the open transaction of a connection once it is committed. */
const reports = new WeakMap<Queryable, Report[]>();

/** Reports something of the client's transaction once that is committed, and nothing when it isn't. */
export function reportOnceCommitted(client: Queryable, report: Report): void {
  if (client instanceof PatientPool) report(client.listener);
  else reports.set(client, [...(reports.get(client) ?? []), report]);
}

/**
 * Gives `work` a session of its own, which ends with it, and with all that the session holds: locks, settings, temporary tables.
 *
 * @throws Failure LEDGER_UNAVAILABLE
 */
export function withSession<T>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  return onConnection(pool, work, { isKept: false });
}

async function onConnection<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
  { isKept } = { isKept: true },
): Promise<T> {
  let client: pg.PoolClient;
  try {
    client = await pool.connect();
  } catch (error) {
    throw asLedgerFailure(error, placeOf(pool));
  }
  let broken: Error | undefined;
  const onError = (error: Error) => {
    broken = error;
  };
  client.on("error", onError);
  try {
    return await work(client);
  } catch (error) {
    if (!broken)
      await client.query("rollback").catch((problem: Error) => {
        broken = problem;
      });
    throw asLedgerFailure(error, placeOf(pool));
  } finally {
    client.off("error", onError);
    client.release(broken ?? !isKept);
  }
}

/** One statement outside a transaction, with the same failure as {@link inTransaction}. */
export async function run<Row extends pg.QueryResultRow>(
  pool: Queryable,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  try {
    const result = await pool.query<Row>(text, [...values]);
    return result.rows;
  } catch (error) {
    throw asLedgerFailure(error, placeOf(pool));
  }
}

/**
 * The rows of a list that people narrow. What is undefined narrows nothing, so the best plan depends on what is given, and is made for that
 * each time.
 */
export async function narrowed<Row extends pg.QueryResultRow>(
  pool: Queryable,
  text: string,
  given: readonly unknown[],
): Promise<Row[]> {
  try {
    const { rows } = await pool.query<Row>({ text, values: given.map((value) => value ?? null) });
    return rows;
  } catch (error) {
    throw asLedgerFailure(error, placeOf(pool));
  }
}

/** A row as the database gives it, with null where its type may be undefined. */
export type WithNulls<T> = {
  readonly [Key in keyof T]-?: undefined extends T[Key] ? Exclude<T[Key], undefined> | null : T[Key];
};

/** A row's type with undefined where the database has null. */
type WithoutNulls<Row> = {
  readonly [Key in keyof Row]: null extends Row[Key] ? Exclude<Row[Key], null> | undefined : Row[Key];
};

/** The row with undefined for null, as everything outside of the database has it. */
export function withoutNulls<Row extends object>(row: Row): WithoutNulls<Row> {
  return Object.fromEntries(
    Object.entries(row).map(([key, value]) => [key, value ?? undefined]),
  ) as WithoutNulls<Row>;
}

/** Rows whose columns have the names of T's keys, with undefined for null. */
export async function list<T extends object>(
  pool: Queryable,
  text: string,
  values: readonly unknown[] = [],
): Promise<T[]> {
  return (await run(pool, text, values)).map((row) => withoutNulls(row) as T);
}

/** Stands in for a ledger that can't be opened, for what can do without: whoever asks it is told why. */
export function poolWithout(failure: Failure): pg.Pool {
  const fail = () => Promise.reject(failure);
  return { query: fail, connect: fail } as unknown as pg.Pool;
}

/** The pattern of LIKE for texts that begin with this one. */
export function beginsWith(text: string): string {
  return `${text.replace(/[\\%_]/g, "\\$&")}%`;
}
