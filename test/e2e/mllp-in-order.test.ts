import { connect } from "node:net";
import { expect, test } from "vitest";
import type { MllpConnector } from "../../src/connectors/mllp/mllp.ts";
import { encodeFrames, FrameReader } from "../../src/formats/hl7/mllp.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33, ormCancel } from "../support/lab-messages.ts";
import { type Site, withSite } from "../support/with-daemon.ts";

/** A site with one MLLP connector whose results are files. */
function withMllpSite(test: (site: Site) => Promise<void>): Promise<void> {
  const connectors = [
    { name: "hl7", type: "mllp", listen: { port: 0 }, results: { directory: "./hl7/out" } },
  ];
  return withSite({ config: { connectors } }, test);
}

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

test("a cancellation that comes right behind its order on the same connection finds it", () =>
  withMllpSite(async (site) => {
    const daemon = await site.start();
    const { port = 0 } = daemon.connectors[0] as MllpConnector;
    const answers = await exchange(port, [omlO33({ number: "A-1" }), ormCancel({ number: "A-1" })]);
    expect(answers.map((text) => /MSA\|([^\r]*)/.exec(text)?.[1])).toEqual(["CA|MSG-A-1", "CA|CAN-A-1"]);
    expect(await site.waitForOrders(1)).toMatchObject([{ placerOrderNumber: "A-1", state: "cancelled" }]);
  }));

test("each acknowledged message has its order, in the order in which they came", () =>
  withMllpSite(async (site) => {
    const daemon = await site.start();
    const { port = 0 } = daemon.connectors[0] as MllpConnector;
    const numbers = Array.from({ length: 300 }, (_, n) => `A-${n}`);
    await exchange(
      port,
      numbers.map((number) => omlO33({ number })),
    );
    expect((await site.orders()).map(({ placerOrderNumber }) => placerOrderNumber).toReversed()).toEqual(
      numbers,
    );
  }));
