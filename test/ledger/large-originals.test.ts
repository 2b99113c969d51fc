import { expect, test } from "vitest";
import type { MessageEcho } from "../../src/core/message-echo.ts";
import { phi } from "../../src/core/phi.ts";
import { composeMessages } from "../../src/jobs/deliver/compose.ts";
import { changeOrders } from "../../src/ledger/orders/change.ts";
import { listOpenOutcomes } from "../../src/ledger/results/outcomes.ts";
import { compileProfile } from "../../src/mapping/profile/compile-profile.ts";
import { anOrder, aRecord, commit } from "../support/orders.ts";
import { withLedger } from "../support/with-ledger.ts";

const ECHO = phi<MessageEcho>({ header: "MSH|^~\\&|LIMS", segments: ["PID|1"], groups: [] });

const MEGABYTE = 1024 * 1024;

test("outcomes of one message share what is repeated of it, however many there are", () =>
  withLedger(async ({ pool }) => {
    const numbers = ["A-1", "A-2", "A-3"];
    const orderIds = await commit(pool, [
      aRecord(
        1,
        numbers.map((placerOrderNumber) => anOrder({ placerOrderNumber })),
        { echo: ECHO },
      ),
    ]);
    const ended = orderIds.map((orderId) => ({ orderId, to: "cancelled", isReported: true }) as const);
    await changeOrders(pool, ended);
    const open = await listOpenOutcomes(pool, "lims", 100);
    expect(open).toHaveLength(1 + numbers.length);
    const [first, ...others] = open.map(({ outcome }) => outcome.message.echo);
    expect(first?.reveal()).toEqual(ECHO.reveal());
    for (const echo of others) expect(echo).toBe(first);
  }));

test("as many outcomes are composed together as there is room for what is repeated of their messages, and one at least", () =>
  withLedger(async ({ pool }) => {
    for (const n of [1, 2, 3]) await commit(pool, [aRecord(n, [anOrder({ placerOrderNumber: `A-${n}` })])]);
    const resize = (megabytes: number, most = 3) =>
      pool.query("update messages set echo = $2 || repeat(' ', $1) where id <= $3", [
        megabytes * MEGABYTE,
        JSON.stringify(ECHO.reveal()),
        most,
      ]);
    const count = async () => (await listOpenOutcomes(pool, "lims", 100)).length;
    expect(await count()).toBe(3);
    // To pack such texts would take seconds.
    await pool.query("alter table messages alter echo set storage external");
    await resize(30);
    expect(await count()).toBe(2);
    await resize(70, 1);
    expect(await count()).toBe(1);
  }));

test("what is kept of one message and can't be read back holds up no outcome of another, and none of it is said", () =>
  withLedger(async ({ pool }) => {
    for (const n of [1, 2])
      await commit(pool, [aRecord(n, [anOrder({ placerOrderNumber: `A-${n}` })], { echo: ECHO })]);
    await pool.query(`update messages set echo = '{"header":"MSH|CANARY"' where id = 1`);
    const open = await listOpenOutcomes(pool, "lims", 100);
    const compiled = await compileProfile(
      "lab",
      { extends: "builtin/hl7-orders" },
      { loadModule: async () => ({}) },
    );
    if (!compiled.ok) throw new Error("the profile has mistakes");
    const { deliveries, uncomposed } = await composeMessages(open, compiled.profile);
    expect(deliveries).toHaveLength(1);
    expect(uncomposed).toMatchObject([{ outcomeId: open[0]?.id, code: "UNCLASSIFIED" }]);
    expect(uncomposed[0]?.text).not.toContain("CANARY");
  }));

test("of a message that is ignored and that nobody waits for, nothing is kept to be repeated", () =>
  withLedger(async ({ pool }) => {
    const ignored = { verdict: "ignored", echo: ECHO } as const;
    await commit(pool, [aRecord(1, [], ignored), aRecord(2, [], { ...ignored, isAnsweredInBatch: true })]);
    const { rows } = await pool.query("select echo is null as nothing from messages order by id");
    expect(rows).toEqual([{ nothing: true }, { nothing: false }]);
  }));
