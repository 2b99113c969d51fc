import { createSecureServer } from "node:http2";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { PeerCertificates } from "../../src/core/peer-certificates.ts";
import { phi } from "../../src/core/phi.ts";
import { elsewherePair, localhostPair } from "./tls-pairs.ts";
import { failureOf, never, withClient } from "./with-client.ts";

const request = { type: "RETRIEVAL", facilityId: 1, subjectCode: phi("S-1"), containerIds: [1] } as const;

async function listening<T>(server: Server, test: (port: number) => Promise<T>): Promise<void> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.on("tlsClientError", () => {});
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  try {
    await test((server.address() as AddressInfo).port);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

it.each([
  ["self-signed", localhostPair, undefined, "self-signed", "`service.ca`"],
  ["of another authority", localhostPair, elsewherePair.cert, "self-signed", "`service.ca`"],
  [
    "for another name",
    elsewherePair,
    elsewherePair.cert,
    "it has DNS:elsewhere.invalid",
    "`service.baseUrl`",
  ],
])(
  "sends nothing to a service whose certificate is %s, and names the setting",
  (_name, pair, ca, words, setting) => {
    let requests = 0;
    const server = createHttpsServer(pair, (_request, response) => {
      requests += 1;
      response.end("{}");
    });
    return listening(server, (port) =>
      withClient({ baseUrl: `https://127.0.0.1:${port}`, ca }, async (client) => {
        const failure = await failureOf(client.create("request", request, never));
        expect(failure.code).toBe("SERVICE_UNREACHABLE");
        expect(failure.message).toContain(words);
        expect(failure.hint).toContain(setting);
        expect(requests).toBe(0);
      }),
    );
  },
);

it("names the address of the token endpoint where that shows a certificate for another name", () => {
  const server = createHttpsServer(elsewherePair, (_request, response) => response.end("{}"));
  return listening(server, (port) => {
    const tokenUrl = `https://127.0.0.1:${port}/token`;
    const client = { clientId: "c", clientSecret: "secret-1", method: "basic" } as const;
    const externalAuth = { ...client, tokenUrl, assumedLifetimeMs: 300_000 };
    return withClient(
      { baseUrl: "https://127.0.0.1:9", ca: elsewherePair.cert, externalAuth },
      async (client) => {
        const first = await failureOf(client.checkToken(never, "external"));
        expect(first).toMatchObject({ code: "SERVICE_TOKEN_UNAVAILABLE" });
        expect(first.hint).toContain("`service.externalAuth.tokenUrl`");
        // Until the next try the same is said, with what to do.
        expect((await failureOf(client.checkToken(never, "external"))).hint).toBe(first.hint);
      },
    );
  });
});

it("notes when the certificate of the service ends", () => {
  const server = createHttpsServer(localhostPair, (_request, response) => response.end('{"id":5}'));
  const certificates = new PeerCertificates(systemClock);
  return listening(server, (port) =>
    withClient(
      { baseUrl: `https://localhost:${port}`, ca: localhostPair.cert },
      async (client) => {
        await client.create("request", request, never);
        expect(certificates.list()).toEqual([
          expect.objectContaining({ peer: "localhost", endsAt: new Date("2126-10-28T16:34:03Z") }),
        ]);
      },
      { certificates },
    ),
  );
});

it("speaks HTTP/1.1 to a service that would take HTTP/2", () => {
  const versions: string[] = [];
  const server = createSecureServer({ ...localhostPair, allowHTTP1: true }, (message, response) => {
    versions.push(message.httpVersion);
    response.end('{"id":5}');
  });
  return listening(server, (port) =>
    withClient({ baseUrl: `https://localhost:${port}`, ca: localhostPair.cert }, async (client) => {
      await client.create("request", request, never);
      expect(versions).toEqual(["1.1"]);
    }),
  );
});

it("never writes a request whose caller was told 'not sent' while the connection was being made", () => {
  const bodies: string[] = [];
  const tls = createHttpsServer(localhostPair, (message, response) => {
    message.on("data", (chunk) => bodies.push(String(chunk)));
    message.on("end", () => response.end('{"id":5}'));
  });
  return listening(tls, (tlsPort) => {
    const forward = (socket: Socket) => socket.pipe(connect(tlsPort, "127.0.0.1")).pipe(socket);
    const waiting: Socket[] = [];
    let isOpen = false;
    // Holds the handshake back until the caller has given up.
    const gate = createServer({ pauseOnConnect: true }, (socket) => {
      socket.on("error", () => {});
      if (isOpen) forward(socket);
      else waiting.push(socket);
    });
    return listening(gate, (gatePort) =>
      withClient({ baseUrl: `https://127.0.0.1:${gatePort}`, ca: localhostPair.cert }, async (client) => {
        const stop = new AbortController();
        const call = failureOf(client.create("request", request, stop.signal));
        while (waiting.length === 0) await new Promise((resolve) => setImmediate(resolve));
        stop.abort();
        expect((await call).code).toBe("SERVICE_STOPPED");
        isOpen = true;
        for (const socket of waiting) forward(socket);
        await client.create("request", { ...request, containerIds: [2] }, never);
        expect(bodies).toEqual([expect.stringContaining("[2]")]);
      }),
    );
  });
});
