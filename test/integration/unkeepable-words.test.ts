import { describe, expect, test } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { trackFacility } from "../../src/jobs/track/track.ts";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { never, withStub } from "../service/with-client.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { byRequest } from "../support/ways.ts";
import { withSite } from "../support/with-daemon.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

describe("words that no database can keep", () => {
  test("in a lab's message refuse that message, and the next one is taken", () =>
    withSite({}, async (site) => {
      await site.start();
      await site.drop("hl7", "a-bad.hl7", omlO33({ number: "1", lastName: "Exa\\X00\\mple" }));
      await site.drop("hl7", "b-good.hl7", omlO33({ number: "2" }));
      await site.waitForOrders(1, ["completed"]);
      const answers = await eventually(async () => {
        const texts = [...(await site.results("hl7")).values()];
        return texts.some((text) => text.includes("MAPPING_CHARACTER_INVALID")) ? texts : undefined;
      });
      expect(answers.join("\n")).toContain("PID-5.1");
      expect(answers.join("\n")).not.toContain("\0");
    }));

  test("from the service are kept without them, and the facility's other orders are followed", () =>
    withLedger(({ pool }) =>
      withStub(async (stub, service) => {
        const records = ["A", "B"].map((number, n) =>
          aRecord(n + 1, [anOrder({ placerOrderNumber: number, code: `S-${n}` })]),
        );
        const ids = await commit(pool, records);
        await pool.query(
          "update orders set state = 'submitted', request_id = id, next_at = now() where id = any ($1)",
          [ids],
        );
        const [odd, plain] = ids as [number, number];
        stub.rows["procedure-requests"] = [
          { id: odd, status: "ON\0HOLD \ud800", facilityId: 12 },
          { id: plain, status: "REJECTED", facilityId: 12 },
        ];
        const polling = { firstMs: 60_000, maxMs: 90_000, factor: 1.5 };
        const deps = {
          pool,
          service,
          locating: service,
          logger: silent,
          clock: systemClock,
          polling,
          concurrency: 2,
          wayOf: byRequest,
          isSent: () => true,
          worker: { isSure: true, ledgerNow: Date.now },
        };
        await trackFacility(12, deps, never);
        expect((await findOrders(pool, `o${plain}`))[0]?.state).toBe("rejected");
        expect((await findOrders(pool, `o${odd}`))[0]).toMatchObject({
          state: "submitted",
          remoteStatus: "(not a word)",
        });
      }),
    ));
});
