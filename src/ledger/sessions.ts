import type pg from "pg";
import { codeOf, Failure } from "../core/failures.ts";
import { list, placeOf } from "./database.ts";
import { asLedgerFailure } from "./database-failures.ts";

/** Which of the server's sessions serves a connection, and whether it has what we ask for when we connect. */
const SESSION = `
select pg_backend_pid() as pid,
       current_setting('search_path') as path`;
/** SQLSTATE of a pooler that refuses our start-up options. */
const PROTOCOL_VIOLATION = "08P01";

interface Session {
  readonly pid: number;
  readonly path: string;
}

/**
 * Makes sure that each connection has a session of the server to itself, with the options that we connect with. Behind a pooler
 * that lends a session for one transaction, locks of a session are nobody's, and notifications reach anybody: two daemons
 * could take each other for dead.
 *
 * @param schema that the pool's search path begins with
 * @throws Failure LEDGER_POOLER_UNFIT, or LEDGER_UNAVAILABLE
 */
export async function assertOwnSessions(pool: pg.Pool, schema: string): Promise<void> {
  const clients: pg.PoolClient[] = [];
  const connect = async () => {
    const client = await pool.connect();
    // One that breaks fails the statement that is under way.
    client.on("error", ignore);
    clients.push(client);
    return client;
  };
  let isFit = false;
  try {
    const one = await connect();
    const other = await connect();
    // One after the other: a pooler lends both the session that was given back last, or the same one not twice in a row.
    const first = await sessionOf(one);
    const others = [await sessionOf(other), await sessionOf(other)];
    const last = await sessionOf(one);
    if (first.pid !== last.pid || others.some(({ pid }) => pid === first.pid || pid !== others[0]?.pid))
      throw unfit("it lends out sessions of the server for one transaction or statement");
    if (!first.path.startsWith(schema)) throw unfit("it drops the options that Cryobridge connects with");
    isFit = true;
  } catch (error) {
    if (codeOf(error) === PROTOCOL_VIOLATION)
      throw unfit("it refuses the options that Cryobridge connects with", error);
    throw asLedgerFailure(error, placeOf(pool));
  } finally {
    for (const client of clients) {
      client.off("error", ignore);
      client.release(!isFit);
    }
  }
}

const ignore = () => undefined;

async function sessionOf(client: pg.PoolClient): Promise<Session> {
  const { rows } = await client.query<Session>(SESSION);
  return rows[0] as Session;
}

function unfit(what: string, cause?: unknown): Failure {
  return new Failure("LEDGER_POOLER_UNFIT", {
    message: `a pooler, such as PgBouncer, stands before the database: ${what}`,
    cause,
  });
}

/** A setting of our sessions that does not let the ledger work. */
interface UnfitSetting {
  readonly name: string;
  readonly value: string;
  readonly wanted: string;
  /** What sets it for us alone, before all else that sets it. */
  readonly command: string;
}

/**
 * Those that a session can't ask for, since older servers don't know them, only a superuser may, or they are somebody's intention:
 * triggers that don't fire (they keep history from being changed), a session that ends by itself, one that may not write, text that
 * not every name can be written in.
 */
const UNFIT = `
select w.name, current_setting(w.name, true) as value, w.wanted,
       format('ALTER ROLE %I IN DATABASE %I SET %I = %L', session_user, current_database(), w.name, w.wanted) as command
  from (values ('client_encoding', 'UTF8'), ('default_transaction_read_only', 'off'), ('idle_session_timeout', '0'),
               ('session_replication_role', 'origin'), ('transaction_timeout', '0')) w (name, wanted)
 where current_setting(w.name, true) <> w.wanted
 order by w.name`;

/**
 * Makes sure that the sessions of a pool are fit for the ledger.
 *
 * @throws Failure LEDGER_SETTINGS_UNFIT with the settings that are not
 */
export async function assertFitSettings(pool: pg.Pool): Promise<void> {
  const unfit = await list<UnfitSetting>(pool, UNFIT);
  if (unfit.length === 0) return;
  const named = unfit.map(({ name, value, wanted }) => `${name} is ${value} and has to be ${wanted}`);
  const message = `the database's sessions are not fit for the ledger: ${named.join("; ")}`;
  const hint = `${unfit.map(({ command }) => `\`${command}\``).join(" and ")}, as a superuser.`;
  throw new Failure("LEDGER_SETTINGS_UNFIT", { message, hint });
}
