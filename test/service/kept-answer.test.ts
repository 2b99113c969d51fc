import { inspect } from "node:util";
import fc from "fast-check";
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { Failure } from "../../src/core/failures.ts";
import { phi } from "../../src/core/phi.ts";
import { parseAnswer } from "../../src/service/http/answer.ts";
import { readHeaders } from "../../src/service/http/headers.ts";
import { keepAnswer } from "../../src/service/http/kept-answer.ts";
import { type StubService, send } from "./stub-service.ts";
import { failureOf, logSink, never, withStub } from "./with-client.ts";

const CALL = { method: "POST", route: "/api/procedure-requests", creates: "STORE" } as const;

function kept(body: unknown, values: readonly string[] = [], contentType = "application/json") {
  const bytes = Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
  return keepAnswer(
    CALL,
    parseAnswer(422, readHeaders({ "content-type": contentType }), bytes),
    values.map(phi),
    new Set(),
  );
}

const bodyOf = (...given: Parameters<typeof kept>) => kept(...given).body?.reveal() ?? "";
const jsonOf = (...given: Parameters<typeof kept>) => JSON.parse(bodyOf(...given)) as unknown;

describe("what is kept of a JSON answer", () => {
  it.each([
    [
      "the specification's words, error codes, statuses and ids",
      { status: 422, code: "VALIDATION_ERROR", type: "STORE", procedureId: 12, isFinal: true, cause: null },
    ],
    ["names of fields that are wrong", { errors: [{ field: "subjectCode", code: "REQUIRED" }] }],
    [
      "a trace by which the service's operator finds the call",
      { traceId: "4bf92f3577b34da6a3ce929d0e0e4736" },
    ],
  ])("are %s", (_words, body) => {
    expect(jsonOf(body)).toEqual(body);
  });

  it.each<[string, unknown, unknown]>([
    ["names", { firstName: "Jane", note: "Roe" }, { firstName: "[masked]", note: "[masked]" }],
    [
      "dates, also as numbers",
      { dateOfBirth: 19800201, when: "x" },
      { dateOfBirth: "[masked]", when: "[masked]" },
    ],
    ["numbers that may be a person's", { patient: { mrn: 4711 } }, { patient: { mrn: "[masked]" } }],
    [
      "the code of a record",
      { code: "S-77", firstName: "Jane" },
      { code: "[masked]", firstName: "[masked]" },
    ],
    [
      "the numeric code of a record",
      { code: 4711, lastName: "Roe" },
      { code: "[masked]", lastName: "[masked]" },
    ],
    ["keys that are values", { errors: { "S-77": 1, Jane: 2 } }, { errors: { "[masked]": "[masked]" } }],
    [
      "quoted words and dates in sentences",
      { message: "code belongs to 'Jane Roe', born 1 Feb 1980; it's taken" },
      { message: 'code belongs to "[masked]", born [masked]; it\'s taken' },
    ],
    [
      "quoted words in sentences about fields",
      { errors: { firstName: ["must not be 'Jane'"], subject: "is 'Roe'" } },
      { errors: { firstName: ['must not be "[masked]"'], subject: 'is "[masked]"' } },
    ],
    [
      "a record's own words",
      { createdAt: "x", description: "of Jane Roe" },
      { createdAt: "[masked]", description: "[masked]" },
    ],
  ])("are not %s", (_words, body, expected) => {
    expect(jsonOf(body)).toEqual(expected);
  });

  it("are not the order's values, whatever they stand in", () => {
    const body = {
      message: "no subject QX-9 (JÄGER, Ute) in 12",
      QXn: "y",
      status: "QX-9",
      path: "/api/subjects?code=QX-9&name=j%c3%a4ger",
      detail: "jJägerk 19800201 1980-02-01",
    };
    const text = bodyOf(body, ["QX-9", "Jäger", "Ute", "1980-02-01"]);
    expect(text).not.toMatch(/QX-9|j.ger|Ute|1980/iu);
  });

  it("stay small, whatever comes", () => {
    const deep = JSON.parse(`${'{"a":'.repeat(500)}1${"}".repeat(500)}`) as unknown;
    const wide = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`key${"x".repeat(n % 30)}`, n]));
    const long = Array.from({ length: 10_000 }, () => [[[["a", 1]]]]);
    for (const body of [deep, wide, long, { message: "x".repeat(100_000) }]) {
      expect(bodyOf(body).length).toBeLessThanOrEqual(4_200);
    }
  });
});

describe("what is kept of another answer", () => {
  it("is the title and headings of a page", () => {
    const page =
      "<html><head><title>502 Bad Gateway</title></head><body><h1 class=x>Bad Gateway</h1><pre>Jane Roe</pre></body>";
    expect(bodyOf(page, [], "text/html; charset=utf-8")).toBe("502 Bad Gateway / Bad Gateway");
    expect(kept(page, [], "text/html; charset=utf-8").contentType).toBe("text/html");
  });

  it.each([
    ['{"id":5,"firstName":"Jane","note":"a \\"Roe\\" b","lastName":"Ro', '{"id":"[masked]'],
    ["upstream timed out", "upstream timed out"],
    ["subject 'Jane's sister' isn't known", 'subject "[masked]" isn\'t known'],
  ])("is a text without what it quotes, also when it is cut: %s", (text, beginning) => {
    const body = bodyOf(text, [], "text/plain");
    expect(body).not.toMatch(/Jane|Roe|"Ro/);
    if (!text.startsWith("{")) expect(body).toBe(beginning);
  });

  it("is that there was none", () => {
    expect(kept("")).toMatchObject({ shape: "empty", body: undefined, errorCode: undefined });
  });
});

describe("a known value of the patient", () => {
  const letters = fc.constantFrom(..."abcdefghijklmnopqrstuvwxyzäöüéßñøABCXYZ0123456789".split(""));
  const value = fc
    .tuple(
      fc.string({ unit: letters, minLength: 4, maxLength: 12 }),
      fc.string({ unit: letters, maxLength: 5 }),
    )
    .map(([first, second]) => (second === "" ? `zq${first.replace(/\d/g, "k")}` : `${first} ${second}`))
    // Our own words stay, also when a patient is called like one.
    .filter((text) => !/masked|more/i.test(text));
  const disguise = fc.constantFrom<(text: string) => string>(
    (text) => text,
    (text) => text.toUpperCase(),
    (text) => encodeURIComponent(text),
    (text) => text.normalize("NFD"),
    (text) => text.replaceAll(" ", "\u00a0 "),
    (text) => `x${text}y`,
    (text) => `said: "${text}".`,
    (text) => `/api/subjects?code=${encodeURIComponent(text)}&x=1`,
  );
  const anyKey = fc.constantFrom(
    "message",
    "code",
    "error",
    "status",
    "id",
    "path",
    "traceId",
    "note",
    "detail",
  );
  const { tree } = fc.letrec<{ tree: unknown; leaf: unknown }>((tie) => ({
    leaf: fc.oneof(
      fc.constant("HERE"),
      fc.constant("before HERE after"),
      fc.integer(),
      fc.constant("CODE_X"),
    ),
    tree: fc.oneof(
      { maxDepth: 4 },
      tie("leaf"),
      fc.array(tie("tree"), { maxLength: 4 }),
      fc.dictionary(fc.oneof(anyKey, fc.constantFrom("HERE", "aHEREb")), tie("tree"), { maxKeys: 4 }),
    ),
  }));

  /** Puts the value wherever `HERE` stands, in keys too. */
  const planted = (shape: unknown, text: string): unknown => {
    if (typeof shape === "string") return shape.replace("HERE", () => text);
    if (Array.isArray(shape)) return shape.map((each) => planted(each, text));
    if (typeof shape !== "object" || shape === null) return shape;
    return Object.fromEntries(
      Object.entries(shape).map(([key, each]) => [key.replace("HERE", () => text), planted(each, text)]),
    );
  };
  const plain = (text: string) => {
    const decoded = text.replace(/(%[0-9a-f]{2})+/gi, (run) => {
      try {
        return decodeURIComponent(run);
      } catch {
        return run;
      }
    });
    return decoded.normalize("NFC").replace(/\s+/gu, " ").toLowerCase();
  };

  it("survives in no position of a JSON body, in no spelling", () => {
    fc.assert(
      fc.property(value, disguise, tree, (text, dress, shape) => {
        const whole = kept({ root: planted(shape, dress(text)) }, [text]);
        const shown = [whole.body?.reveal() ?? "", whole.errorCode ?? ""].join("\n");
        expect(plain(shown)).not.toContain(plain(text));
      }),
      { numRuns: 3_000 },
    );
  });

  it("survives in no text and in no page", () => {
    const frame = fc.constantFrom(
      (text: string) => `<html><title>Error ${text}</title><h1>${text}</h1>`,
      (text: string) => `<error><message>${text}</message></error>`,
      (text: string) => `no such subject: ${text}`,
      (text: string) => `{"code": "X_Y", "message": "${text}", "cut`,
    );
    fc.assert(
      fc.property(value, disguise, frame, (text, dress, put) => {
        expect(plain(bodyOf(put(dress(text)), [text], "text/plain"))).not.toContain(plain(text));
      }),
      { numRuns: 500 },
    );
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
      expect(refusal.answer?.body?.reveal()).not.toMatch(/CANARY|straws|Jane/);

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
        subjectCode: "[masked]",
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
