import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type pg from "pg";
import { pino } from "pino";
import { systemClock } from "../../src/core/clock.ts";
import { nextPollMs, pollPauseMs, trackFacility } from "../../src/jobs/track/track.ts";
import { openPool } from "../../src/ledger/database.ts";
import { findDue } from "../../src/ledger/due.ts";
import { migrateLedger } from "../../src/ledger/migrate.ts";
import { createServiceClient } from "../../src/service/client.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { serviceSettings } from "../support/service-settings.ts";
import { startTestServer } from "../support/test-server.ts";
import { byRequest } from "../support/ways.ts";
import type { BenchReport } from "./report.ts";

const FACILITY = 12;
/** The longest interval of the default configuration, and how many times shorter it is here. */
const MINUTES = 15;
const COMPRESSED = 5;
const INTERVAL_MS = (MINUTES * 60_000) / COMPRESSED;
const INTERVALS = 2;
/** How often an order without news is asked about in an hour, by the default configuration. */
const LOOKS_IN_AN_HOUR = countLooks(3_600_000);
/** Between the open records of the service are some that ended: one in so many. */
const ENDED_EACH = 11;

/**
 * Open orders of one facility, the older half accepted and the others waiting for staff, all at the longest interval, and at first
 * due at any moment of it. Real PostgreSQL; the service is a list in memory. Time is compressed: the interval lasts 3 min
 * instead of 15 min, and what is counted of an interval is told for the minutes that it stands for.
 */
export async function benchTrack(count: number): Promise<BenchReport> {
  const folder = await mkdtemp(join(tmpdir(), "cryobridge-bench-"));
  // Root's server runs under another account, which has to get through.
  await chmod(folder, 0o711);
  const server = await startTestServer(join(folder, "data"));
  const silent = pino({ level: "silent" });
  const pool = openPool(
    { connection: server.connection, schema: "cryobridge", max: 8, applicationName: "bench" },
    silent,
  );
  const service = new CountingService(count);
  try {
    await migrateLedger(pool);
    await follow(pool, count);
    await service.start();
    const client = createServiceClient(
      serviceSettings({ baseUrl: service.url, auth: { apiToken: "t" }, maxRequestsPerSecond: 1_000_000 }),
      { clock: systemClock, logger: silent },
    );
    const polling = { firstMs: INTERVAL_MS / 15, maxMs: INTERVAL_MS, factor: 1.5 };
    const deps = {
      pool,
      service: client,
      locating: client,
      polling,
      clock: systemClock,
      logger: silent,
      concurrency: 8,
    };
    const signal = new AbortController().signal;
    const perInterval: Counts[] = [];
    let behind = 0;
    for (let interval = 0; interval < INTERVALS; interval += 1) {
      service.counts = { pages: 0, singles: 0 };
      const endsAt = performance.now() + INTERVAL_MS;
      while (performance.now() < endsAt) {
        for (const facilityId of (await findDue(pool, [])).facilities) {
          await trackFacility(
            facilityId,
            { ...deps, wayOf: byRequest, isSent: () => true, worker: { isSure: true, ledgerNow: Date.now } },
            signal,
          );
        }
        await systemClock.sleep(pollPauseMs(polling));
      }
      perInterval.push(service.counts);
      behind = await countBehind(pool);
    }
    await client.close();
    // The first one gathers what was due at any moment.
    const [, ...steady] = perInterval;
    const perMinute = (of: keyof Counts) =>
      steady.reduce((sum, each) => sum + each[of], 0) / steady.length / MINUTES;
    return {
      bench: "track",
      title: `${count.toLocaleString("en-US")} open orders of one facility at the longest interval (${MINUTES} min)`,
      figures: [
        {
          name: "requests a minute",
          value: perMinute("pages") + perMinute("singles"),
          unit: "",
          bound: { atMost: 90 },
        },
        {
          name: "requests for an order in its first hour",
          value: (LOOKS_IN_AN_HOUR * MINUTES * (perMinute("pages") + perMinute("singles"))) / count,
          unit: "",
          bound: { atMost: 0.1 },
        },
        { name: "of them pages of lists", value: perMinute("pages"), unit: "" },
        { name: "of them single reads", value: perMinute("singles"), unit: "" },
        {
          name: "due for more than a tenth of the interval",
          value: behind,
          unit: "orders",
          bound: { atMost: 0 },
        },
      ],
    };
  } finally {
    await pool.end();
    await service.stop();
    await server.remove();
    await rm(folder, { recursive: true, force: true });
  }
}

function countLooks(withinMs: number): number {
  const polling = { firstMs: 60_000, maxMs: MINUTES * 60_000, factor: 1.5 };
  let looks = 0;
  for (let atMs = polling.firstMs; atMs <= withinMs; looks += 1) {
    atMs += nextPollMs(atMs, polling);
  }
  return looks;
}

interface Counts {
  pages: number;
  singles: number;
}

async function follow(pool: pg.Pool, count: number): Promise<void> {
  const [id] = await commit(pool, [aRecord(1, [anOrder({ code: "S" })])]);
  await pool.query(
    `insert into orders (message_id, position, connector, operation, facility_code, facility_id, subject_code, subject,
                         sources, content_digest)
     select message_id, n + 1, connector, operation, facility_code, facility_id, 'S' || n, subject, '{}', ''
       from orders, generate_series(1, $2::int - 1) n
      where id = $1`,
    [id, count],
  );
  await pool.query(
    `update orders o
        set facility_id = $1, request_id = x.n + (x.n - 1) / ($2::int - 1),
            procedure_id = case when x.n <= $4::int / 2 then x.n + (x.n - 1) / ($2::int - 1) end,
            state = case when x.n <= $4::int / 2 then 'accepted' else 'submitted' end,
            remote_status = case when x.n <= $4::int / 2 then 'CREATED' else 'PENDING' end,
            next_at = now() + random() * $3::int * interval '1 millisecond'
       from (select id, row_number() over (order by id)::int as n from orders) x
      where x.id = o.id`,
    [FACILITY, ENDED_EACH, INTERVAL_MS, count],
  );
  await pool.query("analyze orders");
}

async function countBehind(pool: pg.Pool): Promise<number> {
  const { rows } = await pool.query<{ count: number }>(
    "select count(*)::integer as count from orders where next_at < now() - $1 * interval '1 millisecond'",
    [INTERVAL_MS / 10],
  );
  return rows[0]?.count ?? 0;
}

/** Lists of requests and of procedures by rising ids, of which every eleventh has ended. */
class CountingService {
  counts: Counts = { pages: 0, singles: 0 };
  readonly #server: Server;
  readonly #lastId: number;

  constructor(count: number) {
    this.#lastId = count + Math.ceil(count / (ENDED_EACH - 1));
    this.#server = createServer((request, response) => {
      const url = new URL(request.url ?? "/", "http://service");
      const [, , list, id] = url.pathname.split("/");
      if (id === undefined) this.counts.pages += 1;
      else this.counts.singles += 1;
      const shown = id === undefined ? this.#page(url.searchParams) : [Number(id)];
      const entries = shown.map((each) => (list === "procedures" ? procedure(each) : requested(each)));
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(id === undefined ? entries : entries[0]));
    });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  start(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  stop(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }

  #page(query: URLSearchParams): number[] {
    const from = Number(query.get("id_from") ?? 1);
    const to = Math.min(this.#lastId, Number(query.get("id_to") ?? this.#lastId));
    const perPage = Math.min(100, Number(query.get("perPage") ?? 10));
    const first = from + (Number(query.get("page") ?? 1) - 1) * perPage;
    const length = Math.max(0, Math.min(perPage, to - first + 1));
    return Array.from({ length }, (_, index) => first + index);
  }
}

const requested = (id: number) => ({
  id,
  type: "STORE",
  facilityId: FACILITY,
  status: id % ENDED_EACH === 0 ? "REJECTED" : "PENDING",
  procedureId: null,
});

const procedure = (id: number) => ({ id, type: "store", facilityId: FACILITY, status: "CREATED" });
