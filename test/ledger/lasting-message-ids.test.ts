import { once } from "node:events";
import { join } from "node:path";
import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { takeLastingMessageIds } from "../../src/ledger/arrivals.ts";
import { openPool } from "../../src/ledger/database.ts";
import { startEmbeddedPostgres } from "../../src/ledger/embedded/embedded-postgres.ts";
import { migrateLedger } from "../../src/ledger/migrate.ts";
import { eventually } from "../support/eventually.ts";
import { withFolder } from "../support/with-folder.ts";
import { silent } from "../support/with-ledger.ts";

/** PostgreSQL writes to its log that so many numbers of a sequence were given, and then gives them. */
const LOGGED_AHEAD = 32;

test("message numbers that were given to be used outside of the ledger are not given again after a crash of its server", () =>
  withFolder(async (folder) => {
    const server = await startEmbeddedPostgres({
      dataDir: join(folder, "data"),
      clock: systemClock,
      logger: silent,
      isOwner: true,
    });
    const { connection } = server;
    const pool = openPool({ connection, schema: "cryobridge", max: 4, applicationName: "test" }, silent);
    try {
      await migrateLedger(pool);
      await takeLastingMessageIds(pool, 1);
      // What another transaction has the log say of the next numbers needn't be on disk before that is over.
      const other = await pool.connect();
      other.on("error", () => undefined);
      const bystander = await pool.connect();
      // The server ends it, too, and then has crashed.
      const crashed = once(bystander, "error");
      await other.query("begin");
      await other.query("select nextval('messages_id_seq') from generate_series(1, $1)", [LOGGED_AHEAD + 1]);
      const given = await takeLastingMessageIds(pool, 5);
      const { rows } = await other.query<{ pid: number }>("select pg_backend_pid() as pid");
      process.kill(rows[0]?.pid ?? 0, "SIGKILL");
      await crashed;
      const [next = 0] = await eventually(() => takeLastingMessageIds(pool, 1).catch(() => undefined), {
        what: "the server's return",
      });
      for (const client of [other, bystander]) client.release(true);
      expect(next).toBeGreaterThan(Math.max(...given));
    } finally {
      await pool.end();
      await server.stop();
    }
  }));
