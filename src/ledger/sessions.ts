import type pg from "pg";
import { Failure } from "../core/failures.ts";
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
    if (error instanceof Error && "code" in error && error.code === PROTOCOL_VIOLATION)
      throw unfit("it refuses the options that Cryobridge connects with", error);
    throw asLedgerFailure(error);
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

function unfit(what: string, cause?: Error): Failure {
  return new Failure("LEDGER_POOLER_UNFIT", {
    message: `a pooler, such as PgBouncer, stands before the database: ${what}`,
    cause,
  });
}
