import { inspect } from "node:util";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { Failure } from "../../src/core/failures.ts";
import { phi } from "../../src/core/phi.ts";
import { parseAnswer, readHeaders } from "../../src/service/http/answer.ts";
import { indentedStart } from "../../src/service/http/indented.ts";
import { keepAnswer } from "../../src/service/http/refusal.ts";
import { type StubService, send } from "./stub-service.ts";
import { failureOf, logSink, never, withStub } from "./with-client.ts";

const CALL = { method: "POST", route: "/api/procedure-requests", creates: "STORE" } as const;

const TOKEN = "secret-api-token";

function kept(body: unknown, contentType = "application/json") {
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  const answer = parseAnswer(422, readHeaders({ "content-type": contentType }), bytes);
  return keepAnswer(CALL, answer, new Set(), phi(TOKEN));
}

const bodyOf = (...given: Parameters<typeof kept>) => kept(...given).body?.reveal() ?? "";

describe("what is kept of an answer", () => {
  it("is a JSON body as it came, for whoever asks for it", () => {
    const body = {
      code: "X_Y",
      message: "code belongs to 'Jane Roe'",
      errors: { firstName: ["Jane"] },
      n: 4711,
    };
    expect(JSON.parse(bodyOf(body))).toEqual(body);
  });

  it("stays small, whatever comes", () => {
    const deep = JSON.parse(`${'{"a":'.repeat(500)}1${"}".repeat(500)}`) as unknown;
    const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`key${"x".repeat(n % 30)}`, n]));
    for (const body of [deep, wide, { message: "x".repeat(100_000) }, "x".repeat(100_000)])
      expect(bodyOf(body).length).toBeLessThanOrEqual(4_200);
  });

  it("is the beginning of a body that is too deep or too large to be written as a whole", () => {
    const deep = "[".repeat(100_000) + "]".repeat(100_000);
    expect(bodyOf(deep)).toMatch(/^\[\n {2}\[\n {4}\[/);
    let reads = 0;
    const json = new Proxy(new Array<string>(1_000_000).fill("x"), {
      get: (array, key, receiver) => {
        reads += 1;
        return Reflect.get(array, key, receiver) as unknown;
      },
    });
    const answer = { ...parseAnswer(422, readHeaders({}), Buffer.from("[]")), json };
    const body = keepAnswer(CALL, answer, new Set(), phi(TOKEN)).body?.reveal() ?? "";
    expect(body).toBe(`${JSON.stringify(new Array(1_000).fill("x"), null, 2).slice(0, 4_096)}…`);
    expect(reads).toBeLessThan(100_000);
  });

  it("is of each JSON value written as any JSON is", () => {
    const bodies = [
      {},
      [],
      [[], {}, [{}], ""],
      { a: { b: [1, -0.5, null, true, "\u0007\ud800 é"] }, "": [], '"': {} },
    ];
    for (const body of bodies) {
      const text = JSON.stringify(body, null, 2);
      expect(indentedStart(body, 1_000)).toBe(text);
      for (let most = 0; most < text.length; most += 1)
        expect(indentedStart(body, most).slice(0, most)).toBe(text.slice(0, most));
    }
  });

  it("is the title and headings of a page", () => {
    const page =
      "<html><head><title>502 Bad Gateway</title></head><body><h1 class=x>Bad Gateway</h1><pre>Jane Roe</pre></body>";
    expect(bodyOf(page, "text/html; charset=utf-8")).toBe("502 Bad Gateway / Bad Gateway");
    expect(kept(page, "text/html; charset=utf-8").contentType).toBe("text/html");
  });

  it("is a text in one line, without what commands a terminal", () => {
    expect(bodyOf("upstream\r\n timed\u001b[31m out", "text/plain")).toBe("upstream timed [31m out");
  });

  it("quotes the access token in no form", () => {
    for (const body of [{ message: `token ${TOKEN} refused` }, `Bearer ${TOKEN}`, `{"a": "${TOKEN}`])
      expect(bodyOf(body)).not.toContain(TOKEN);
    // Nor a piece of one, where a text or a title is cut.
    for (const before of [65_530, 65_536, 4_090])
      expect(bodyOf(`${"x ".repeat(before / 2)}${TOKEN} ${TOKEN}`, "text/plain")).not.toMatch(/secret(?!\])/);
    expect(bodyOf(`<html><title>${"x".repeat(294)} ${TOKEN}</title>`, "text/html")).not.toMatch(
      /secre(?!t\])/,
    );
  });

  it("keeps no piece of a long token either, where so many stand in a text that it is cut", () => {
    const token = `eyJ${"0123456789".repeat(340)}`;
    const answer = parseAnswer(403, {}, Buffer.from(`${token} `.repeat(30)));
    expect(keepAnswer(CALL, answer, new Set(), phi(token)).body?.reveal() ?? "").not.toContain("eyJ0");
  });

  it("is that there was none", () => {
    expect(kept("")).toMatchObject({ shape: "empty", body: undefined, errorCode: undefined });
  });
});

describe("an answer that goes along with a failure", () => {
  const refusing =
    (body: unknown, status = 422): StubService["intercept"] =>
    (_request, response) => {
      send(response, status, body);
      return true;
    };
  const store = {
    type: "STORE",
    facilityId: 12,
    subjectCode: phi("SUBJ-CANARY"),
    containers: [{ label: "V-1", description: "2 straws of Jane" }],
    ref: "7K3M-ZQ0VX9TB4D",
  } as const;

  it("is kept of a refusal and of an answer that leaves it open, and of nothing that passes by itself", () =>
    withStub(async (stub, client) => {
      stub.intercept = refusing({ code: "CONFLICT", message: "SUBJ-CANARY: 2 straws of Jane" });
      const refusal = await failureOf(client.create("request", store, never));
      expect(refusal.answer).toMatchObject({
        method: "POST",
        route: "/api/procedure-requests",
        status: 422,
        shape: "json",
        contentType: "application/json",
        errorCode: "CONFLICT",
      });
      expect(refusal.answer?.body?.reveal()).toContain("SUBJ-CANARY: 2 straws of Jane");
      expect(refusal.message).not.toMatch(/CANARY|straws|Jane/);

      stub.intercept = refusing("<html><title>Gateway Time-out</title></html>", 504);
      expect((await failureOf(client.create("request", store, never))).answer?.body?.reveal()).toBe(
        "Gateway Time-out",
      );
      stub.intercept = refusing({ id: 5, type: "STORE", subjectCode: "SUBJ-OTHER" }, 201);
      const differs = await failureOf(client.create("request", store, never));
      expect(differs.code).toBe("SERVICE_ANSWER_DIFFERS");
      expect(JSON.parse(differs.answer?.body?.reveal() ?? "")).toEqual({
        id: 5,
        type: "STORE",
        subjectCode: "SUBJ-OTHER",
      });
      stub.intercept = refusing({ code: "BUSY_NOW" }, 429);
      expect((await failureOf(client.create("request", store, never))).answer).toBeUndefined();
    }));

  it("gets into no log, no inspection and no JSON", () => {
    const { logger, text } = logSink();
    const failure = new Failure("SERVICE_REFUSED", {
      message: "refused",
      answer: { ...kept({ code: "ACCESS_DENIED", message: "secret words" }) },
    });
    logger.error({ err: failure, failure, nested: { failure } }, "x");
    pino({ level: "trace" }, { write: () => {} }).error(failure);
    const seen = [
      text(),
      inspect(failure, { depth: 9, showHidden: true }),
      JSON.stringify(failure),
      JSON.stringify({ ...failure }),
    ].join("\n");
    expect(failure.answer?.errorCode).toBe("ACCESS_DENIED");
    expect(seen).not.toContain("ACCESS_DENIED");
    // Should somebody log the answer itself, its body still stays where it is.
    expect(failure.answer?.body?.reveal()).toContain("secret words");
    expect(`${inspect(failure.answer, { depth: 9 })}${JSON.stringify(failure.answer)}`).not.toContain(
      "secret words",
    );
  });
});
