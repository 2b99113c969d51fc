import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { PeerCertificates } from "../../src/core/peer-certificates.ts";
import { phi } from "../../src/core/phi.ts";
import { readExceptions } from "../../src/core/proxy-exceptions.ts";
import type { NewRequest } from "../../src/service/new-request.ts";
import { type TestProxy, withProxy } from "../support/with-proxy.ts";
import { StubService } from "./stub-service.ts";
import { localhostPair } from "./tls-pairs.ts";
import { failureOf, never, withClient } from "./with-client.ts";

const request: NewRequest = {
  ...{ type: "RETRIEVAL", facilityId: 1, subjectCode: phi("S-1"), containerIds: [1] },
};
/** This machine is reached directly otherwise. */
const everything = { includes: () => false };

async function withStubAndProxy(test: (stub: StubService, proxy: TestProxy) => Promise<void>): Promise<void> {
  const stub = await new StubService().start();
  try {
    await withProxy((proxy) => test(stub, proxy));
  } finally {
    await stub.stop();
  }
}

describe("with a proxy", () => {
  it("service and token endpoint are reached through tunnels of it, with its user and password", () =>
    withStubAndProxy(async (stub, proxy) => {
      stub.intercept = (asked, response) => {
        if (asked.url !== "/oauth/token") return false;
        response.end('{"access_token":"t1"}');
        return true;
      };
      const url = new URL(proxy.url);
      url.username = "bridge";
      url.password = "50%25:off";
      const auth = {
        ...{ tokenUrl: `${stub.baseUrl}/oauth/token`, clientId: "c", clientSecret: "s" },
        ...{ method: "basic" as const, assumedLifetimeMs: 300_000 },
      };
      await withClient(
        { baseUrl: stub.baseUrl, auth, proxy: { url, except: everything } },
        async (client) => {
          expect((await client.create("request", request, never)).id).toBe(1);
        },
      );
      const target = stub.baseUrl.slice("http://".length);
      const authorization = `Basic ${Buffer.from("bridge:50%:off").toString("base64")}`;
      expect(proxy.asked[0]).toEqual({ target, authorization });
      expect(new Set(proxy.asked.map((each) => each.target))).toEqual(new Set([target]));
      expect(stub.count("POST /oauth/token")).toBe(1);
      // Nothing is sent so that the proxy could read it, and it keeps its own credentials.
      expect(proxy.plain).toEqual([]);
      expect(stub.seen.map(({ headers }) => headers["proxy-authorization"])).not.toContain(authorization);
    }));

  it("the service itself shows its certificate, which has to be trusted", async () => {
    const server = createHttpsServer(localhostPair, (_request, response) => response.end('{"id":5}'));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const baseUrl = `https://localhost:${(server.address() as AddressInfo).port}`;
    try {
      await withProxy(async ({ url }) => {
        const proxy = { url, except: everything };
        const certificates = new PeerCertificates(systemClock);
        const ca = localhostPair.cert;
        await withClient(
          { baseUrl, ca, proxy },
          (client) => client.create("request", request, never).then(),
          {
            certificates,
          },
        );
        expect(certificates.list()).toEqual([expect.objectContaining({ peer: "localhost" })]);
        await withClient({ baseUrl, proxy }, async (client) => {
          const failure = await failureOf(client.create("request", request, never));
          expect(failure.code).toBe("SERVICE_UNREACHABLE");
          expect(failure.message).toContain("self-signed");
        });
      });
    } finally {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it("that is reached over TLS, its certificate has to be trusted, too", () =>
    withProxy(async ({ url }) => {
      const stub = await new StubService().start();
      const given = { baseUrl: stub.baseUrl, proxy: { url, except: everything } };
      try {
        await withClient({ ...given, ca: localhostPair.cert }, async (client) => {
          expect((await client.create("request", request, never)).id).toBe(1);
        });
        await withClient(given, async (client) => {
          const failure = await failureOf(client.create("request", request, never));
          expect(failure.code).toBe("SERVICE_UNREACHABLE");
          expect(failure.message).toContain(
            `the proxy ${url.host} can't be reached: its certificate is self-signed`,
          );
        });
      } finally {
        await stub.stop();
      }
    }, localhostPair));

  it.each<[TestProxy["does"], string]>([
    [407, "refuses the user and password of proxy.url"],
    [403, "does not let anybody through"],
    [503, "finds no way to the host (status 503)"],
    [204, "answers with something else"],
    ["nothing", "in time"],
    ["garbage", "can't be reached"],
    ["hang up", "the connection was reset"],
  ])("that does %j, a call was not sent, and the words name the proxy", (does, words) =>
    withStubAndProxy(async (stub, proxy) => {
      proxy.does = does;
      const way = { url: proxy.url, except: everything };
      // Whoever answers is waited for, however busy the machine is.
      const timeoutMs = does === "nothing" ? 300 : 30_000;
      await withClient({ baseUrl: stub.baseUrl, proxy: way, timeoutMs }, async (client) => {
        const failure = await failureOf(client.create("request", request, never));
        expect(failure.code).toBe("SERVICE_UNREACHABLE");
        expect(failure.message).toContain(words);
        if (does !== "nothing") expect(failure.message).toContain(`the proxy ${proxy.url.host}`);
        // What went wrong once is over when the proxy is well again.
        proxy.does = "connect";
        expect((await client.create("request", request, never)).id).toBe(1);
      });
      expect(stub.count("POST")).toBe(1);
    }),
  );

  it("that is away, a call was not sent, and what is excepted goes on", async () => {
    const stub = await new StubService().start();
    const url = new URL("http://127.0.0.1:1");
    try {
      await withClient({ baseUrl: stub.baseUrl, proxy: { url, except: everything } }, async (client) => {
        const failure = await failureOf(client.create("request", request, never));
        expect(failure.code).toBe("SERVICE_UNREACHABLE");
        expect(failure.message).toContain(
          "the proxy 127.0.0.1:1 can't be reached: nothing listens at that address",
        );
      });
      const proxy = { url, except: readExceptions([]) };
      await withClient({ baseUrl: stub.baseUrl, proxy }, async (client) => {
        expect((await client.create("request", request, never)).id).toBe(1);
      });
    } finally {
      await stub.stop();
    }
  });
});
