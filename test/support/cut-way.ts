import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import type pg from "pg";
import { type DatabaseConnection, openPool } from "../../src/ledger/database.ts";
import { eventually } from "./eventually.ts";
import { silent, type TestLedger } from "./with-ledger.ts";

/** The server's side of a connection that broke for the daemon: a backend that knows nothing of it. */
export interface Orphan {
  /** Gives the backend what was kept from it. */
  letGo(): void;
  /** Resolves when the backend has carried out what it got, and is in no transaction any more. */
  readonly isDone: Promise<void>;
  /** The server notices, too, that the connection broke. */
  hangUp(): void;
}

/** What of a statement at which a connection breaks reaches the server: all of it, or nothing before it is let go. */
export type Reach = "server" | "nobody";

/** A way to a ledger that breaks where a test says, and only on the daemon's side. */
export interface CutWay {
  /** The ledger by this way. */
  readonly connection: DatabaseConnection;
  readonly url: string;
  /** Takes it. */
  readonly pool: pg.Pool;
  /**
   * Has the next connection break over which these words are sent; resolves when it has.
   *
   * @param before other words that were sent over it by then
   */
  cutAt(words: string, reach: Reach, before?: string): Promise<Orphan>;
  /** Breaks all connections there are, none of which may be about to send anything; gives what they leave behind. */
  cutIdle(): Promise<readonly Orphan[]>;
  /**
   * Has a connection break at each statement that `decide` says, from now on; gives all of them. `decide` is given what is
   * sent, with the words of a prepared statement that it names. What reaches nobody is let go by the test.
   */
  cutOften(decide: (statement: string) => Reach | undefined): readonly Orphan[];
  /** Lets nothing through either way from now on, and breaks nothing, as a server that hangs; gives what ends that. */
  hang(): () => void;
}

interface Cut {
  readonly reach: Reach;
  readonly onCut: (orphan: Orphan) => void;
}

/** The end of what a server sends when it is in no transaction and waits for the next statement. */
const IDLE = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);

/** How the driver begins to send a statement that it prepares, and one that the session has prepared. */
const PARSE = /^P[\s\S]{4}([^\0]+)\0([^\0]+)\0/;
const BIND = /^B[\s\S]{4}[^\0]*\0([^\0]+)\0/;

/** Gives a test such a way to a ledger. */
export async function withCutWay<T>(
  ledger: Pick<TestLedger, "connection">,
  test: (way: CutWay) => Promise<T>,
): Promise<T> {
  const sockets = new Set<Socket>();
  let decide: (sent: Buffer, client: Socket) => Cut | undefined = () => undefined;
  const backendByClient = new Map<Socket, Socket>();
  let isHanging = false;
  const server = createServer((client) => {
    const backend = connectTo(ledger.connection);
    backendByClient.set(client, backend);
    client.on("close", () => backendByClient.delete(client));
    for (const socket of [client, backend]) {
      sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    }
    client.on("data", (sent: Buffer) => {
      if (client.destroyed) return;
      const cut = decide(sent, client);
      if (cut) {
        client.resetAndDestroy();
        cut.onCut(orphan(backend, sent, cut.reach));
      } else backend.write(sent);
    });
    backend.on("data", (answer: Buffer) => {
      if (!client.destroyed) client.write(answer);
    });
    client.on("end", () => backend.end());
    backend.on("close", () => client.destroy());
    if (isHanging) client.pause();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const connection = { ...ledger.connection, host: "127.0.0.1", port };
  const pool = openPool({ connection, schema: "cryobridge", max: 8, applicationName: "cut" }, silent);
  const { user = "", password = "", database = "" } = connection;
  try {
    return await test({
      url: `postgres://${encodeURIComponent(user)}:${encodeURIComponent(password)}@127.0.0.1:${port}/${database}`,
      connection,
      pool,
      cutIdle: async () =>
        [...backendByClient].map(([client, backend]) => {
          client.resetAndDestroy();
          return orphan(backend, Buffer.alloc(0), "nobody");
        }),
      cutAt: (words, reach, before = "") =>
        new Promise((resolve) => {
          const prepared = new WeakSet<Socket>();
          decide = (sent, client) => {
            if (sent.includes(before)) prepared.add(client);
            if (!prepared.has(client) || !sent.includes(words)) return undefined;
            decide = () => undefined;
            return { reach, onCut: resolve };
          };
        }),
      cutOften: (isCut) => {
        const orphans: Orphan[] = [];
        const prepared = new Map<string, string>();
        decide = (bytes) => {
          const sent = bytes.toString("latin1");
          const [, parsed, words] = PARSE.exec(sent) ?? [];
          if (parsed !== undefined && words !== undefined) prepared.set(parsed, words);
          const [, bound = ""] = BIND.exec(sent) ?? [];
          const reach = isCut(sent + (prepared.get(bound) ?? ""));
          return reach && { reach, onCut: (each) => orphans.push(each) };
        };
        return orphans;
      },
      hang: () => {
        isHanging = true;
        for (const socket of sockets) socket.pause();
        return () => {
          isHanging = false;
          for (const socket of sockets) socket.resume();
        };
      },
    });
  } finally {
    await pool.end();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

function orphan(backend: Socket, sent: Buffer, reach: Reach): Orphan {
  let isLetGo = false;
  const letGo = () => {
    if (!isLetGo) backend.write(sent);
    isLetGo = true;
  };
  const isDone = new Promise<void>((resolve) => {
    backend.on("data", (answer: Buffer) => {
      if (isLetGo && answer.subarray(-IDLE.length).equals(IDLE)) resolve();
    });
    backend.once("close", () => resolve());
  });
  if (reach === "server") letGo();
  return { letGo, isDone, hangUp: () => backend.destroy() };
}

/** The host of a server that listens at a socket is the socket's folder. */
function connectTo({ host = "", port = 5432 }: DatabaseConnection): Socket {
  return host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect({ host, port, noDelay: true });
}

/** A transaction that stands right before its end: all is written, and nobody sees it. */
export interface HeldCommit {
  /** Resolves when a transaction is held. */
  isHeld(): Promise<unknown>;
  letGo(): Promise<void>;
}

/** Any number that no advisory lock of our own has. */
const GATE = 99_000_001;

/** Holds the first transaction that writes a row of this table, right before its end. */
export async function holdFirstCommit(pool: pg.Pool, table: string): Promise<HeldCommit> {
  const holder = await pool.connect();
  await holder.query("create sequence held_commits");
  await holder.query(
    `create function hold_commit() returns trigger language plpgsql as $$
     begin
       if nextval('held_commits') = 1 then perform pg_advisory_xact_lock(${GATE}); end if;
       return null;
     end $$`,
  );
  await holder.query(
    `create constraint trigger hold_commit after insert or update on ${table}
       deferrable initially deferred for each row execute function hold_commit()`,
  );
  await holder.query(`select pg_advisory_lock(${GATE})`);
  return {
    isHeld: () => isWaiting(pool, `locktype = 'advisory' and objid = ${GATE}`, "a held commit"),
    letGo: async () => {
      await holder.query(`select pg_advisory_unlock(${GATE})`);
      holder.release();
    },
  };
}

/** Resolves when a transaction waits for what another one has locked, a held commit aside, or when `isOver` says so. */
export const isAwaited = (pool: pg.Pool, isOver: () => boolean = () => false) =>
  isWaiting(pool, `(locktype <> 'advisory' or objid <> ${GATE})`, "who waits for another", isOver);

/** Row locks are waited for by the number of a transaction, which has no database. */
function isWaiting(
  pool: pg.Pool,
  condition: string,
  what: string,
  isOver: () => boolean = () => false,
): Promise<unknown> {
  const statement = `
    select l.pid
      from pg_locks l
      join pg_stat_activity a on a.pid = l.pid and a.datname = current_database()
     where not l.granted
       and ${condition}`;
  return eventually(async () => isOver() || ((await pool.query(statement)).rowCount ?? 0) > 0, { what });
}
