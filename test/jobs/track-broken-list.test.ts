import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { trackFacility } from "../../src/jobs/track/track.ts";
import { send } from "../service/stub-service.ts";
import { never, withStub } from "../service/with-client.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { byRequest } from "../support/ways.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

const COUNT = 260;

test("orders that a list out of order doesn't show are each followed in their turn, also when all are due together", () =>
  withLedger(({ pool }) =>
    withStub(
      async (stub, service) => {
        const orders = Array.from({ length: COUNT }, (_, index) =>
          anOrder({ placerOrderNumber: `A-${index}`, code: `S-${index}` }),
        );
        await commit(pool, [aRecord(1, orders)]);
        await pool.query(
          `update orders
              set state = 'submitted', request_id = id, surface = 'request', submitted_at = now(),
                  poll_interval_ms = 60000, remote_status = 'PENDING', next_at = now()`,
        );
        const { rows } = await pool.query<{ id: number }>("select id from orders");
        stub.rows["procedure-requests"] = rows.map(({ id }) => ({
          id,
          status: "PENDING",
          procedureId: null,
        }));
        stub.intercept = (request, response) => {
          const isList = request.url?.startsWith("/api/procedure-requests?") === true;
          if (isList) send(response, 500, { message: "out of order" });
          return isList;
        };
        const polling = { firstMs: 60_000, maxMs: 60_000, factor: 1.5 };
        const deps = { pool, service, polling, clock: systemClock, logger: silent, concurrency: 2 };
        for (let round = 0; round < 3; round += 1) {
          await trackFacility(12, { ...deps, wayOf: byRequest, worker: { isSure: true } }, never);
          // All come due again as they were put off, a minute later.
          await pool.query("update orders set next_at = next_at - interval '60 seconds'");
        }
        const read = new Set(stub.seen.filter(({ url }) => /\/\d+$/.test(url)).map(({ url }) => url));
        expect(read.size).toBe(COUNT);
      },
      { maxRequestsPerSecond: 100_000 },
    ),
  ));
