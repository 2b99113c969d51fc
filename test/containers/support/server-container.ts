import { execFile } from "node:child_process";
import { promisify } from "node:util";
import pg from "pg";
import { GenericContainer, type StartedTestContainer, Wait } from "testcontainers";
import { eventually } from "../../support/eventually.ts";
import { findPort } from "../../support/find-port.ts";
import type { WithRedisGroup } from "../../support/redis-server.ts";
import type { TestServer } from "../../support/test-server.ts";

const docker = (...words: readonly string[]) => promisify(execFile)("docker", [...words]);
const OWNER = "cryobridge";
/** A bound against hanging: the image is built and the stack started meanwhile. */
const START_WITHIN_MS = 240_000;
const PASSWORD = "of-the-test";

/** A server's container that may be killed and started again at the same address. */
const ways = (container: StartedTestContainer, isUp: () => Promise<unknown>) => ({
  crash: async () => void (await docker("kill", container.getId())),
  start: async () => {
    await docker("start", container.getId());
    await eventually(() => isUp().then(() => true), { what: "the server's answer" });
  },
});

/** Starts PostgreSQL of an image; its database is one that a role owns which is no superuser. */
export async function startPostgres(image: string): Promise<TestServer> {
  const port = await findPort();
  const container = await new GenericContainer(image)
    .withEnvironment({ POSTGRES_PASSWORD: PASSWORD })
    .withExposedPorts({ container: 5432, host: port })
    // The server that makes the database does not listen there.
    .withWaitStrategy(Wait.forListeningPorts())
    .withStartupTimeout(START_WITHIN_MS)
    .start();
  const place = { host: "127.0.0.1", port };
  const query = async (...statements: readonly string[]) => {
    const client = new pg.Client({ ...place, user: "postgres", password: PASSWORD, database: "postgres" });
    client.on("error", () => undefined);
    await client.connect();
    try {
      for (const statement of statements) await client.query(statement);
    } finally {
      await client.end();
    }
  };
  await eventually(() => query("select 1").then(() => true), { what: `an answer of ${image}` });
  await query(
    `create role ${OWNER} login createdb password '${PASSWORD}'`,
    `create database ${OWNER} owner ${OWNER} encoding 'UTF8' template template0 lc_collate 'C' lc_ctype 'C'`,
  );
  return {
    url: `postgres://${OWNER}:${PASSWORD}@127.0.0.1:${port}/${OWNER}`,
    connection: { ...place, user: OWNER, password: PASSWORD, database: OWNER, application_name: "test" },
    ...ways(container, () => query("select 1")),
    remove: async () => void (await container.stop({ timeout: 0 })),
  };
}

/** Gives a test one Redis of an image, which keeps nothing. */
export const withRedisOf =
  (image: string): WithRedisGroup =>
  async (test) => {
    const port = await findPort();
    const container = await new GenericContainer(image)
      .withExposedPorts({ container: 6379, host: port })
      .withStartupTimeout(START_WITHIN_MS)
      .start();
    const url = `redis://127.0.0.1:${port}`;
    const { Redis } = await import("ioredis");
    const run = async (command: string, ...words: readonly (string | number)[]) => {
      const client = new Redis(url, {
        lazyConnect: true,
        retryStrategy: () => null,
        enableOfflineQueue: false,
      });
      client.on("error", () => undefined);
      await client.connect();
      try {
        return await client.call(command, ...words);
      } finally {
        client.disconnect();
      }
    };
    const { crash, start } = ways(container, () => run("ping"));
    const node = {
      ...{ port, url, pid: 0, run, crash, start },
      restart: async () => {
        await crash();
        await start();
      },
      flush: async () => void (await run("flushall")),
      freeze: () => {
        throw new Error("a container's server is not frozen");
      },
    };
    try {
      return await test({ way: { url }, nodes: [node], sentinels: [], crash, start });
    } finally {
      await container.stop({ timeout: 0 });
    }
  };
