import { expect, test } from "vitest";
import { Failure } from "../../src/core/failures.ts";
import { submitAllDue } from "../../src/jobs/submit/submit.ts";
import { findDue } from "../../src/ledger/due.ts";
import { claimNext } from "../support/hand-over.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { submitDeps } from "../support/submit.ts";
import { withLedger } from "../support/with-ledger.ts";

const never = new AbortController().signal;

test("a worker that can take nothing asks for no other look, though an order that waits for its lane is due", () =>
  withLedger(async ({ pool }) => {
    await commit(pool, [aRecord(1, [anOrder()]), aRecord(2, [anOrder({ placerOrderNumber: "A-2" })])]);
    await claimNext(pool, 7);
    expect(await findDue(pool, [])).toMatchObject({ isOrderWaiting: true });
    let nudges = 0;
    const nudge = () => {
      nudges += 1;
    };
    const turns = { batchSize: () => 10, mayGoOn: () => true, nudge };
    await submitAllDue(submitDeps(pool, {}), turns, never);
    expect(nudges).toBe(0);
  }));

test("a worker goes on until there is nothing left to take, and has the ledger looked at for what it has done", () =>
  withLedger(async ({ pool }) => {
    await commit(
      pool,
      [1, 2, 3].map((n) => aRecord(n, [anOrder({ placerOrderNumber: `A-${n}`, code: `S-${n}` })])),
    );
    let nudges = 0;
    const nudge = () => {
      nudges += 1;
    };
    const turns = { batchSize: () => 2, mayGoOn: () => true, nudge };
    const requireNewestKnown = () => Promise.reject(new Failure("SERVICE_REFUSED", "no"));
    await submitAllDue({ ...submitDeps(pool, {}), requireNewestKnown }, turns, never);
    // Of the second, as full as it may be, and at the end.
    expect(nudges).toBe(2);
    expect(await findDue(pool, [])).toMatchObject({ isOrderWaiting: false });
  }));
