import { createServer, type Server, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { phi } from "../../src/core/phi.ts";
import type { NewRequest } from "../../src/service/new-request.ts";
import { send } from "./stub-service.ts";
import { failureOf, logSink, never, withClient, withStub } from "./with-client.ts";

const store: NewRequest = {
  type: "STORE",
  facilityId: 12,
  subjectCode: phi("SUBJ-CANARY"),
  containers: [{ label: "V-1", description: "2 straws" }],
  ref: "7K3M-ZQ0VX9TB4D",
};
const retrieval: NewRequest = {
  type: "RETRIEVAL",
  facilityId: 12,
  subjectCode: phi("SUBJ-CANARY"),
  containerIds: [7, 8],
};

/** A server of raw bytes that counts the requests whose head came whole. */
async function withRawServer(
  onRequest: (socket: Socket, count: number) => void,
  test: (baseUrl: string, requests: () => number) => Promise<void>,
): Promise<void> {
  let count = 0;
  const sockets = new Set<Socket>();
  const server: Server = createServer((socket) => {
    sockets.add(socket);
    let head = "";
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      head += chunk.toString();
      const length = /content-length: (\d+)/i.exec(head)?.[1] ?? "0";
      const bodyAt = head.indexOf("\r\n\r\n") + 4;
      if (bodyAt < 4 || head.length - bodyAt < Number(length)) return;
      head = "";
      count += 1;
      onRequest(socket, count);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  try {
    await test(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`, () => count);
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

describe("a request that is created", () => {
  it("sends the specification's body with the token at the end of each description", () =>
    withStub(async (stub, client) => {
      const created = await client.create("request", store, never);
      expect(created).toMatchObject({ id: 1, status: "PENDING", procedureId: undefined });
      expect(JSON.parse(stub.seen[0]!.body)).toEqual({
        type: "STORE",
        facilityId: 12,
        subjectCode: "SUBJ-CANARY",
        sampleContainers: [{ sampleContainerId: "V-1", description: "2 straws [ref 7K3M-ZQ0VX9TB4D]" }],
      });
      expect(stub.seen[0]!.headers).toMatchObject({
        authorization: "Bearer secret-api-token",
        "content-type": "application/json",
        "accept-encoding": "identity",
      });
    }));

  it("sends the ids of a retrieval and no token", () =>
    withStub(async (stub, client) => {
      await client.create("request", retrieval, never);
      expect(JSON.parse(stub.seen[0]!.body)).toEqual({
        type: "RETRIEVAL",
        facilityId: 12,
        subjectCode: "SUBJ-CANARY",
        sampleContainerIds: [7, 8],
      });
    }));

  it("leaves descriptions alone where the site refused the token", () =>
    withStub(
      async (stub, client) => {
        await client.create("request", store, never);
        expect(stub.seen[0]!.body).not.toContain("[ref");
      },
      { correlation: "labels" },
    ));

  it("leaves no description empty, since a service may insist on one", () =>
    withStub(
      async (stub, client) => {
        await client.create("request", { ...store, containers: [{ label: "V-7", description: " " }] }, never);
        expect(JSON.parse(stub.seen[0]!.body).sampleContainers).toEqual([
          { sampleContainerId: "V-7", description: "V-7" },
        ]);
      },
      { correlation: "labels" },
    ));

  it.each([
    ["a wrapped object", { data: { id: 5, status: "PENDING", type: "STORE" } }],
    ["an id of digits", { id: "5", type: "store" }],
    ["the lower-case word of the other surface", { id: 5, type: "storage", status: "pending" }],
    ["a short form with unknown fields", { id: 5, colour: "blue" }],
  ])("takes %s as created", (_name, body) =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, 200, body);
        return true;
      };
      expect(await client.create("request", store, never)).toMatchObject({ id: 5, status: "PENDING" });
    }),
  );
});

describe("a request whose answer is not definite", () => {
  it.each([
    ["type", { id: 5, type: "RETRIEVAL" }],
    ["facilityId", { id: 5, facilityId: 13 }],
    ["subjectCode", { id: 5, subjectCode: "SUBJ-OTHER" }],
    ["sampleContainers", { id: 5, sampleContainers: [{ sampleContainerId: "V-2" }] }],
  ])("is ambiguous when the answer has another %s", (field, body) =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, 201, body);
        return true;
      };
      const failure = await failureOf(client.create("request", store, never));
      expect(failure).toMatchObject({ code: "SERVICE_ANSWER_DIFFERS", class: "ambiguous" });
      expect(failure.message).toContain(field);
      expect(failure.message).not.toContain("SUBJ-");
    }),
  );

  it.each([
    ["an empty body", 201, ""],
    ["an HTML page", 200, "<html>ok</html>"],
    ["cut JSON", 200, '{"id": 5, "ty'],
    ["JSON without an id", 200, { status: "PENDING" }],
    ["an id beyond 2^53", 200, '{"id": 90071992547409930}'],
    ["a null", 200, "null"],
    ["status 204", 204, ""],
    ["status 500", 500, { error: "boom" }],
    ["status 502", 502, "<html>bad gateway</html>"],
    ["status 504", 504, ""],
    ["status 408", 408, ""],
    ["status 499", 499, {}],
    ["a redirect", 307, ""],
    ["a 401 page of a gateway", 401, "<html>log in</html>"],
    ["a 404 page of a gateway", 404, "<!doctype html><p>not here"],
  ])("is ambiguous and sent once after %s", (_name, status, body) =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, status, body, status === 307 ? { location: "/api/elsewhere" } : {});
        return true;
      };
      const failure = await failureOf(client.create("request", store, never));
      expect(failure).toMatchObject({ code: "SERVICE_NO_ANSWER", class: "ambiguous" });
      expect(stub.seen).toHaveLength(1);
    }),
  );

  it("is ambiguous and sent once wherever the answer is cut", async () => {
    const body = '{"id":5,"type":"STORE","status":"PENDING"}';
    const answer = `HTTP/1.1 201 Created\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    let cutAt = 0;
    await withRawServer(
      (socket) => socket.end(answer.slice(0, cutAt)),
      async (baseUrl, requests) => {
        for (cutAt = 0; cutAt < answer.length; cutAt += 1) {
          await withClient({ baseUrl }, async (client) => {
            const failure = await failureOf(client.create("request", store, never));
            expect(failure.code, `cut after ${cutAt} bytes`).toBe("SERVICE_NO_ANSWER");
          });
        }
        expect(requests()).toBe(answer.length);
      },
    );
  });

  it.each([
    ["hangs", (_socket: Socket) => {}],
    ["resets the connection", (socket: Socket) => socket.resetAndDestroy()],
    [
      "sends endless headers",
      (socket: Socket) => {
        socket.write(`HTTP/1.1 201 Created\r\n${"x-filler: y\r\n".repeat(10_000)}`);
      },
    ],
    [
      "sends an endless body",
      (socket: Socket) => {
        socket.write(`HTTP/1.1 201 Created\r\ncontent-length: 100000\r\n\r\n${" ".repeat(9_000)}`);
      },
    ],
    [
      "trickles its answer",
      (socket: Socket) => {
        const timer = setInterval(() => socket.write("HTTP/1.1 100 Continue\r\n\r\n"), 20);
        socket.on("close", () => clearInterval(timer));
      },
    ],
  ])("is ambiguous and sent once when the service %s", (_name, onRequest) =>
    withRawServer(onRequest, (baseUrl, requests) =>
      withClient({ baseUrl, timeoutMs: 1_000, maxBodyBytes: 4_096 }, async (client) => {
        expect((await failureOf(client.create("request", store, never))).code).toBe("SERVICE_NO_ANSWER");
        expect(requests()).toBe(1);
      }),
    ),
  );

  it("is ambiguous when it is stopped after it was sent", () => {
    const stop = new AbortController();
    return withRawServer(
      () => stop.abort(new Error("shutdown")),
      (baseUrl) =>
        withClient({ baseUrl }, async (client) => {
          expect((await failureOf(client.create("request", store, stop.signal))).code).toBe(
            "SERVICE_NO_ANSWER",
          );
        }),
    );
  });

  it("is sent once over a kept connection that the service has closed meanwhile", () =>
    withRawServer(
      (socket, count) => {
        if (count > 1) socket.destroy();
        else socket.write('HTTP/1.1 201 Created\r\ncontent-length: 8\r\n\r\n{"id":5}');
      },
      (baseUrl, requests) =>
        withClient({ baseUrl }, async (client) => {
          await client.create("request", store, never);
          expect((await failureOf(client.create("request", store, never))).class).toBe("ambiguous");
          expect(requests()).toBe(2);
        }),
    ));
});

describe("a request that was certainly not created", () => {
  it("is transient when nothing listens", async () => {
    let free = "";
    await withRawServer(
      () => {},
      async (baseUrl) => {
        free = baseUrl;
      },
    );
    await withClient({ baseUrl: free }, async (client) => {
      const failure = await failureOf(client.create("request", store, never));
      expect(failure).toMatchObject({ code: "SERVICE_UNREACHABLE", class: "transient" });
      expect(failure.message).toContain(`${new URL(free).host}: nothing listens at that address`);
    });
  });

  it.each([
    [400, "SERVICE_REFUSED"],
    [403, "SERVICE_REFUSED"],
    [404, "SERVICE_REFUSED"],
    [409, "SERVICE_REFUSED"],
    [422, "SERVICE_REFUSED"],
    [429, "SERVICE_BUSY"],
  ])("answers status %i as %s, sent once", (status, code) =>
    withStub(async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, status, { code: "VALIDATION_ERROR", message: "not the subject's" });
        return true;
      };
      const failure = await failureOf(client.create("request", store, never));
      expect(failure.code).toBe(code);
      expect(failure.message).toMatch(/status \d+: VALIDATION_ERROR$/);
      expect(stub.seen).toHaveLength(1);
    }),
  );

  it.each([400, 409, 422, 500])(
    "is said to be for another subject's container when a retrieval meets VALIDATION_ERROR with status %i",
    (status) =>
      withStub(async (stub, client) => {
        stub.intercept = (_request, response) => {
          send(response, status, { error: { code: "VALIDATION_ERROR", message: "7 is of SUBJ-OTHER" } });
          return true;
        };
        const failure = await failureOf(client.create("request", retrieval, never));
        expect(failure).toMatchObject({ code: "CONTAINER_OF_OTHER_SUBJECT", class: "permanent" });
        expect(failure.message).toMatch(
          /a container doesn't belong to the order's subject, status \d+: VALIDATION_ERROR/,
        );
        expect(failure.answer?.errorCode).toBe("VALIDATION_ERROR");
        expect(client.breaker.state).toBe("closed");
        expect(stub.seen).toHaveLength(1);
      }),
  );

  it("is what a site's rule says, and is sent once", () =>
    withStub(
      async (stub, client) => {
        let status = 409;
        stub.intercept = (_request, response) => {
          send(response, status, { code: "TANK_BUSY" });
          return true;
        };
        expect((await failureOf(client.create("request", store, never))).code).toBe("SERVICE_BUSY");
        status = 500;
        expect((await failureOf(client.create("request", store, never))).code).toBe("SERVICE_REFUSED");
        status = 422;
        expect((await failureOf(client.create("request", store, never))).code).toBe("SERVICE_NO_ANSWER");
        expect(stub.seen).toHaveLength(3);
      },
      {
        errors: [
          { status: [409], code: ["TANK_BUSY"], means: "notExecuted" },
          { status: [500], code: ["TANK_BUSY"], method: "POST", means: "refused" },
          { status: ["4xx"], means: "unknown" },
        ],
      },
    ));

  it("is told by 503 only where the site knows it to mean that nothing was done", () =>
    withStub(
      async (stub, client) => {
        stub.intercept = (_request, response) => {
          send(response, 503, {});
          return true;
        };
        expect(await failureOf(client.create("request", store, never))).toMatchObject({
          code: "SERVICE_BUSY",
          isAnswered: true,
        });
      },
      { notExecuted: new Set([429, 503]) },
    ));

  it("isn't sent when the check right before it fails", () =>
    withStub(async (stub, client) => {
      const beforeSend = () => {
        throw new RangeError("lease lost");
      };
      await expect(client.create("request", store, never, { beforeSend })).rejects.toThrow("lease lost");
      expect(stub.seen).toHaveLength(0);
    }));

  it("isn't sent when it was stopped before", () =>
    withStub(async (stub, client) => {
      const failure = await failureOf(client.create("request", store, AbortSignal.abort()));
      expect(failure.code).toBe("SERVICE_STOPPED");
      expect(stub.seen).toHaveLength(0);
    }));
});

it("keeps the subject's values out of messages and logs, whatever the service quotes", async () => {
  const sink = logSink();
  await withStub(
    async (stub, client) => {
      stub.intercept = (_request, response) => {
        send(response, 422, {
          errors: [{ message: "subject SUBJ-CANARY (Jane) born 1980-02-01: 'Roe' unknown" }],
        });
        return true;
      };
      const subject = { code: phi("SUBJ-CANARY"), firstName: phi("Jane"), dateOfBirth: phi("1980-02-01") };
      for (const call of [
        client.registerSubject(12, subject, never),
        client.create("request", store, never),
      ]) {
        expect((await failureOf(call)).message).not.toMatch(/CANARY|1980|Roe|Jane/);
      }
    },
    {},
    { logger: sink.logger },
  );
  expect(sink.text()).toContain("call answered");
  expect(sink.text()).not.toMatch(/CANARY|Jane|secret-api-token/);
});
