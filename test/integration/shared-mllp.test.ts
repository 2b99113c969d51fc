import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Daemon, startDaemon } from "../../src/app.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { MllpConnector } from "../../src/connectors/mllp/mllp.ts";
import { ROLES } from "../../src/core/role.ts";
import { encodeFrame, FrameReader } from "../../src/formats/hl7/mllp.ts";
import { profileSchema } from "../../src/mapping/profile/schema.ts";
import { eventually } from "../support/eventually.ts";
import { omlO33 } from "../support/lab-messages.ts";
import { type OpenQueues, queuesInMemory } from "../support/queues-in-memory.ts";
import { CONNECTIONS, type Site, withSite } from "../support/with-daemon.ts";
import { silent } from "../support/with-ledger.ts";

const ORDERS = 12;

/** Sends one message over a connection of its own; gives the frame that comes back. */
async function exchange(port: number, message: string): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1" });
  const reader = new FrameReader(1_000_000);
  try {
    return await new Promise<string>((resolve, reject) => {
      socket.on("error", reject);
      socket.on("close", () => reject(new Error("closed without an answer")));
      socket.on("data", (chunk: Buffer) => {
        for (const event of reader.push(chunk)) if (event.kind === "frame") resolve(event.bytes.toString());
      });
      socket.write(encodeFrame(Buffer.from(message)));
    });
  } finally {
    socket.destroy();
  }
}

/** A lab system that serves one connection at a time: another one waits until it is closed. */
async function startLab() {
  const heard: string[] = [];
  const waiting: Socket[] = [];
  let served: Socket | undefined;
  const serve = () => {
    const socket = waiting.shift();
    served = socket;
    if (!socket) return;
    const reader = new FrameReader(1_000_000);
    socket.on("data", (chunk: Buffer) => {
      for (const event of reader.push(chunk)) {
        if (event.kind !== "frame") continue;
        const text = event.bytes.toString();
        heard.push(text);
        const answer = `MSH|^~\\&|L|L|C|S|20260301||ACK|A${heard.length}|P|2.5.1\rMSA|AA|${text.split("|")[9]}\r`;
        socket.write(encodeFrame(Buffer.from(answer)));
      }
    });
    socket.resume();
  };
  const server = createServer({ pauseOnConnect: true }, (socket) => {
    socket.on("error", () => undefined);
    socket.on("close", () => {
      if (waiting.includes(socket)) waiting.splice(waiting.indexOf(socket), 1);
      if (served === socket) serve();
    });
    // Only a socket that is read shows its end.
    waiting.push(socket);
    if (!served) serve();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    heard,
    port: (server.address() as AddressInfo).port,
    isServing: () => served !== undefined,
    close: async () => {
      for (const socket of [served, ...waiting]) socket?.destroy();
      server.close();
    },
  };
}

const isResult = (text: string) => /^MSH(\|[^|]*){7}\|(ORU|ORL|ORR|OSU)/.test(text);

/** Starts a further daemon on the site's ledger, as on another machine of the balancer's. */
async function startBeside(
  { configFile, folder }: Site,
  name: string,
  openQueues: OpenQueues,
): Promise<Daemon> {
  const config = loadConfig(configFile, { env: {}, profileSchema });
  const dataDir = join(folder, name);
  return startDaemon(
    { ...config, dataDir, epochFile: `${dataDir}.epoch`, worker: { ...config.worker, name } },
    {
      ...{ roles: new Set(ROLES), logger: silent, openQueues, connections: CONNECTIONS },
      onFatal: (failure) => {
        throw failure;
      },
    },
  );
}

const portOf = ({ connectors: [connector] }: Daemon) => (connector as MllpConnector).port ?? 0;

test("two daemons behind a balancer take a message once, answer it alike, and send the results in turn", async () => {
  const lab = await startLab();
  const connectors = [
    { name: "hl7", type: "mllp", listen: { port: 0 }, results: { host: "127.0.0.1", port: lab.port } },
  ];
  await withSite({ config: { connectors } }, async (site) => {
    const { pool, simulator } = site;
    const openQueues = queuesInMemory();
    const daemons: Daemon[] = [];
    try {
      for (const name of ["one", "other"]) daemons.push(await startBeside(site, name, openQueues));
      const [a, b] = daemons.map(portOf) as [number, number];
      const numbers = Array.from({ length: ORDERS }, (_, n) => `M-${n}`);
      const answers = new Map<string, string>();
      for (const number of numbers) {
        const message = omlO33({ number });
        const [one, other] = await Promise.all([exchange(a, message), exchange(b, message)]);
        expect(other).toBe(one);
        answers.set(number, one as string);
      }
      for (const number of numbers.slice(0, 5))
        expect(await exchange(b, omlO33({ number }))).toBe(answers.get(number));

      const orders = await site.waitForOrders(ORDERS);
      expect(orders.map(({ placerOrderNumber }) => placerOrderNumber).toSorted()).toEqual(numbers.toSorted());
      expect(simulator.tally().doubled).toEqual([]);

      const open = "select from deliveries where state <> 'delivered'";
      const unsent = "select from outcomes where not is_composed";
      // What is composed between the two queries would be missed in the other sequence.
      await eventually(
        async () => (await pool.query(unsent)).rowCount === 0 && (await pool.query(open)).rowCount === 0,
        { what: "all results" },
      );
      const ids = lab.heard.map((text) => text.split("|")[9]);
      expect(ids.length).toBe(new Set(ids).size);
      // In its order, each order's last word is that it is completed.
      for (const number of numbers) {
        const about = lab.heard.filter((text) => isResult(text) && text.includes(`|${number}^`));
        expect(about.at(-1)).toMatch(/\rORC\|[^\r]*\|CM\|/);
      }
      // None met a connection of the other daemon that was still open.
      expect((await pool.query("select from deliveries where attempts > 1")).rowCount).toBe(0);
      await eventually(() => !lab.isServing(), { what: "the end of the last connection" });
    } finally {
      for (const daemon of daemons) await daemon.stop();
      await lab.close();
    }
  });
});
