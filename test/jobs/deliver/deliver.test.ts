import type pg from "pg";
import { expect, test } from "vitest";
import { Failure } from "../../../src/core/failures.ts";
import { composeMessages } from "../../../src/jobs/deliver/compose.ts";
import type { DeliverDeps } from "../../../src/jobs/deliver/deliver.ts";
import { openPool } from "../../../src/ledger/database.ts";
import { listOpenDeliveries } from "../../../src/ledger/operator/views.ts";
import { changeOrders } from "../../../src/ledger/orders/change.ts";
import { dropDelivery, retryDelivery } from "../../../src/ledger/results/deliveries.ts";
import { moveResults } from "../../../src/ledger/results/orphaned.ts";
import type { OpenOutcome } from "../../../src/ledger/results/outcomes.ts";
import { builtinProfiles } from "../../../src/mapping/profile/builtin.ts";
import { compileProfile } from "../../../src/mapping/profile/compile-profile.ts";
import { deliverTo, type TestTarget } from "../../support/deliver.ts";
import { omlO33 } from "../../support/lab-messages.ts";
import { aMessage, anOrder, aRecord, commit } from "../../support/orders.ts";
import { silent, type TestLedger, withLedger } from "../../support/with-ledger.ts";

async function hl7Profile() {
  const definition = builtinProfiles["builtin/hl7-orders"];
  if (!definition) throw new Error("no built-in profile");
  const compiled = await compileProfile("builtin/hl7-orders", definition, { loadModule: async () => ({}) });
  if (!compiled.ok) throw new Error("the built-in profile has mistakes");
  return compiled.profile;
}

/** A lab that can be told to fail, and what it has got. */
async function aLab(fail: (name: string) => Failure | undefined = () => undefined) {
  const profile = await hl7Profile();
  const got: string[] = [];
  const target: TestTarget = {
    compose: async (open: readonly OpenOutcome[]) => composeMessages(open, profile),
    deliver: async ({ fileName }) => {
      const failure = fail(fileName);
      if (failure) throw failure;
      got.push(fileName);
    },
  };
  return { target, got };
}

const deliver = (
  { pool }: Pick<TestLedger, "pool">,
  target: TestTarget,
  more: Partial<DeliverDeps> = {},
): Promise<void> => deliverTo(pool, target, more)();

/** A clock that a test sets forwards. */
function aClock() {
  let now = 0;
  return {
    monotonic: () => now,
    passes: (ms: number) => {
      now += ms;
    },
  };
}

async function commitNumbered({ pool }: TestLedger, numbers: readonly string[]): Promise<number[]> {
  return commit(
    pool,
    numbers.map((number, index) => ({
      ...aRecord(index + 1, [anOrder({ placerOrderNumber: number })]),
      message: aMessage(index + 1, omlO33({ number })),
    })),
  );
}

/** How many deliveries there are of each state. */
async function countDeliveries(pool: pg.Pool): Promise<Record<string, number>> {
  const { rows } = await pool.query<{ state: string; count: number }>(
    "select state, count(*)::integer as count from deliveries group by state",
  );
  return {
    pending: 0,
    delivered: 0,
    parked: 0,
    ...Object.fromEntries(rows.map(({ state, count }) => [state, count])),
  };
}

test("tells the lab what it was not told yet, once, in the order in which it happened", () =>
  withLedger(async (ledger) => {
    const [id] = await commitNumbered(ledger, ["A-1", "A-2"]);
    const failure = { code: "SUBJECT_UNKNOWN", text: "no such subject" } as const;
    await changeOrders(ledger.pool, [{ orderId: id as number, to: "parked", failure, isReported: true }]);
    const lab = await aLab();
    await deliver(ledger, lab.target);
    await deliver(ledger, lab.target);
    expect(lab.got.map((name) => name.split("_")[0])).toEqual(["A-1", "A-2", "A-1"]);
  }));

test("lets later results wait behind one that the lab can't take right now", () =>
  withLedger(async (ledger) => {
    await commitNumbered(ledger, ["A-1", "A-2"]);
    let isDown = true;
    const lab = await aLab((name) =>
      isDown && name.startsWith("A-1") ? new Failure("FILE_SYSTEM_ERROR", "disk full") : undefined,
    );
    await deliver(ledger, lab.target);
    expect(lab.got).toEqual([]);
    isDown = false;
    await ledger.pool.query("update deliveries set next_at = now()");
    await deliver(ledger, lab.target);
    expect(lab.got.map((name) => name.split("_")[0])).toEqual(["A-1", "A-2"]);
  }));

test("tries a lab that is away at least once a minute, however often its only result has failed", () =>
  withLedger(async (ledger) => {
    await commitNumbered(ledger, ["A-1"]);
    const lab = await aLab(() => new Failure("MLLP_UNREACHABLE", "no connection"));
    const backoff = { firstMs: 2_000, maxMs: 300_000 };
    await deliver(ledger, lab.target, { backoff, random: () => 1 });
    await ledger.pool.query("update deliveries set next_at = now(), attempts = 20");
    await deliver(ledger, lab.target, { backoff, random: () => 1 });
    const { rows } = await ledger.pool.query(
      "select attempts from deliveries where next_at <= now() + '1 min'",
    );
    expect(rows).toEqual([{ attempts: 21 }]);
  }));

test("parks a result that the lab will never take, and goes on with the others", () =>
  withLedger(async (ledger) => {
    await commitNumbered(ledger, ["A-1", "A-2"]);
    const lab = await aLab((name) =>
      name.startsWith("A-1") ? new Failure("FILE_NAME_TAKEN", "another file has that name") : undefined,
    );
    await deliver(ledger, lab.target);
    expect(lab.got.map((name) => name.split("_")[0])).toEqual(["A-2"]);
    expect(await countDeliveries(ledger.pool)).toMatchObject({ delivered: 1, parked: 1 });
  }));

test("doesn't send what a person gave up while the lab took its time over an earlier one", () =>
  withLedger(async (ledger) => {
    await commitNumbered(ledger, ["A-1", "A-2"]);
    const lab = await aLab();
    const clock = aClock();
    const target: TestTarget = {
      ...lab.target,
      deliver: async (file) => {
        await lab.target.deliver(file);
        clock.passes(2_000);
        const [, second] = await listOpenDeliveries(ledger.pool, 10);
        const id = Number(second?.deliveryId.slice(1));
        if (second) await dropDelivery(ledger.pool, id, { actor: "kim", reason: "told by phone" });
      },
    };
    await deliver(ledger, target, { clock });
    expect(lab.got.map((name) => name.split("_")[0])).toEqual(["A-1"]);
  }));

test("leaves to another connector what was moved there while the lab took its time over an earlier one", () =>
  withLedger(async (ledger) => {
    await commitNumbered(ledger, ["A-1", "A-2"]);
    const lab = await aLab();
    const clock = aClock();
    const target: TestTarget = {
      ...lab.target,
      deliver: async (file) => {
        await lab.target.deliver(file);
        clock.passes(2_000);
        await moveResults(ledger.pool, { from: "lims", to: "other" }, { actor: "kim", reason: "renamed" });
      },
    };
    await deliver(ledger, target, { clock });
    await deliver(ledger, lab.target);
    expect(lab.got.map((name) => name.split("_")[0])).toEqual(["A-1"]);
    expect(await countDeliveries(ledger.pool)).toMatchObject({ delivered: 1, pending: 1 });
  }));

test("a result that is on its way learns at its last step that another worker may send it now", () =>
  withLedger(async (ledger) => {
    const lab = await aLab();
    await commitNumbered(ledger, ["A-1"]);
    let isMine = true;
    const may: boolean[] = [];
    const carry: TestTarget["deliver"] = async (file) => {
      may.push(file.mayLeave());
      isMine = false;
      may.push(file.mayLeave());
      throw new Failure("MLLP_UNREACHABLE", "not sent");
    };
    await deliver(ledger, { ...lab.target, deliver: carry }, { mayDeliver: () => isMine });
    expect(may).toEqual([true, false]);
    expect(await countDeliveries(ledger.pool)).toMatchObject({ pending: 1, delivered: 0 });
  }));

test("composes and sends nothing from the moment on in which another process may", () =>
  withLedger(async (ledger) => {
    await commitNumbered(ledger, ["A-1", "A-2", "A-3"]);
    const lab = await aLab();
    await deliver(ledger, lab.target, { mayDeliver: () => false });
    expect(await countDeliveries(ledger.pool)).toMatchObject({ delivered: 0, pending: 0 });
    await deliver(ledger, lab.target, { mayDeliver: () => lab.got.length < 2 });
    expect(lab.got.map((name) => name.split("_")[0])).toEqual(["A-1", "A-2"]);
    expect(await countDeliveries(ledger.pool)).toMatchObject({ delivered: 2, pending: 1 });
  }));

test("tells an order's later result alone again when it was killed right behind its acknowledgement", () =>
  withLedger(async (ledger) => {
    const [orderId] = (await commitNumbered(ledger, ["A-1"])) as [number];
    await ledger.pool.query("update outcomes set is_composed = true");
    const failure = { code: "SUBJECT_UNKNOWN", text: "no such subject" } as const;
    await changeOrders(ledger.pool, [{ orderId, to: "parked", failure, isReported: true }]);
    await changeOrders(ledger.pool, [{ orderId, to: "discarded", isReported: true }]);
    const lab = await aLab();
    const dying = openPool(
      { connection: ledger.connection, schema: "cryobridge", max: 2, applicationName: "dying" },
      silent,
    );
    const target: TestTarget = {
      ...lab.target,
      deliver: async (file) => {
        await lab.target.deliver(file);
        // Nothing gets into the ledger from here on.
        if (lab.got.length === 2) await dying.end();
      },
    };
    await expect(deliver({ pool: dying }, target)).rejects.toThrow();
    await deliver(ledger, lab.target);
    const [earlier, later] = lab.got;
    expect(lab.got).toEqual([earlier, later, later]);
    expect(later).not.toBe(earlier);
  }));

test("sets an outcome aside that no message can be made of, and composes it anew when a person says so", () =>
  withLedger(async (ledger) => {
    await commitNumbered(ledger, ["A-1", "A-2"]);
    const lab = await aLab();
    const { compose } = lab.target;
    let isBroken = true;
    const target: TestTarget = {
      ...lab.target,
      compose: async (open) => {
        // No message can hold a time that is none.
        const spoiled = open.map((each, index) => (isBroken && index === 0 ? spoil(each) : each));
        return compose(spoiled);
      },
    };
    await deliver(ledger, target);
    expect(lab.got.map((name) => name.split("_")[0])).toEqual(["A-2"]);
    const [aside] = await listOpenDeliveries(ledger.pool, 10);
    expect(aside).toMatchObject({ state: "parked" });
    isBroken = false;
    expect(await retryDelivery(ledger.pool, Number(aside?.deliveryId.slice(1)), { actor: "kim" })).toBe(true);
    await deliver(ledger, target);
    expect(lab.got.map((name) => name.split("_")[0])).toEqual(["A-2", "A-1"]);
  }));

function spoil(open: OpenOutcome): OpenOutcome {
  return { ...open, outcome: { ...open.outcome, occurredAt: new Date(Number.NaN) } };
}

test("a copy of the ledger without what was composed is known for one before the first result leaves", () =>
  withLedger(async (ledger) => {
    await commitNumbered(ledger, ["PO-1", "PO-2"]);
    const { target, got } = await aLab();
    const counted: number[] = [];
    const advanceEpoch = async () => {
      const { rows } = await ledger.pool.query("select 1 from outcomes where not is_composed");
      counted.push(rows.length + got.length);
    };
    await deliver(ledger, target, { advanceEpoch });
    expect(got).not.toEqual([]);
    expect(counted).toEqual([0]);
    await deliver(ledger, target, { advanceEpoch });
    expect(counted).toEqual([0]);
  }));

test.each([
  ["goes out though the epoch file can't be written", "LEDGER_EPOCH_UNUSABLE"],
  ["stays where it is when the ledger turns out to be an older copy", "LEDGER_WENT_BACK"],
] as const)("a result %s", (_, code) =>
  withLedger(async (ledger) => {
    await commitNumbered(ledger, ["PO-1"]);
    const { target, got } = await aLab();
    const advanceEpoch = () => Promise.reject(new Failure(code, "as it was made"));
    const delivering = deliver(ledger, target, { advanceEpoch });
    if (code === "LEDGER_WENT_BACK") {
      await expect(delivering).rejects.toMatchObject({ code });
      expect(got).toEqual([]);
    } else {
      await delivering;
      expect(got).not.toEqual([]);
    }
  }),
);
