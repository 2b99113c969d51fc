import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { expect, test } from "vitest";
import { ALL_WELL } from "../support/account.ts";
import { eventually } from "../support/eventually.ts";
import { findPort } from "../support/find-port.ts";
import { planLoad } from "../support/lab-load.ts";
import { withChildSite } from "../support/with-child-site.ts";

/** Gives a test the port of a server that takes every connection and never says a word. */
async function withSilentServer<T>(test: (port: number, calls: () => number) => Promise<T>): Promise<T> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket.on("error", () => {}));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  try {
    return await test(address.port, () => sockets.length);
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

/** Connections to the console that ask and never read, or never say all that they ask. */
async function pester(port: number): Promise<Socket[]> {
  const asked = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".repeat(200);
  return await Promise.all(
    [
      asked,
      asked,
      "GET /orders HTTP/1.1\r\nHost: 127.",
      "POST /orders HTTP/1.1\r\nContent-Length: 900\r\n\r\n",
    ].map(async (words) => {
      const socket = connect(port, "127.0.0.1").on("error", () => {});
      await once(socket, "connect");
      socket.pause();
      socket.write(words);
      return socket;
    }),
  );
}

test("orders go on, and the daemon stops, while alert places, traces and readers of the console hang", () =>
  withSilentServer(async (silent, calls) => {
    const port = await findPort();
    const nowhere = `http://127.0.0.1:${silent}/`;
    const config = {
      console: { port },
      tracing: { endpoint: nowhere },
      alerts: {
        checkEvery: "100ms",
        rules: { diskFilling: { after: "0s", above: 1 } },
        to: [
          { type: "webhook", url: nowhere, secret: "invented-key-of-the-hook" },
          {
            type: "email",
            host: "127.0.0.1",
            port: silent,
            tls: "none",
            from: "a@lab.example",
            to: ["b@lab.example"],
          },
          { type: "command", command: ["/bin/sleep", "600"] },
        ],
      },
    };
    await withChildSite({ config, simulator: { speed: 1_000 } }, async (site) => {
      const daemon = site.start();
      const isReady = async () =>
        (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined))?.ok === true || undefined;
      await eventually(isReady, { what: "readiness" });
      const readers = await pester(port);
      await eventually(() => calls() >= 2, { what: "an alert by webhook and mail" });
      const load = planLoad(1, 6, 0);
      for (const { connector, name, content } of load.files) await site.lab.drop(connector, name, content);
      expect(await site.waitForEnd(load.orders, 240_000)).toEqual(ALL_WELL);
      await eventually(() => calls() >= 3, { what: "traces" });
      expect(await isReady()).toBe(true);
      expect(await daemon.end("SIGTERM")).toBe(0);
      for (const reader of readers) reader.destroy();
    });
  }));
