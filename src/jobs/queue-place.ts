import { createRedisBackend, PostgresConnection, PostgresQueueBackend } from "bullmq";
import { Cluster, Redis } from "ioredis";
import type pg from "pg";
import type { Config } from "../config/config.ts";
import { systemClock } from "../core/clock.ts";
import { EVERY_MS } from "../core/every.ts";
import { placeOf } from "../ledger/database.ts";

/** Where BullMQ keeps its jobs. */
export type QueueBackend =
  /** A pool whose search path begins with `bullmq`; the caller ends it. */
  | { readonly kind: "postgres"; readonly pool: pg.Pool }
  | {
      readonly kind: "redis";
      /** Begins every key. Several ledgers may share a server, so it must be this ledger's own. */
      readonly prefix: string;
      /** Whether it is only tried, and nothing is to be left there. */
      readonly isTrial?: boolean | undefined;
      readonly settings: Omit<RedisSettings, "ca">;
      /** PEM certificates to trust instead of the public authorities, wherever TLS is spoken. */
      readonly ca?: string | undefined;
    };
type RedisSettings = Extract<Config["queue"], { backend: "redis" }>;
type RedisBackend = Extract<QueueBackend, { kind: "redis" }>;

/** The server of the jobs for a person, such as `the job queue's server at 10.0.0.5:6379`; never who logs in. */
export function serverWords(backend: QueueBackend): string {
  const place = backend.kind === "postgres" ? placeOf(backend.pool) : redisPlace(backend);
  return `the job queue's server${place ? ` at ${place}` : ""}`;
}

function redisPlace({ settings: { url, sentinels, cluster } }: RedisBackend): string | undefined {
  const listed = (nodes: NonNullable<RedisSettings["cluster"]>) =>
    nodes.map(({ host, port }) => `${host}:${port}`).join(", ");
  if (cluster) return listed(cluster);
  if (sentinels) return `${sentinels.master} (sentinels ${listed(sentinels.nodes)})`;
  const { host, pathname } = URL.parse(url?.reveal() ?? "") ?? {};
  return host || pathname;
}

/** A setting of the server under which jobs may get lost, and how to change it. */
export interface QueueRisk {
  readonly message: string;
  readonly hint: string;
}

/** An open connection to where BullMQ keeps its jobs, for its queues and workers. */
interface QueuePlace {
  /** What BullMQ's classes are constructed with. */
  readonly options: Readonly<Record<string, unknown>>;
  readonly backend: unknown;
  /** `connected`: its server takes connections, and is not ready for more. */
  state(): "up" | "connected" | "away";
  findRisks(): Promise<QueueRisk[]>;
  close(): void;
}

/**
 * Opens the place without waiting for an answer.
 *
 * @param onReply is called with each error that a Redis answers, also where ioredis or BullMQ keeps it to itself; must not throw
 */
export function openPlace(backend: QueueBackend, onReply: (error: Error) => void): QueuePlace {
  return backend.kind === "postgres" ? openPostgres(backend.pool) : openRedisPlace(backend, onReply);
}

function openPostgres(pool: pg.Pool): QueuePlace {
  // All workers listen on one session: BullMQ's own way is a session for each, and there is a queue for each connector.
  const connection = new PostgresConnection(pool as never);
  connection.setMaxListeners(0);
  pool.on("connect", (client) => client.setMaxListeners(0));
  const create = (
    name: string,
    options: object,
    { withBlockingConnection = false }: { readonly withBlockingConnection?: boolean } = {},
  ) => {
    const made = new PostgresQueueBackend(connection, name, options as never, withBlockingConnection);
    // A worker that ended would close the session of all: those that still listen on it would wait for ever.
    made.close = () => made.disconnectBlocking();
    return made;
  };
  return {
    options: { connection: pool, drainDelay: EVERY_MS.quietQueue / 1_000 },
    backend: create,
    // It is the ledger's server: what is wrong with it is said of the ledger.
    state: () => "up",
    findRisks: async () => [],
    close: () => void connection.close(),
  };
}

function openRedisPlace(backend: RedisBackend, onReply: (error: Error) => void): QueuePlace {
  const redis = openRedis(backend, onReply);
  hearErrors(redis, onReply);
  return {
    // In braces: all keys of a ledger's queues are in one slot of a cluster, as BullMQ's scripts need it.
    options: {
      ...{ connection: redis, prefix: `{${backend.prefix}}`, skipVersionCheck: true },
      drainDelay: WAIT_FOR_JOB_S,
    },
    backend: createRestingBackend(backend.settings.cluster !== undefined),
    state: () => (redis.status === "ready" ? "up" : redis.status === "connect" ? "connected" : "away"),
    findRisks: () => findEvictingNodes(backend, redis),
    close: () => redis.disconnect(),
  };
}

/** Also of the connections that BullMQ makes of one: it keeps to itself what keeps those from being ready. */
function hearErrors(redis: Redis | Cluster, onReply: (error: Error) => void): void {
  redis.on("error", onReply);
  const duplicate = redis.duplicate.bind(redis) as (...given: unknown[]) => Redis | Cluster;
  redis.duplicate = ((...given: unknown[]) => {
    const copy = duplicate(...given);
    copy.on("error", onReply);
    return copy;
  }) as never;
}

/** How long a worker rests when it could not ask for a job, ms: BullMQ asks again at once for as long as a Redis is full. */
const REST_MS = 1_000;

/**
 * How often workers of a cluster ask for a job, ms. Elsewhere they wait for one with a blocking call on a connection of their
 * own; that of a cluster may wait for ever once nodes were away (taskforcesh/bullmq#4138).
 */
const ASK_CLUSTER_EVERY_MS = 250;

function createRestingBackend(isCluster: boolean): typeof createRedisBackend {
  return (name, options, { withBlockingConnection = false, ...rest } = {}) => {
    const backend = createRedisBackend(name, options, {
      ...rest,
      withBlockingConnection: withBlockingConnection && !isCluster,
    });
    const moveToActive = backend.moveToActive.bind(backend);
    backend.moveToActive = async (token, workerName) => {
      try {
        return await moveToActive(token, workerName);
      } catch (error) {
        await systemClock.sleep(REST_MS);
        throw error;
      }
    };
    if (isCluster) {
      backend.waitForJob = async () => {
        await systemClock.sleep(ASK_CLUSTER_EVERY_MS);
        return null;
      };
    }
    return backend;
  };
}

/** How long a worker waits for a job with one command, s. */
const WAIT_FOR_JOB_S = 2;
/**
 * A server that doesn't take a connection, or answers nothing, within this is tried again, ms: it froze, its machine is gone, or
 * another one took its place. Longer than a worker waits for a job.
 */
const ANSWER_WITHIN_MS = 4_000;
/** A sentinel that answers nothing within this is passed over, ms. */
const SENTINEL_ANSWERS_WITHIN_MS = 2_000;
/** The longest pause before a server is tried again, ms. */
const LONGEST_PAUSE_MS = 1_000;

function openRedis({ settings, ca }: RedisBackend, onReply: (error: Error) => void): Redis | Cluster {
  const { sentinels, cluster, username } = settings;
  // One of sentinels, cluster and url is there (`src/config/rules.ts`).
  const [url, password] = [settings.url?.reveal() ?? "", settings.password?.reveal()];
  const tls = settings.tls || url.startsWith("rediss:");
  const trusted = ca === undefined ? {} : { ca };
  const options = {
    maxRetriesPerRequest: null,
    connectTimeout: ANSWER_WITHIN_MS,
    socketTimeout: ANSWER_WITHIN_MS,
    retryStrategy: (times: number) => Math.min(times * 100, LONGEST_PAUSE_MS),
    ...(username === undefined ? {} : { username }),
    ...(password === undefined ? {} : { password }),
    ...(tls ? { tls: trusted } : {}),
  };
  // A server that became a replica takes no jobs: the sentinels, or the name server, know the new one. Only sentinels are sure to.
  const onReadOnly = cluster ? false : sentinels ? (2 as const) : (1 as const);
  const reconnectOnError = (error: Error) => {
    onReply(error);
    // Before Redis 7 it stands within what a script was refused (redis/ioredis#1664).
    return /\bREADONLY\b/.test(error.message) && onReadOnly;
  };
  if (cluster) return new Cluster(cluster, { redisOptions: { ...options, reconnectOnError } });
  if (sentinels) {
    const { master: name, nodes, ...own } = sentinels;
    const ownPassword = own.password?.reveal();
    return new Redis({
      ...{ ...options, reconnectOnError, name, sentinels: nodes },
      // ioredis's own failoverDetector may end a connection for good that just looks for the new server.
      sentinelCommandTimeout: SENTINEL_ANSWERS_WITHIN_MS,
      ...(own.username === undefined ? {} : { sentinelUsername: own.username }),
      ...(ownPassword === undefined ? {} : { sentinelPassword: ownPassword }),
      ...((own.tls ?? settings.tls) ? { sentinelTLS: trusted } : {}),
      ...(tls ? { enableTLSForSentinelMode: true } : {}),
    });
  }
  return new Redis(url, { ...options, reconnectOnError });
}

/** BullMQ's jobs are several keys each, none of which may go away by itself. */
async function findEvictingNodes(
  { settings: { sentinels } }: RedisBackend,
  redis: Redis | Cluster,
): Promise<QueueRisk[]> {
  const nodes = redis instanceof Cluster ? redis.nodes("master") : [redis];
  const found = await Promise.all(
    nodes.map(async (node) => {
      const policy = /^maxmemory_policy:(\S+)/m.exec(await node.info("memory"))?.[1] ?? "noeviction";
      if (policy === "noeviction") return [];
      const { host, port } = node.options;
      const where = sentinels ? "" : `-h ${host} -p ${port} `;
      const message = `Redis ${where ? `${host}:${port} ` : ""}may throw jobs away when its memory is full (maxmemory-policy ${policy}); what is lost is handed out again seconds later`;
      const each = sentinels ? ` on each server of ${sentinels.master}` : "";
      const hint = `Run \`redis-cli ${where}config set maxmemory-policy noeviction\`${each}, and write it into the server's configuration.`;
      return [{ message, hint }];
    }),
  );
  return found.flat();
}

/** What of a backend of BullMQ's is changed here. */
interface StalledLooks {
  /** Gives out jobs again whose worker no longer renews their locks; gives their ids. */
  moveStalledJobsToWait(): Promise<string[]>;
}
/** BullMQ's way to a backend of a queue. */
export type CreateBackend = (name: string, ...more: readonly unknown[]) => StalledLooks;

/** A queue of which nobody wanted anything for this long has no job that anybody waits for, ms. */
const AWAITED_LATELY_MS = 60_000;

/**
 * Backends that look for stalled jobs as often as BullMQ asks only while this daemon waits for jobs of their queue, and rarely otherwise.
 * The feeder gives a queue what is due again and again until it is done, and asks for what it handed over to others.
 *
 * @param deps.awaitedAt when this daemon last gave a queue jobs, or asked for some, monotonic ms; undefined when it never did
 */
export function sparing(
  create: CreateBackend,
  {
    monotonic,
    awaitedAt,
  }: { readonly monotonic: () => number; readonly awaitedAt: (queue: string) => number | undefined },
): CreateBackend {
  return (name, ...more) => {
    const backend = create(name, ...more);
    const look = backend.moveStalledJobsToWait.bind(backend);
    let lookedAt = Number.NEGATIVE_INFINITY;
    backend.moveStalledJobsToWait = async () => {
      const now = monotonic();
      const isQuiet = now - (awaitedAt(name) ?? Number.NEGATIVE_INFINITY) > AWAITED_LATELY_MS;
      if (isQuiet && now - lookedAt < EVERY_MS.quietQueue) return [];
      lookedAt = now;
      return look();
    };
    return backend;
  };
}
