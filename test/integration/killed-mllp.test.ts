import { createServer } from "node:net";
import { expect, test } from "vitest";
import { MllpSender } from "../../src/connectors/mllp/sender.ts";
import { systemClock } from "../../src/core/clock.ts";
import { asFailure } from "../../src/core/failures.ts";
import { isTerminal } from "../../src/core/order-state.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { withChildSite } from "../support/with-child-site.ts";
import { silent } from "../support/with-ledger.ts";

const ORDERS = 40;
const QUICK = {
  staff: { auto: true, reviewAfterMs: [50, 150], acceptanceRate: 1 },
  device: { auto: true, startAfterMs: [20, 50], runMs: [50, 150], failureRate: 0 },
} as const;

/** A port that was free a moment ago: a sender keeps its address while the daemon comes and goes. */
async function findPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** Sends each message until it is acknowledged, as interface engines do; gives the answers by order number. */
async function sendAll(
  port: number,
  numbers: readonly string[],
  answers: Map<string, string>,
): Promise<void> {
  const settings = { host: "127.0.0.1", port, connectMs: 1_000, answerMs: 2_000 };
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
        { withinMs: 60_000, what: `an answer to ${number}` },
      );
    }
  } finally {
    await sender.close();
  }
}

test("a daemon that is killed while messages come by MLLP has each acknowledged order, once", async () => {
  const port = await findPort();
  const connectors = [{ name: "hl7", type: "mllp", listen: { port }, results: { directory: "told" } }];
  await withChildSite({ simulator: QUICK, config: { connectors } }, async (site) => {
    const answers = new Map<string, string>();
    const numbers = Array.from({ length: ORDERS }, (_, n) => `K-${n}`);
    const halves = [numbers.filter((_, n) => n % 2 === 0), numbers.filter((_, n) => n % 2 === 1)];
    let daemon = site.start();
    await daemon.running;
    const sending = Promise.all(halves.map((half) => sendAll(port, half, answers)));
    for (const share of [0.2, 0.5, 0.8]) {
      await eventually(() => answers.size >= ORDERS * share, { withinMs: 60_000 });
      await daemon.end("SIGKILL");
      daemon = site.start();
      await daemon.running;
    }
    await sending;
    expect(new Set(answers.values())).toEqual(new Set(["CA"]));
    const orders = await eventually(
      async () => {
        const found = await site.orders();
        return found.length >= ORDERS && found.every(({ state }) => isTerminal(state)) ? found : undefined;
      },
      { withinMs: 60_000, what: "the end of all orders" },
    );
    expect(orders.map(({ placerOrderNumber }) => placerOrderNumber).sort()).toEqual([...numbers].sort());
    expect(site.simulator.tally().doubled).toEqual([]);
  });
}, 150_000);
