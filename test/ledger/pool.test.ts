import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { Failure } from "../../src/core/failures.ts";
import { checkNewSessions, openPool } from "../../src/ledger/database.ts";
import { withDatabase } from "../support/with-database.ts";
import { silent } from "../support/with-ledger.ts";

test("the ledger has none of its statements compiled, also by a server that does so", () =>
  withDatabase(async ({ pool: admin, connection }) => {
    await admin.query(`alter database ${connection.database} set jit = on`);
    const pool = openPool({ connection, schema: "cryobridge", max: 1, applicationName: "test" }, silent);
    try {
      expect((await pool.query("select current_setting('jit') as jit")).rows).toEqual([{ jit: "off" }]);
    } finally {
      await pool.end();
    }
  }));

test("a statement is waited for some two minutes, or by a pool whose statements may take long, as long as it takes", () =>
  withDatabase(async ({ connection }) => {
    const settings = { connection, schema: "cryobridge", max: 1, applicationName: "test" };
    const pools = [false, true].map((mayTakeLong) => openPool({ ...settings, mayTakeLong }, silent));
    expect(pools.map(({ options }) => options.query_timeout)).toEqual([130_000, undefined]);
    for (const pool of pools) await pool.end();
  }));

test("each connection is checked before anything is done on it, and closed where the check fails", () =>
  withDatabase(async ({ connection }) => {
    const pool = openPool({ connection, schema: "cryobridge", max: 2, applicationName: "test" }, silent);
    try {
      await pool.query("select 1");
      const checked: string[] = [];
      checkNewSessions(pool, async (client) => {
        const { rows } = await client.query<{ pid: string }>("select pg_backend_pid()::text as pid");
        checked.push(rows[0]?.pid ?? "");
        if (checked.length === 1) throw new Failure("LEDGER_WENT_BACK", "as it was made");
      });
      const first = await pool.connect();
      expect(checked).toEqual([]);
      await expect(pool.query("select 1")).rejects.toMatchObject({ code: "LEDGER_WENT_BACK" });
      await pool.query("select 1");
      await pool.query("select 1");
      first.release();
      expect(new Set(checked).size).toBe(2);
      expect(checked).toHaveLength(2);
    } finally {
      await pool.end();
    }
  }));

test("a connection that breaks while it is checked fails what asked for it, and nothing else", async () => {
  const peers: Socket[] = [];
  const server = createServer((peer) => {
    peers.push(peer);
    // Logged in, and ready; then whatever is asked has no answer but the end.
    peer.once("data", () => {
      peer.write(Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49]));
      peer.once("data", () => peer.destroy());
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const connection = { host: "127.0.0.1", port, user: "u", database: "d" };
  const pool = openPool({ connection, schema: "cryobridge", max: 1, applicationName: "test" }, silent);
  try {
    checkNewSessions(pool, async (client) => void (await client.query("select 1")));
    await expect(pool.query("select 1")).rejects.toThrow(/terminated|ECONNRESET/);
  } finally {
    await pool.end();
    for (const peer of peers) peer.destroy();
    server.close();
  }
});

test("a pool for a user that tries again at once gives a missing table, and a server that is away, back after its pause only", () =>
  withDatabase(async ({ connection }) => {
    const settings = { schema: "bullmq", max: 1, applicationName: "test", pauseAfterFailureMs: 100 };
    for (const each of [connection, { ...connection, host: "127.0.0.1", port: 9 }]) {
      const pool = openPool({ connection: each, ...settings }, silent);
      let isPauseOver = false;
      try {
        const failing = pool.query("select 1 from missing");
        // A timer of the same turn that is a little shorter.
        setTimeout(() => {
          isPauseOver = true;
        }, 90);
        await expect(failing).rejects.toThrow(/missing|ECONNREFUSED/);
        expect(isPauseOver).toBe(true);
      } finally {
        await pool.end();
      }
    }
  }));
