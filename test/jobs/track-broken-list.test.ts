import { expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { Failure } from "../../src/core/failures.ts";
import { phi } from "../../src/core/phi.ts";
import { trackFacility } from "../../src/jobs/track/track.ts";
import { UnreadFacilities } from "../../src/jobs/track/unread.ts";
import { FakeClock } from "../service/fake-clock.ts";
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
              set state = 'submitted', request_id = id,
                  remote_status = 'PENDING', next_at = now()`,
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
        const deps = {
          pool,
          service,
          locating: service,
          polling,
          clock: systemClock,
          logger: silent,
          concurrency: 2,
        };
        for (let round = 0; round < 3; round += 1) {
          await trackFacility(
            12,
            { ...deps, wayOf: byRequest, isSent: () => true, worker: { isSure: true, ledgerNow: Date.now } },
            never,
          );
          // All come due again as they were put off, a minute later.
          await pool.query("update orders set next_at = next_at - interval '60 seconds'");
        }
        const read = new Set(stub.seen.filter(({ url }) => /\/\d+$/.test(url)).map(({ url }) => url));
        expect(read.size).toBe(COUNT);
      },
      { maxRequestsPerSecond: 100_000 },
    ),
  ));

test("orders of a facility that can't be asked about need a person after an hour, until they can", () =>
  withLedger(({ pool }) =>
    withStub(async (stub, service) => {
      stub.rows.subjects = [];
      // The credentials are let in elsewhere.
      await service.findSubject(12, phi("S-0"), never);
      await commit(pool, [aRecord(1, [anOrder({ placerOrderNumber: "A-1", code: "S-1" })])]);
      await pool.query(
        `update orders
            set state = 'submitted', request_id = id,
                remote_status = 'PENDING', next_at = now()`,
      );
      const { rows } = await pool.query<{ id: number }>("select id from orders");
      stub.rows["procedure-requests"] = rows.map(({ id }) => ({ id, status: "PENDING", procedureId: null }));
      stub.intercept = (request, response) => {
        const isRefused = request.url?.startsWith("/api/procedure-requests") === true;
        if (isRefused) send(response, 401, { code: "UNAUTHORIZED" });
        return isRefused;
      };
      const clock = new FakeClock();
      const unread = new UnreadFacilities(clock, 120_000);
      const deps = {
        pool,
        service,
        locating: service,
        clock,
        logger: silent,
        concurrency: 2,
        unread,
        wayOf: byRequest,
      };
      const polling = { firstMs: 60_000, maxMs: 60_000, factor: 1.5 };
      const track = async () => {
        await trackFacility(
          12,
          { ...deps, polling, isSent: () => true, worker: { isSure: true, ledgerNow: Date.now } },
          never,
        );
        await pool.query("update orders set next_at = next_at - interval '60 seconds'");
        return unread.conditions(() => "NORTH");
      };
      expect(await track()).toMatchObject([
        { kind: "ordersStalled", about: "facility NORTH", level: "wait" },
      ]);
      for (let minute = 0; minute < 61; minute += 1) {
        unread.note(12, new Failure("SERVICE_ACCESS_REFUSED", "refused"));
        await clock.advance(60_000);
      }
      expect(await track()).toMatchObject([{ level: "act" }]);
      stub.intercept = () => false;
      await clock.advance(121_000);
      expect(await track()).toEqual([]);
    }),
  ));
