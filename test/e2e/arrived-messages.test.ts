import { readdir, readFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import type pg from "pg";
import { describe, expect, test } from "vitest";
import { openConsole } from "../../src/app/console.ts";
import type { MllpConnector } from "../../src/connectors/mllp/mllp.ts";
import { systemClock } from "../../src/core/clock.ts";
import { phi } from "../../src/core/phi.ts";
import { encodeFrames, FrameReader } from "../../src/formats/hl7/mllp.ts";
import { pruneLedger } from "../../src/jobs/prune.ts";
import { countArrivals, insertArrivals, takeMessageIds } from "../../src/ledger/arrivals.ts";
import { findMessage } from "../../src/ledger/views.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33, ormCancel } from "../support/lab-messages.ts";
import { aRecord } from "../support/orders.ts";
import { type Site, withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

/** A site with one MLLP connector whose results are files. */
function withMllpSite(test: (site: Site) => Promise<void>): Promise<void> {
  const connectors = [
    { name: "hl7", type: "mllp", listen: { port: 0 }, results: { directory: "./hl7/out" } },
  ];
  return withSite({ config: { connectors } }, test);
}

/** What a process leaves in the ledger that is killed between an answer and the orders. */
async function leave(pool: pg.Pool, text: string, connector = "hl7"): Promise<number> {
  const [messageId = 0] = await takeMessageIds(pool, 1);
  const raw = phi(Buffer.from(text));
  const message = { ordinal: 1, place: "message 1", raw, content: { kind: "hl7", text: phi(text) } } as const;
  const record = aRecord(1, [], { message, messageControlId: `LEFT-${messageId}` });
  await insertArrivals(pool, connector, [
    { messageId, record, reply: Buffer.from("answered"), isTold: true },
  ]);
  return messageId;
}

const told = async (site: Site): Promise<string[]> => {
  const folder = join(site.folder, "hl7/out");
  const names = await readdir(folder).catch(() => []);
  return Promise.all(names.map((name) => readFile(join(folder, name), "utf8")));
};

/** Writes messages at once on one connection; gives the answers. */
async function exchange(port: number, messages: readonly string[]): Promise<string[]> {
  const socket = connect({ port, host: "127.0.0.1" });
  const reader = new FrameReader(1_000_000);
  const answers: string[] = [];
  socket.on("data", (chunk: Buffer) => {
    for (const event of reader.push(chunk)) if (event.kind === "frame") answers.push(event.bytes.toString());
  });
  socket.write(encodeFrames(messages.map((message) => Buffer.from(message))));
  await eventually(() => answers.length >= messages.length);
  socket.destroy();
  return answers;
}

describe("messages that were acknowledged by a process that was killed before it made their orders", () => {
  test("have them made by the next one, in the order in which they came", () =>
    withMllpSite(async (site) => {
      for (const number of ["A-1", "A-2", "A-3"]) await leave(site.pool, omlO33({ number }));
      await site.start();
      const orders = await site.settled(3);
      expect(orders.map(({ placerOrderNumber }) => placerOrderNumber)).toEqual(["A-3", "A-2", "A-1"]);
      expect(await countArrivals(site.pool)).toEqual([]);
    }));

  test("and that the configuration refuses by now are refused, and the lab hears of it", () =>
    withMllpSite(async (site) => {
      const id = await leave(site.pool, omlO33({ number: "A-1", birth: "1985" }));
      await site.start();
      const refusal = await eventually(async () => (await told(site)).find((text) => text.includes("MSA|")));
      expect(refusal).toMatch(/MSA\|AE\|MSG-A-1/);
      expect(await findMessage(site.pool, id)).toMatchObject({ verdict: "refused" });
      expect(await site.orders()).toEqual([]);
    }));

  test("stay where they are, with their text, and are told of when their connector is not configured any more", () =>
    withMllpSite(async (site) => {
      const id = await leave(site.pool, omlO33({ number: "A-1" }), "gone");
      await site.pool.query("update messages set received_at = now() - interval '400 days'");
      await site.pool.query("update arrivals set arrived_at = now() - interval '2 minutes'");
      const daemon = await site.start();
      await pruneLedger(site.pool, daemon.config.retention, silent, new AbortController().signal);
      expect((await findMessage(site.pool, id))?.raw?.toString()).toContain("A-1");
      const console = await openConsole(daemon, { version: "0", logger: silent, clock: systemClock });
      try {
        const status = await (await fetch(`${console.url}/api/status`)).text();
        expect(status).toContain("1 acknowledged messages of connector gone have no orders yet");
      } finally {
        await console.close();
      }
    }));
});

test("a cancellation that comes right behind its order on the same connection finds it", () =>
  withMllpSite(async (site) => {
    const daemon = await site.start();
    const { port = 0 } = daemon.connectors[0] as MllpConnector;
    const answers = await exchange(port, [omlO33({ number: "A-1" }), ormCancel({ number: "A-1" })]);
    expect(answers.map((text) => /MSA\|([^\r]*)/.exec(text)?.[1])).toEqual(["CA|MSG-A-1", "CA|CAN-A-1"]);
    expect(await site.settled(1)).toMatchObject([{ placerOrderNumber: "A-1", state: "cancelled" }]);
  }));

test("orders are made of all messages that were acknowledged before the daemon stops", () =>
  withMllpSite(async (site) => {
    const daemon = await site.start();
    const { port = 0 } = daemon.connectors[0] as MllpConnector;
    const numbers = Array.from({ length: 300 }, (_, n) => `A-${n}`);
    await exchange(
      port,
      numbers.map((number) => omlO33({ number })),
    );
    await daemon.stop();
    expect(await countArrivals(site.pool)).toEqual([]);
    expect((await site.orders()).map(({ placerOrderNumber }) => placerOrderNumber).toReversed()).toEqual(
      numbers,
    );
  }));
