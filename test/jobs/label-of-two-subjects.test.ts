import { expect, test } from "vitest";
import { noTracer } from "../../src/core/order-step.ts";
import type { Phi } from "../../src/core/phi.ts";
import type { SubmitDeps } from "../../src/jobs/submit/deps.ts";
import { InHand } from "../../src/jobs/submit/in-hand.ts";
import { submitDue } from "../../src/jobs/submit/submit.ts";
import { findOrders } from "../../src/ledger/operator/views.ts";
import { openOrderWriter } from "../../src/ledger/order-writer.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import { ME, UNCOUNTED } from "../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { byRequest } from "../support/ways.ts";
import { silent, withLedger } from "../support/with-ledger.ts";

const never = new AbortController().signal;

test("an order is not sent when another subject's order for its label overtook it between its first look and its call", () =>
  withLedger(async ({ pool }) => {
    const orders = ["S-1", "S-2"].map((code) => anOrder({ code, placerOrderNumber: `A-${code}` }));
    await commit(
      pool,
      orders.map((order, n) => aRecord(n + 1, [order])),
    );
    // The later one finds the label free, since the earlier one is not seen yet.
    const setEarlier = (state: string) =>
      pool.query("update orders set state = $1 where placer_order_number = 'A-S-1'", [state]);
    await setEarlier("cancelled");
    const sent: string[] = [];
    const service: Partial<ServiceClient> = {
      findSubject: async (_facilityId: number, code: Phi) => {
        if (code.reveal() === "S-2") {
          await setEarlier("received");
          await submitDue(10, deps, never);
        }
        return { id: 1 };
      },
      listSubjectContainers: async () => [],
      create: async (_surface, { subjectCode }) => {
        sent.push(subjectCode.reveal());
        return { id: 1000 + sent.length, status: "PENDING" };
      },
    };
    const deps: SubmitDeps = {
      pool,
      writer: openOrderWriter(pool, UNCOUNTED),
      service: service as ServiceClient,
      logger: silent,
      tracer: noTracer,
      random: () => 0.5,
      worker: { id: ME, isSure: true },
      inHand: new InHand(),
      isSent: () => true,
      requireNewestKnown: async () => {},
      settings: {
        backoff: { firstMs: 1_000, maxMs: 1_000 },
        reconcile: { checksMs: [1_000], giveUpAfterMs: 1_000, recheckMs: 3_600_000, retrievals: "park" },
        firstPollMs: 60_000,
        subjectRequires: [],
        correlation: "token",
        sameContainer: "park",
        labelOfTwoSubjects: "park",
        doesParkedBlock: false,
        wayOf: byRequest,
      },
    };
    await submitDue(10, deps, never);
    const [parked] = await findOrders(pool, "A-S-2");
    expect([sent, parked?.state, parked?.failure?.code]).toEqual([
      ["S-1"],
      "parked",
      "ORDER_LABEL_OF_OTHER_SUBJECT",
    ]);
  }));
