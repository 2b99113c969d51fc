import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import type { RunningConsole } from "../../src/console/server.ts";
import { USERS, withConsole } from "./console-fixture.ts";

const LOCKED = { settings: { users: USERS } };

/** Opens connections one after the other, each with the same beginning of a request, or nothing. */
async function open({ url }: RunningConsole, count: number, text = ""): Promise<Socket[]> {
  const { hostname, port } = new URL(url);
  const sockets: Socket[] = [];
  for (let n = 0; n < count; n++) {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined).resume();
    await once(socket, "connect");
    if (text !== "") socket.write(text);
    // The server has seen all of it, or won't.
    if (text.includes("100-continue")) await Promise.race([once(socket, "data"), once(socket, "close")]);
    sockets.push(socket);
  }
  return sockets;
}

const health = async ({ url }: RunningConsole) =>
  (await fetch(`${url}/healthz`, { headers: { connection: "close" } })).status;

describe("connections that ask for nothing", () => {
  it.each([
    ["nothing", ""],
    ["half a request line", "GET /hea"],
    ["headers without an end", "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-"],
    [
      "a form without an end",
      "POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 4000\r\nExpect: 100-continue\r\n\r\n",
    ],
  ])("don't keep others from /healthz, however many send %s", async (_what, text) => {
    await withConsole(LOCKED, async (running) => {
      const sockets = await open(running, 300, text);
      expect(await health(running)).toBe(200);
      for (const socket of sockets) socket.destroy();
    });
  });

  it("are closed long before Node.js would by itself", async () => {
    await withConsole(LOCKED, async (running) => {
      const sockets = await open(running, 5, "GET / HTTP/1.1\r\nHost: localhost\r\n");
      const startedAt = performance.now();
      await Promise.all(sockets.map((socket) => once(socket, "close")));
      // It takes 5 s here; a busy machine may take its time. Node.js has 60 s.
      expect(performance.now() - startedAt).toBeLessThan(50_000);
    });
  });

  it("give way, the oldest first, to new ones, and one that is being answered doesn't", async () => {
    let answer: () => void = () => undefined;
    const isAsked = Promise.withResolvers<void>();
    const byLedger = () =>
      new Promise<[]>((resolve) => {
        answer = () => resolve([]);
        isAsked.resolve();
      });
    await withConsole({ deps: { byLedger } }, async (running) => {
      const [asking] = await open(running, 1, "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n");
      await isAsked.promise;
      const idle = await open(running, 199);
      const [oldest] = idle;
      const isOldestClosed = once(oldest as Socket, "close");
      await open(running, 1);
      await isOldestClosed;
      expect(idle.slice(1).map(({ closed }) => closed)).not.toContain(true);
      const chunk = once(asking as Socket, "data");
      answer();
      expect(String((await chunk)[0])).toContain("200 OK");
    });
  });
});
