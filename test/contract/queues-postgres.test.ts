import { join } from "node:path";
import { test } from "vitest";
import { openQueues } from "../../src/jobs/queues.ts";
import { type DatabaseConnection, openPool } from "../../src/ledger/database.ts";
import { eventually } from "../support/eventually.ts";
import { startTestServer } from "../support/test-server.ts";
import { withDatabase } from "../support/with-database.ts";
import { withFolder } from "../support/with-folder.ts";
import { silent } from "../support/with-ledger.ts";
import { describeQueueContract, job, type WithServer, withQueues } from "./queues.ts";

const openQueuePool = (connection: DatabaseConnection) =>
  openPool(
    { connection, schema: "bullmq", max: 10, applicationName: "test", pauseAfterFailureMs: 100 },
    silent,
  );

const neverDown = async () => {
  throw new Error("the server is others' as well");
};

const withServer: WithServer = (run) =>
  withDatabase(async ({ connection }) => {
    const pool = openQueuePool(connection);
    try {
      await withQueues({ kind: "postgres", pool }, (open) =>
        run({ open, crash: neverDown, start: neverDown }),
      );
    } finally {
      await pool.end();
    }
  });

const withOwnServer: WithServer = (run) =>
  withFolder(async (folder) => {
    const server = await startTestServer(join(folder, "server"));
    const { connection, crash, start } = server;
    const pool = openQueuePool(connection);
    try {
      await withQueues({ kind: "postgres", pool }, (open) => run({ open, crash, start }));
    } finally {
      await pool.end();
      await server.remove();
    }
  });

describeQueueContract("PostgreSQL", { withServer, withOwnServer });

test("queues on PostgreSQL make their tables anew when somebody dropped them", () =>
  withDatabase(async ({ connection }) => {
    const pool = openQueuePool(connection);
    const queues = await openQueues({ kind: "postgres", pool }, [], silent);
    try {
      const ran: number[] = [];
      await queues.work("submit", 2, async ({ nth }) => {
        ran.push(nth);
      });
      // The server may end it for a deadlock with what the workers ask at this moment.
      await eventually(() => pool.query("drop schema bullmq cascade"));
      await queues.add("submit", [job(1)]);
      await eventually(() => ran.length === 1);
    } finally {
      await queues.close(500);
      await pool.end();
    }
  }));
