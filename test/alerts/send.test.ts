import type pg from "pg";
import { expect, test } from "vitest";
import { sendDueAlerts } from "../../src/alerts/send.ts";
import type { AlertNews } from "../../src/core/alert.ts";
import { type Clock, systemClock } from "../../src/core/clock.ts";
import { findInstanceCode } from "../../src/ledger/migrate.ts";
import { never } from "../service/with-client.ts";
import { silent, withLedger } from "../support/with-ledger.ts";
import { addAlert } from "./add-alert.ts";

/** Sends twice what is due, to a place that takes nothing about "unloved"; gives what was tried. */
async function sendTwice(pool: pg.Pool, clock: Clock = systemClock): Promise<string[]> {
  const tried: string[] = [];
  const hook = {
    name: "hook",
    send: async ({ event, alert }: { event: string; alert: { about: string } }) => {
      tried.push(`${alert.about} ${event}`);
      if (alert.about === "unloved") throw new Error("status 400");
    },
  };
  const deps = {
    pool,
    places: [hook],
    sender: { host: "lab", version: "1" },
    clock,
    logger: silent,
  };
  const { signal } = new AbortController();
  await sendDueAlerts(deps, signal);
  await sendDueAlerts(deps, signal);
  return tried;
}

/** Ends all alerts that hold. */
const end = (pool: pg.Pool) =>
  pool.query(
    `with ended as (update alerts set over_at = now() where over_at is null returning id)
     insert into alert_messages (alert_id, place, event) select id, 'hook', 'over' from ended order by id`,
  );

test("a place that does not take one alert hears of the others, and of each alert's end only after its start", () =>
  withLedger(async ({ pool }) => {
    await addAlert(pool, "tasksOpen", "unloved");
    await addAlert(pool, "tasksOpen", "loved");
    await end(pool);
    expect(await sendTwice(pool)).toEqual(["unloved started", "loved started", "loved over"]);
  }));

test("a place hears that something is wrong again only after it heard that it was over", () =>
  withLedger(async ({ pool }) => {
    await addAlert(pool, "tasksOpen", "loved");
    await end(pool);
    await pool.query("update alert_messages set sent_at = now() where event = 'started'");
    await pool.query(
      "update alert_messages set next_at = now() + interval '10 minutes' where event = 'over'",
    );
    await addAlert(pool, "tasksOpen", "loved");
    expect(await sendTwice(pool)).toEqual([]);
    await pool.query("update alert_messages set next_at = now() where event = 'over'");
    expect(await sendTwice(pool)).toEqual(["loved over", "loved started"]);
  }));

test("a place that is slow is sent what there is piece by piece, since nothing is judged meanwhile", () =>
  withLedger(async ({ pool }) => {
    for (const about of ["a", "b", "c"]) await addAlert(pool, "tasksOpen", about);
    let nowMs = 0;
    const took: string[] = [];
    const slow = {
      name: "hook",
      send: async ({ alert }: AlertNews) => {
        took.push(alert.about);
        nowMs += 6_000;
      },
    };
    const clock = { now: systemClock.now, monotonic: () => nowMs };
    const sender = { host: "lab", version: "1" };
    const send = () => sendDueAlerts({ pool, places: [slow], sender, clock, logger: silent }, never);
    await send();
    expect(took).toEqual(["a", "b"]);
    await send();
    expect(took).toEqual(["a", "b", "c"]);
  }));

test("a stop ends a sending, which is done again later", () =>
  withLedger(async ({ pool }) => {
    await addAlert(pool, "tasksOpen", "a");
    const stopping = new AbortController();
    const silentPlace = {
      name: "hook",
      send: (_: AlertNews, signal: AbortSignal) =>
        new Promise<void>((_resolve, reject) => {
          signal.addEventListener("abort", () => reject(new Error("the daemon stops")));
          stopping.abort();
        }),
    };
    const deps = { pool, places: [silentPlace], clock: systemClock, logger: silent };
    await sendDueAlerts({ ...deps, sender: { host: "lab", version: "1" } }, stopping.signal);
    const { rows } = await pool.query("select failure, sent_at, given_up_at from alert_messages");
    expect(rows).toEqual([{ failure: "the daemon stops", sent_at: null, given_up_at: null }]);
  }));

test("what a place did not take for a day is given up by the ledger's time, whatever the machine's clock says", () =>
  withLedger(async ({ pool }) => {
    await addAlert(pool, "tasksOpen", "unloved");
    const clock = { ...systemClock, now: () => systemClock.now() + 2 * 86_400_000 };
    const givenUp = async () => {
      await pool.query("update alert_messages set next_at = now()");
      await sendTwice(pool, clock);
      return (await pool.query("select from alert_messages where given_up_at is not null")).rowCount;
    };
    expect(await givenUp()).toBe(0);
    await pool.query("update alert_messages set created_at = now() - interval '25 hours'");
    clock.now = () => systemClock.now() - 2 * 86_400_000;
    expect(await givenUp()).toBe(1);
  }));

test("a message has the same id whichever machine sends it, with the ledger's own code", () =>
  withLedger(async ({ pool }) => {
    await addAlert(pool, "tasksOpen", "a");
    const ids: string[] = [];
    const place = {
      name: "hook",
      send: async ({ id }: AlertNews) => {
        ids.push(id);
        throw new Error("status 500");
      },
    };
    for (const host of ["lab-1", "lab-2"]) {
      await pool.query("update alert_messages set next_at = now()");
      const deps = { pool, places: [place], sender: { host, version: "1" } };
      await sendDueAlerts({ ...deps, clock: systemClock, logger: silent }, never);
    }
    const id = `${await findInstanceCode(pool)}-a1-started`;
    expect(ids).toEqual([id, id]);
  }));
