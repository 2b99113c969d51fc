import { Client } from "pg";
import { codeOf, Failure } from "../../core/failures.ts";
import { sessionOptions } from "../session-settings.ts";
import { OWNER, SUPERUSER } from "./programs.ts";

/** Options for `pg.Client` and `pg.Pool`. Keep `application_name`: by it the server is known to be in use by us. */
export interface EmbeddedConnection {
  /** A Unix socket's folder, or 127.0.0.1 on Windows. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly password: string;
  readonly database: string;
  /** Names this process: `cryobridge-<pid>-<random>`. */
  readonly application_name: string;
}

/** A connected client. */
export interface LiveClient {
  readonly client: Client;
  /** Resolves when the connection has ended, for whatever reason and however early. */
  readonly lost: Promise<void>;
}

const NAME_PREFIX = "cryobridge-";
const CONNECT_TIMEOUT_MS = 5_000;
const REFUSED = new Set(["28P01", "28000"]);
const DATABASE_UNKNOWN = "3D000";
const EXISTS_ALREADY = new Set(["42710", "42P04"]);

/** The options for connecting to a server at `host` (a socket's folder or an address) and `port`. */
export function encodeConnection(
  { host, port }: { readonly host: string; readonly port: number },
  password: string,
  instance: string,
): EmbeddedConnection {
  const application_name = `${NAME_PREFIX}${instance}`;
  return { host, port, user: OWNER, password, database: OWNER, application_name };
}

/**
 * Connects once; undefined while nobody answers, or a server that is starting, recovering, stopping or full. A server that has
 * no role or database for us yet gets them. SCRAM proves both sides: a server that doesn't know our password is not ours.
 * Throws LEDGER_PASSWORD_REFUSED.
 */
export async function knock(connection: EmbeddedConnection): Promise<LiveClient | undefined> {
  const first = await connect(connection);
  if (typeof first !== "string") return first;
  if (!REFUSED.has(first) && first !== DATABASE_UNKNOWN) return undefined;
  const superuser = await connect({ ...connection, user: SUPERUSER, database: "postgres" });
  if (typeof superuser === "string") {
    if (!REFUSED.has(superuser)) return undefined;
    throw new Failure(
      "LEDGER_PASSWORD_REFUSED",
      `the database server at ${connection.host} does not take the password of its data folder`,
    );
  }
  try {
    await makeRoleAndDatabase(superuser.client, connection);
  } finally {
    await superuser.client.end();
  }
  const second = await connect(connection);
  return typeof second === "string" ? undefined : second;
}

/** How many connections other processes of ours have, besides this one's. */
export async function countOthers(client: Client, connection: EmbeddedConnection): Promise<number> {
  const { rows } = await client.query<{ readonly others: number }>(
    `SELECT count(*)::int AS others
       FROM pg_stat_activity
      WHERE backend_type = 'client backend'
        AND starts_with(application_name, $1)
        AND application_name <> $2`,
    [NAME_PREFIX, connection.application_name],
  );
  return rows[0]?.others ?? 0;
}

/** A client, or the code of what went wrong. */
async function connect(connection: EmbeddedConnection): Promise<LiveClient | string> {
  const client = new Client({
    ...connection,
    options: sessionOptions("public"),
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
  });
  // Without a listener a server that dies would take this process along.
  client.on("error", () => undefined);
  const lost = new Promise<void>((resolve) => client.once("end", resolve));
  try {
    await client.connect();
    return { client, lost };
  } catch (error) {
    await client.end().catch(() => undefined);
    return codeOf(error) ?? "unknown";
  }
}

async function makeRoleAndDatabase(superuser: Client, connection: EmbeddedConnection): Promise<void> {
  const password = superuser.escapeLiteral(connection.password);
  await ignoreExisting(superuser.query(`CREATE ROLE ${OWNER} LOGIN`));
  await superuser.query(`ALTER ROLE ${OWNER} LOGIN CREATEDB PASSWORD ${password}`);
  await ignoreExisting(superuser.query(`CREATE DATABASE ${OWNER} OWNER ${OWNER}`));
}

async function ignoreExisting(query: Promise<unknown>): Promise<void> {
  try {
    await query;
  } catch (error) {
    if (EXISTS_ALREADY.has(codeOf(error) ?? "")) return;
    throw error;
  }
}
