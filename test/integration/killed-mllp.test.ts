import type pg from "pg";
import { expect, test } from "vitest";
import { MllpSender } from "../../src/connectors/mllp/sender.ts";
import { systemClock } from "../../src/core/clock.ts";
import { asFailure } from "../../src/core/failures.ts";
import { isTerminal } from "../../src/core/order-state.ts";
import { listOrders } from "../../src/ledger/operator/views.ts";
import { eventually } from "../support/eventually.ts";
import { findPort } from "../support/find-port.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { createStorm } from "../support/mllp-storm.ts";
import { withChildSite, withPool } from "../support/with-child-site.ts";
import { silent } from "../support/with-ledger.ts";
import { withServerSite } from "../support/with-server-site.ts";

const ORDERS = 20;
const QUICK = {
  staff: { auto: true, reviewAfterMs: [50, 150], acceptanceRate: 1 },
  device: { auto: true, startAfterMs: [20, 50], runMs: [50, 150], failureRate: 0 },
} as const;

/** Sends each message until it is acknowledged, as interface engines do; gives the answers by order number. */
async function sendAll(
  port: number,
  numbers: readonly string[],
  answers: Map<string, string>,
): Promise<void> {
  const settings = { host: "127.0.0.1", port, connectMs: 5_000, answerMs: 10_000 };
  const sender = new MllpSender(settings, { clock: systemClock, logger: silent });
  try {
    for (const number of numbers) {
      await eventually(
        async () => {
          const sent = sender.exchange(Buffer.from(omlO33({ number })), `MSG-${number}`);
          const answer = await sent.catch(asFailure);
          if ("code" in answer && "controlId" in answer) answers.set(number, answer.code);
          return answers.has(number);
        },
        { what: `an answer to ${number}` },
      );
    }
  } finally {
    await sender.close();
  }
}

test("a daemon that is killed while messages come by MLLP has each acknowledged order, once", async () => {
  const port = await findPort();
  const connectors = [{ name: "hl7", type: "mllp", listen: { port }, results: { directory: "results" } }];
  await withChildSite({ simulator: QUICK, config: { connectors } }, async (site) => {
    const answers = new Map<string, string>();
    const numbers = Array.from({ length: ORDERS }, (_, n) => `K-${n}`);
    const halves = [numbers.filter((_, n) => n % 2 === 0), numbers.filter((_, n) => n % 2 === 1)];
    let daemon = site.start();
    await daemon.running;
    const sending = Promise.all(halves.map((half) => sendAll(port, half, answers)));
    for (const share of [0.2, 0.5, 0.8]) {
      await eventually(() => answers.size >= ORDERS * share);
      await daemon.end("SIGKILL");
      daemon = site.start();
      await daemon.running;
    }
    await sending;
    expect(new Set(answers.values())).toEqual(new Set(["CA"]));
    const orders = await withPool(site.dataDir, (pool) =>
      eventually(
        async () => {
          const found = await listOrders(pool, { limit: 2 * ORDERS });
          return found.length >= ORDERS && found.every(({ state }) => isTerminal(state)) ? found : undefined;
        },
        { what: "the end of all orders" },
      ),
    );
    expect(orders.map(({ placerOrderNumber }) => placerOrderNumber).sort()).toEqual([...numbers].sort());
    expect(site.simulator.tally().doubled).toEqual([]);
  });
});

/** The numbers of all orders. */
async function numbersOf(pool: pg.Pool): Promise<string[]> {
  const { rows } = await pool.query<{ number: string }>("select placer_order_number as number from orders");
  return rows.map(({ number }) => number);
}

test("a daemon that is killed in a storm of messages has an order of each acknowledged one, and no two of any", async () => {
  const port = await findPort();
  const connectors = [{ name: "hl7", type: "mllp", listen: { port }, results: { directory: "results" } }];
  await withChildSite({ config: { connectors } }, async (site) => {
    const storm = createStorm(port);
    let daemon = site.start(["--role", "intake"]);
    await daemon.running;
    for (const enough of [300, 900]) {
      const raging = storm.rage();
      await eventually(() => storm.acknowledged.size >= enough);
      await daemon.end("SIGKILL");
      await raging;
      daemon = site.start(["--role", "intake"]);
      await daemon.running;
    }
    await storm.repeat();
    expect(storm.acknowledged.size).toBe(storm.sent.length);
    const numbers = await withPool(site.dataDir, numbersOf);
    expect(numbers.toSorted()).toEqual(storm.sent.toSorted());
    await daemon.end("SIGTERM");
  });
});

test("nor is one lost or made twice when the database server crashes in a storm", async () => {
  const port = await findPort();
  const connectors = [{ name: "hl7", type: "mllp", listen: { port }, results: { directory: "results" } }];
  await withServerSite({ config: { connectors } }, async (site) => {
    const storm = createStorm(port);
    await site.start();
    // Until the daemon has the database again, it closes connections without an answer.
    for (const enough of [300, 900]) {
      let isCrashed = false;
      const raging = (async () => {
        while (!isCrashed) {
          await storm.rage();
          await systemClock.sleep(20);
        }
      })();
      await eventually(() => storm.acknowledged.size >= enough);
      isCrashed = true;
      await site.server.crash();
      await raging;
      await site.server.start();
    }
    await eventually(async () => {
      await storm.repeat();
      return storm.acknowledged.size === storm.sent.length;
    });
    expect((await numbersOf(site.pool)).toSorted()).toEqual(storm.sent.toSorted());
    expect(site.fatal).toEqual([]);
  });
});
