import type { ServerResponse } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { phi } from "../../src/core/phi.ts";
import type { ServiceClient } from "../../src/service/client.ts";
import { readHeaders } from "../../src/service/http/answer.ts";
import { CircuitBreaker } from "../../src/service/http/breaker.ts";
import { Limiter } from "../../src/service/http/limiter.ts";
import { StaticTokens } from "../../src/service/http/token.ts";
import { Transport } from "../../src/service/http/transport.ts";
import { createWire } from "../../src/service/http/wire.ts";
import type { NewRequest } from "../../src/service/new-request.ts";
import { callSettings } from "../../src/service/settings.ts";
import { FakeClock } from "./fake-clock.ts";
import type { StubService } from "./stub-service.ts";
import { failureOf, logSink, never, settings as usualSettings, withClient, withStub } from "./with-client.ts";

const retrieval: NewRequest = {
  type: "RETRIEVAL",
  facilityId: 12,
  subjectCode: phi("S-1"),
  containerIds: [7, 8],
};
const DATE = "Fri, 27 Nov 2026 10:00:00 GMT";

/** Answers each request with these header lines and bytes; a list of values is a line for each. */
function answerWith(
  stub: StubService,
  status: number,
  headers: Record<string, string | string[]>,
  body: string | Buffer,
): void {
  stub.intercept = (_request, response: ServerResponse) => {
    response.sendDate = false;
    response.writeHead(status, headers);
    response.end(body);
    return true;
  };
}

describe("a header that a gateway adds a second time", () => {
  const twice = {
    "retry-after": ["3", "120"],
    "content-type": ["application/json", "application/json; charset=utf-8"],
    "content-encoding": ["identity", "identity"],
    date: [DATE, DATE],
    "set-cookie": ["a=1", "b=2"],
  };

  it("leaves a 429 to a call that changes the service what it is, with the longer pause", () =>
    withStub(async (stub, client) => {
      answerWith(stub, 429, twice, "{}");
      const failure = await failureOf(client.create("request", retrieval, never));
      expect(failure).toMatchObject({ code: "SERVICE_BUSY", retryAfterMs: 120_000 });
    }));

  it("lets the circuit breaker see an outage", () =>
    withStub(
      async (stub, client) => {
        answerWith(stub, 503, { ...twice, "retry-after": [] }, "{}");
        for (let call = 0; call < 5; call += 1) {
          expect((await failureOf(client.create("request", retrieval, never))).code).toBe(
            "SERVICE_NO_ANSWER",
          );
        }
        expect((await failureOf(client.create("request", retrieval, never))).code).toBe("SERVICE_PAUSED");
      },
      {},
      { clock: new FakeClock() },
    ));

  it("leaves the token endpoint's pause what it is", () =>
    withOAuth(async (stub, client) => {
      answerWith(stub, 429, twice, "{}");
      expect(await failureOf(client.checkToken(never))).toMatchObject({
        ...{ code: "SERVICE_TOKEN_UNAVAILABLE", retryAfterMs: 120_000 },
      });
    }));

  it("is read without an error whichever it is, and whatever it holds", () => {
    const name = fc.constantFrom(
      ...["retry-after", "content-type", "content-encoding", "date", "content-length", "x-other"],
    );
    const value = fc.oneof(fc.string(), fc.array(fc.string(), { maxLength: 3 }));
    fc.assert(
      fc.property(fc.dictionary(name, value), (headers) => {
        const { retryAfter = [], dateMs } = readHeaders(headers);
        for (const each of retryAfter) expect(Object.values(each)[0]).not.toBeNaN();
        expect(dateMs).not.toBeNaN();
      }),
    );
  });
});

describe("Retry-After", () => {
  it.each([
    ["30", 30_000],
    ["120, 120", 120_000],
    ["3, 120", 120_000],
    ["1.5", 1_500],
    ["-5", 1_000],
    ["1e9", undefined],
    ["soon", undefined],
    [" ", undefined],
    ["99999999999999999999", 3_600_000],
    ["Fri, 27 Nov 2026 10:00:40 GMT", 40_000],
    ["Fri, 27 Nov 2026 10:00:40 GMT, Fri, 27 Nov 2026 10:00:50 GMT", 50_000],
    ["Fri, 27 Nov 2020 10:00:40 GMT", 1_000],
    ["Friday, 27-Nov-26 10:00:40 GMT", 40_000],
    ["Fri Nov 27 10:00:40 2026", 40_000],
    ["2026-11-27T11:00:40+01:00", 40_000],
    ["in 5 minutes", undefined],
    ["27.11.2026 10:00:40", undefined],
  ])("of %j is a pause of %j ms", (value, pauseMs) =>
    withStub(async (stub, client) => {
      answerWith(stub, 429, { "retry-after": value, date: DATE }, "{}");
      expect((await failureOf(client.create("request", retrieval, never))).retryAfterMs).toBe(pauseMs);
    }),
  );
});

describe("Date", () => {
  it.each(["yesterday 5", "11/12/2026 10:00:00", "5", "2026-11-27"])(
    "of %j, which only guessing makes a time of, says nothing of the service's clock",
    (value) =>
      withStub(async (stub, client) => {
        answerWith(stub, 200, { date: [value] }, '{"id":5,"code":"S-1","facilityId":12}');
        await client.getSubject(5, never);
        expect(client.clockSkewMs).toBeUndefined();
      }),
  );
});

describe("an answer that is no HTTP", () => {
  const body = '{"id":5,"code":"Möller","status":"PENDING"}';
  const length = Buffer.byteLength(body);
  it.each([
    [
      "a length and pieces",
      `Content-Length: ${length}\r\nTransfer-Encoding: chunked\r\n`,
      "twice or wrongly",
    ],
    ["its length twice", `Content-Length: ${length}\r\n`.repeat(2), "twice or wrongly"],
    ["a length below nothing", "Content-Length: -5\r\n", "can't be read"],
    ["a line without a colon", "nonsense\r\n", "can't be read"],
    ["headers without end", `X-A: ${"a".repeat(20_000)}\r\n`, "headers are larger than allowed"],
  ])("with %s may have been an answer, and is said to be so in words", async (_, headers, words) => {
    const server = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.end(`HTTP/1.1 201 Created\r\n${headers}\r\n${body}`));
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const log = logSink();
    try {
      await withClient(
        { baseUrl },
        async (client) => {
          const failure = await failureOf(client.create("request", retrieval, never));
          expect(failure.code).toBe("SERVICE_NO_ANSWER");
          expect(failure.message).toContain(words);
          expect(failure.message).not.toContain("ller");
        },
        { logger: log.logger },
      );
      expect(log.text()).not.toContain("ller");
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });
});

describe("the charset of an answer", () => {
  const subject = { id: 5, code: "S-1", facilityId: 12, firstName: "Jürgen", lastName: "Müller" };
  const latin1 = Buffer.from(JSON.stringify(subject), "latin1");

  it.each([
    ["application/json; charset=ISO-8859-1", latin1],
    ['application/json;charset="iso-8859-1"', latin1],
    ["application/json; charset=windows-1252", latin1],
    ["application/json; charset=ISO-8859-1", Buffer.from(JSON.stringify(subject))],
    ["application/json; charset=utf8", Buffer.from(JSON.stringify(subject))],
    ["application/json; charset=x-unknown", Buffer.from(JSON.stringify(subject))],
    ["application/json; charset=UTF-16LE", Buffer.from(JSON.stringify(subject), "utf16le")],
    ["application/json; charset=utf-16", Buffer.from(`\ufeff${JSON.stringify(subject)}`, "utf16le")],
    ["application/json", Buffer.from(`\ufeff${JSON.stringify(subject)}`)],
    ["application/json", Buffer.from(`\ufeff${JSON.stringify(subject)}`, "utf16le")],
    ["application/json; charset=utf-16", Buffer.from(`\ufeff${JSON.stringify(subject)}`, "utf16le").swap16()],
  ])("%s is honoured where the bytes are not UTF-8", (type, body) =>
    withStub(async (stub, client) => {
      answerWith(stub, 200, { "content-type": type }, body);
      expect((await client.getSubject(5, never)).lastName?.reveal()).toBe("Müller");
    }),
  );

  it.each([
    ["application/json", "not in UTF-8"],
    ["application/json; charset=klingon", "neither in UTF-8 nor in klingon"],
  ])("%s says what can't be read", (type, words) =>
    withStub(async (stub, client) => {
      answerWith(stub, 200, { "content-type": type }, latin1);
      const failure = await failureOf(client.getSubject(5, never));
      expect(failure.code).toBe("SERVICE_ANSWER_UNREADABLE");
      expect(failure.message).toContain(words);
    }),
  );
});

describe("an answer that was packed although that wasn't asked for", () => {
  const body = Buffer.from(JSON.stringify({ id: 5, code: "S-1", facilityId: 12 }));

  it.each([
    ["gzip", gzipSync(body)],
    ["x-gzip", gzipSync(body)],
    ["deflate", deflateSync(body)],
    ["br", brotliCompressSync(body)],
    ["identity, gzip", gzipSync(body)],
    ["deflate, gzip", gzipSync(deflateSync(body))],
    ["gzip", body],
    ["deflate", deflateRawSync(body)],
    ["deflate", body],
    ["gzip, gzip", gzipSync(gzipSync(body))],
    ["gzip;q=1", gzipSync(body)],
    ["identity", gzipSync(body)],
  ])("as %s is read", (coding, packed) =>
    withStub(async (stub, client) => {
      answerWith(stub, 200, { "content-encoding": coding }, packed);
      expect((await client.getSubject(5, never)).id).toBe(5);
    }),
  );

  it("is refused when it unpacks to more than is allowed", () =>
    withStub(
      async (stub, client) => {
        answerWith(stub, 200, { "content-encoding": "gzip" }, gzipSync(Buffer.alloc(1_000_000, 32)));
        expect((await failureOf(client.getSubject(5, never))).message).toContain("larger than allowed");
      },
      { maxBodyBytes: 100_000 },
    ));
});

describe("a token", () => {
  it.each(["Bearer", "bearer", "BearerToken", " bearer_token", ""])("of type %j is sent as Bearer", (type) =>
    withOAuth(async (stub, client) => {
      stub.intercept = (request, response) => {
        if (request.url !== "/oauth/token") return false;
        response.end(JSON.stringify({ access_token: "t1", token_type: type }));
        return true;
      };
      stub.rows.subjects = [{ id: 1, code: "S-1", facilityId: 12 }];
      await client.getSubject(1, never);
      expect(stub.seen.at(-1)?.headers.authorization).toBe("Bearer t1");
    }),
  );
});

/** Runs a test with a stub that is the token endpoint too. */
function withOAuth(test: Parameters<typeof withStub>[0]): Promise<void> {
  const auth = {
    tokenUrl: "http://127.0.0.1:1/oauth/token",
    clientId: "c",
    clientSecret: "s",
    method: "basic" as const,
    assumedLifetimeMs: 300_000,
  };
  return withStub(
    async (stub, client) => {
      auth.tokenUrl = `${stub.baseUrl}/oauth/token`;
      await test(stub, client);
    },
    { auth },
    { clock: new FakeClock() },
  );
}

describe("a token that is larger than a gateway lets headers be (431)", () => {
  it.each(["GET", "POST"])("refuses the credentials and no order, for a %s", (method) =>
    withStub(async (stub, client) => {
      answerWith(stub, 431, {}, "{}");
      const call =
        method === "GET" ? client.getRequest(5, never) : client.create("request", retrieval, never);
      expect((await failureOf(call)).code).toBe("SERVICE_CREDENTIALS_REFUSED");
    }),
  );
});

describe("credentials that are refused for one facility only", () => {
  const refuseFacility = (stub: StubService, facility: string) => {
    stub.intercept = (request, response) => {
      if (!request.url?.includes(`facilityId=${facility}`)) return false;
      response.writeHead(401).end(JSON.stringify({ code: "UNAUTHORIZED" }));
      return true;
    };
  };
  const find = (client: ServiceClient, facilityId: number) =>
    client.findSubject(facilityId, phi("S-1"), never);

  it("are refused to its orders, and hold up no other facility", () =>
    withStub(async (stub, client) => {
      refuseFacility(stub, "13");
      stub.rows.subjects = [{ id: 1, code: "S-1", facilityId: 12 }];
      expect((await find(client, 12))?.id).toBe(1);
      for (let call = 0; call < 6; call += 1) {
        expect((await failureOf(find(client, 13))).code).toBe("SERVICE_ACCESS_REFUSED");
        expect((await find(client, 12))?.id).toBe(1);
      }
    }));

  it("don't wear out the token endpoint", () =>
    withOAuth(async (stub, client) => {
      let issued = 0;
      stub.intercept = (request, response) => {
        if (request.url === "/oauth/token") {
          issued += 1;
          response.end(
            JSON.stringify({ access_token: `t${issued}`, token_type: "Bearer", expires_in: 3_600 }),
          );
          return true;
        }
        if (!request.url?.includes("facilityId=13")) return false;
        response.writeHead(401).end(JSON.stringify({ code: "UNAUTHORIZED" }));
        return true;
      };
      stub.rows.subjects = [{ id: 1, code: "S-1", facilityId: 12 }];
      for (let round = 0; round < 20; round += 1) {
        expect((await find(client, 12))?.id).toBe(1);
        expect((await failureOf(find(client, 13))).code).toBe("SERVICE_ACCESS_REFUSED");
      }
      expect(issued).toBe(4);
    }));

  it("count as refused for all once no call was let in for a quarter of an hour", () => {
    const clock = new FakeClock();
    return withStub(
      async (stub, client) => {
        stub.rows.subjects = [{ id: 1, code: "S-1", facilityId: 12 }];
        await find(client, 12);
        stub.intercept = (_request, response) => {
          response.writeHead(401).end(JSON.stringify({ code: "UNAUTHORIZED" }));
          return true;
        };
        expect((await failureOf(find(client, 12))).code).toBe("SERVICE_ACCESS_REFUSED");
        await clock.advance(15 * 60_000);
        expect((await failureOf(find(client, 12))).code).toBe("SERVICE_CREDENTIALS_REFUSED");
      },
      {},
      { clock },
    );
  });

  it("count as refused for all while no call was let in", () =>
    withStub(async (stub, client) => {
      refuseFacility(stub, "13");
      expect((await failureOf(find(client, 13))).code).toBe("SERVICE_CREDENTIALS_REFUSED");
      expect((await failureOf(find(client, 12))).code).toBe("SERVICE_PAUSED");
    }));
});

describe("an id above 2^53", () => {
  it("says so, also where a call was answered with it", () =>
    withStub(async (stub, client) => {
      answerWith(stub, 201, {}, '{"id":9007199254740993,"status":"PENDING"}');
      const created = await failureOf(client.create("request", retrieval, never));
      expect(created).toMatchObject({ code: "SERVICE_NO_ANSWER" });
      expect(created.message).toContain("above 2^53");
      answerWith(stub, 200, {}, '[{"id":9007199254740993,"code":"S-1"}]');
      expect((await failureOf(find(client))).code).toBe("SERVICE_ID_TOO_LARGE");
    }));

  it("says so of a single record, too", () =>
    withStub(async (stub, client) => {
      answerWith(stub, 200, {}, '{"id":9007199254740993,"code":"S-1"}');
      expect((await failureOf(client.getSubject(5, never))).code).toBe("SERVICE_ID_TOO_LARGE");
    }));

  it("is no matter where it is the lab's own label or code, which is read to the digit", () =>
    withStub(async (stub, client) => {
      const entry = '{"id":7,"sampleContainerId":90071992547409931,"subject":{"code":90071992547409933}}';
      answerWith(stub, 200, {}, `[${entry}]`);
      const [container] = await client.listSubjectContainers(
        { surface: "request", subjectCode: phi("90071992547409933") },
        never,
      );
      expect(container?.labels).toEqual(["90071992547409931"]);
      expect(container?.subjectCode?.reveal()).toBe("90071992547409933");
    }));
  const find = (client: ServiceClient) => client.findSubject(12, phi("S-1"), never);
});

describe("an error that nobody foresaw while an answer is read", () => {
  it.each([
    ["POST", "SERVICE_NO_ANSWER"],
    ["GET", "SERVICE_UNAVAILABLE"],
  ] as const)("means for a %s that there was no answer", (method, code) =>
    withStub(async (stub) => {
      answerWith(stub, 200, {}, "{}");
      const clock = new FakeClock();
      const settings = callSettings(usualSettings(stub.baseUrl));
      const wire = createWire(settings);
      const transport = new Transport({
        ...{ settings, wire, clock, ledgerNow: () => clock.now(), random: () => 0, logger: logSink().logger },
        tokens: new StaticTokens("t", { clock, key: "service.auth" }),
        limiter: new Limiter({ ...settings, maxWaitMs: 1_000 }, clock, () => 0),
        breaker: new CircuitBreaker(clock, () => 0),
      });
      const read = () => {
        throw new TypeError("x.trim is not a function");
      };
      const failure = await failureOf(
        transport.call({ method, route: "/api/subjects", read }, never, "other"),
      );
      expect(failure.code).toBe(code);
      await wire.close();
    }),
  );
});
