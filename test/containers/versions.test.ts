import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { openPool } from "../../src/ledger/database.ts";
import { describeQueueContract, type WithServer, withQueues } from "../contract/queues.ts";
import { describeRedisContract } from "../contract/redis-queues.ts";
import { ALL_WELL } from "../support/account.ts";
import { planLoad, seedRetrievals } from "../support/lab-load.ts";
import type { TestServer } from "../support/test-server.ts";
import { newName } from "../support/with-database.ts";
import { silent } from "../support/with-ledger.ts";
import { type ServerSiteOptions, withServerSite } from "../support/with-server-site.ts";
import { startPostgres, withRedisOf } from "./support/server-container.ts";

const END_WITHIN_MS = 120_000;
const SIMULATOR = {
  staff: { reviewAfterMs: [50, 150] },
  device: { startAfterMs: [20, 50], runMs: [50, 150] },
} as const;

const isThere = (image: string) => inject("hasEngine") && !inject("imagesLeftOut").includes(image);

/** Has a daemon carry orders out, while something may happen to a server. */
async function carryOut(
  options: ServerSiteOptions,
  meanwhile: (server: TestServer) => Promise<void>,
): Promise<void> {
  await withServerSite({ simulator: SIMULATOR, ...options }, async (site) => {
    const load = planLoad(5, 12, 0.25);
    seedRetrievals(site.simulator, load);
    await site.start();
    for (const { connector, name, content } of load.files) await site.lab.drop(connector, name, content);
    await meanwhile(site.server);
    expect(await site.waitForEnd(load.orders, END_WITHIN_MS)).toEqual(ALL_WELL);
    expect(site.fatal).toEqual([]);
  });
}

describe.each([13, 15, 17, 18].map((major) => `postgres:${major}`))("%s", (image) => {
  test.runIf(isThere(image))("keeps the ledger of a daemon, also when it is killed", () =>
    carryOut({ startServer: () => startPostgres(image) }, async (server) => {
      await server.crash();
      await server.start();
    }),
  );

  let shared: TestServer | undefined;
  beforeAll(async () => {
    if (isThere(image)) shared = await startPostgres(image);
  });
  afterAll(() => shared?.remove());

  const onServer = async (server: TestServer, run: Parameters<WithServer>[0]) => {
    const database = newName();
    const admin = new pg.Client(server.url);
    await admin.connect();
    await admin.query(`create database ${database}`);
    await admin.end();
    const connection = { ...server.connection, database };
    const options = { schema: "bullmq", max: 10, applicationName: "test", pauseAfterFailureMs: 100 };
    const pool = openPool({ connection, ...options }, silent);
    try {
      await withQueues({ kind: "postgres", pool }, (open) =>
        run({ open, crash: server.crash, start: server.start }),
      );
    } finally {
      await pool.end();
    }
  };
  describeQueueContract(image, {
    isThere: isThere(image),
    withServer: (run) => onServer(shared as TestServer, run),
    withOwnServer: async (run) => {
      const server = await startPostgres(image);
      try {
        await onServer(server, run);
      } finally {
        await server.remove();
      }
    },
  });
});

describe.each(["redis:6", "redis:7", "redis:8", "valkey/valkey:8"])("%s", (image) => {
  test.runIf(isThere(image))("hands out a daemon's work, also when it is killed", () =>
    withRedisOf(image)(({ way, crash, start }) =>
      carryOut({ config: { queue: { backend: "redis", url: way.url } } }, async () => {
        await crash();
        await start();
      }),
    ),
  );

  describeRedisContract(image, withRedisOf(image), isThere(image));
});
