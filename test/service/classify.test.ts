import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FAILURES } from "../../src/core/failures.ts";
import { type Answer, parseAnswer } from "../../src/service/http/answer.ts";
import {
  type CallKind,
  classify,
  type ErrorPolicy,
  type ErrorRule,
  MEANINGS,
} from "../../src/service/http/classify.ts";
import type { Method } from "../../src/service/http/wire.ts";

const BUILT_IN: ErrorPolicy = { notExecuted: new Set([429]), errors: [] };
const READ: CallKind = { method: "GET", route: "/api/procedures/{id}" };
const STORE: CallKind = { method: "POST", route: "/api/procedure-requests", creates: "STORE" };
const RETRIEVAL: CallKind = { ...STORE, creates: "RETRIEVAL" };

function answer(status: number, body: unknown = ""): Answer {
  return parseAnswer(status, {}, Buffer.from(typeof body === "string" ? body : JSON.stringify(body)));
}

const judged = (call: CallKind, seen: Answer, errors: readonly ErrorRule[] = []) =>
  classify(call, { answer: seen }, { ...BUILT_IN, errors });

const anyStatus = fc.oneof(
  fc.integer({ min: 100, max: 599 }),
  fc.constantFrom(200, 201, 204, 307, 400, 401, 403, 404, 408, 409, 422, 429, 499, 500, 502, 503, 504),
);
const anyCode = fc.constantFrom("VALIDATION_ERROR", "validation-error", "CONFLICT", "4001");
const anyBody = fc.oneof(
  fc.constantFrom("", " ", "<html>x</html>", "plain", '{"id": 5', "[]", "null", '"VALIDATION_ERROR"'),
  fc.record({ code: anyCode, message: fc.string() }).map((body) => JSON.stringify(body)),
  fc.record({ error: fc.record({ code: anyCode }) }).map((body) => JSON.stringify(body)),
  fc.record({ errors: fc.array(fc.record({ code: anyCode })) }).map((body) => JSON.stringify(body)),
  fc.json(),
);
const anyAnswer = fc.tuple(anyStatus, anyBody).map(([status, body]) => answer(status, body));
const anyWrite = fc.record({
  method: fc.constantFrom<Method>("POST", "PUT", "PATCH", "DELETE"),
  route: fc.constantFrom("/api/subjects", "/api/procedure-requests", "/api/v1/external/procedures"),
  creates: fc.constantFrom("STORE", "RETRIEVAL", undefined),
});

describe("what an answer means by the built-in table", () => {
  /** Statuses by which RFC 9110 says that nothing was done, as far as a gateway doesn't say them too late. */
  const REFUSED = [400, 402, 403, 404, 405, 406, 409, 410, 411, 413, 414, 415, 417, 422, 428, 431, 451];
  /** Of these, a page is a gateway's own, which may have passed the call on. */
  const PAGE_IS_UNSURE = [401, 403, 404];

  it("is 'not executed' for a call that changes the service only where the table's refusals say so", () => {
    fc.assert(
      fc.property(anyWrite, anyAnswer, (call, seen) => {
        const verdict = judged(call, seen);
        if (verdict === "ok" || FAILURES[verdict].class === "ambiguous") return;
        const isValidationError =
          call.creates === "RETRIEVAL" &&
          seen.shape === "json" &&
          /"validation.error"/i.test(JSON.stringify(seen.json));
        const isKnown = [401, 429, ...REFUSED].includes(seen.status);
        const isUnsurePage = PAGE_IS_UNSURE.includes(seen.status) && seen.shape === "html";
        expect(isValidationError || (isKnown && !isUnsurePage)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it("is 'not executed' for a call that was sent and got no whole answer in no case", () => {
    const why = fc.constantFrom<"stopped" | "timeout" | "too_large" | "network">(
      "stopped",
      "timeout",
      "too_large",
      "network",
    );
    fc.assert(
      fc.property(anyWrite, why, fc.boolean(), (call, reason, isSent) => {
        const broken = { kind: "broken", isSent, why: reason, error: new Error("x") } as const;
        const verdict = classify(call, { broken }, BUILT_IN);
        if (verdict === "ok") throw new Error("a broken exchange is no success");
        expect(FAILURES[verdict].class).toBe(isSent ? "ambiguous" : "transient");
      }),
    );
  });

  it("is a success only for 2xx, and for a call that changes the service only with JSON", () => {
    fc.assert(
      fc.property(fc.oneof(anyWrite, fc.constant(READ)), anyAnswer, (call, seen) => {
        if (judged(call, seen) !== "ok") return;
        expect(Math.floor(seen.status / 100)).toBe(2);
        if (call.method !== "GET") expect(seen.shape).toBe("json");
      }),
      { numRuns: 2_000 },
    );
  });

  it("never parks a read for what may pass: whatever is no refusal is transient", () => {
    fc.assert(
      fc.property(anyAnswer, (seen) => {
        const verdict = judged(READ, seen);
        if (verdict === "ok" || FAILURES[verdict].class === "transient") return;
        expect([401, ...REFUSED]).toContain(seen.status);
      }),
    );
  });

  it("is the same for every method that changes the service", () => {
    fc.assert(
      fc.property(anyAnswer, (seen) => {
        const verdicts = (["POST", "PUT", "PATCH", "DELETE"] as const).map((method) =>
          judged({ method, route: "/api/x" }, seen),
        );
        expect(new Set(verdicts).size).toBe(1);
      }),
    );
  });
});

describe("VALIDATION_ERROR for a retrieval that was to be created", () => {
  it.each([
    ["flat", { code: "VALIDATION_ERROR", message: "not the subject's" }],
    ["as errorCode", { errorCode: "VALIDATION_ERROR" }],
    ["as the error itself", { error: "VALIDATION_ERROR" }],
    ["in an error object", { error: { code: "VALIDATION_ERROR", message: "no" } }],
    ["in capitals, as .NET writes keys", { Error: { Code: "VALIDATION_ERROR" } }],
    ["in a list of errors", { errors: [{ field: "x" }, { code: "VALIDATION_ERROR" }] }],
    ["in a bare list", [{ code: "VALIDATION_ERROR" }]],
    ["as GraphQL has it", { data: null, errors: [{ extensions: { code: "VALIDATION_ERROR" } }] }],
    ["as problem details", { type: "https://example.org/problems/validation-error", title: "Invalid" }],
  ])("says that a container is another subject's, whatever its status: %s", (_name, body) => {
    for (const status of [400, 403, 404, 409, 422, 429, 500, 503]) {
      expect(judged(RETRIEVAL, answer(status, body)), String(status)).toBe("CONTAINER_OF_OTHER_SUBJECT");
    }
    expect(judged(STORE, answer(422, body))).toBe("SERVICE_REFUSED");
    expect(judged(STORE, answer(500, body))).toBe("SERVICE_NO_ANSWER");
  });

  it("counts with status 200 too when nothing was created", () => {
    expect(judged(RETRIEVAL, answer(200, { error: { code: "VALIDATION_ERROR" } }))).toBe(
      "CONTAINER_OF_OTHER_SUBJECT",
    );
    expect(judged(RETRIEVAL, answer(201, { id: 5, error: "VALIDATION_ERROR" }))).toBe("ok");
    expect(judged(RETRIEVAL, answer(201, { data: { id: 5 }, errors: [{ code: "VALIDATION_ERROR" }] }))).toBe(
      "ok",
    );
  });

  it("counts in no page and no plain text, which a gateway may have made", () => {
    expect(judged(RETRIEVAL, answer(502, "<html>VALIDATION_ERROR</html>"))).toBe("SERVICE_NO_ANSWER");
    expect(judged(RETRIEVAL, answer(500, "VALIDATION_ERROR"))).toBe("SERVICE_NO_ANSWER");
  });
});

describe("a site's own rule", () => {
  const anyRule = fc.record(
    {
      status: fc.array(fc.oneof(fc.integer({ min: 200, max: 599 }), fc.constantFrom("2xx", "4xx", "5xx")), {
        minLength: 1,
        maxLength: 3,
      }),
      code: fc.array(anyCode, { minLength: 1, maxLength: 2 }),
      body: fc.constantFrom<Answer["shape"]>("json", "html", "empty", "other"),
      method: fc.constantFrom<NonNullable<ErrorRule["method"]>>("read", "write", "GET", "POST"),
      path: fc.constantFrom("/api/*", "/api/procedure-requests"),
      means: fc.constantFrom<ErrorRule["means"]>(
        "refused",
        "notExecuted",
        "unknown",
        "credentials",
        "notFound",
      ),
    },
    { requiredKeys: ["means"] },
  );

  it("never turns anything into a success", () => {
    fc.assert(
      fc.property(
        fc.oneof(anyWrite, fc.constant(READ)),
        anyAnswer,
        fc.array(anyRule),
        (call, seen, rules) => {
          if (judged(call, seen, rules) === "ok") expect(judged(call, seen)).toBe("ok");
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it("goes before the table, and the first that fits before the others", () => {
    const rules: ErrorRule[] = [
      { status: [409], code: ["BUSY"], means: "notExecuted" },
      { status: ["4xx"], means: "unknown" },
      { status: [409], means: "refused" },
    ];
    expect(judged(STORE, answer(409, { code: "BUSY" }), rules)).toBe("SERVICE_BUSY");
    expect(judged(STORE, answer(409, { code: "OTHER" }), rules)).toBe("SERVICE_NO_ANSWER");
    expect(judged(STORE, answer(500), rules)).toBe("SERVICE_NO_ANSWER");
  });

  it.each<[string, ErrorRule, CallKind, Answer, boolean]>([
    ["a status", { status: [418], means: "refused" }, STORE, answer(418), true],
    ["another status", { status: [418], means: "refused" }, STORE, answer(419), false],
    ["a class of statuses", { status: ["5xx"], means: "refused" }, STORE, answer(507), true],
    ["a number as code", { code: ["4001"], means: "refused" }, STORE, answer(500, { code: 4001 }), true],
    [
      "a code in another case",
      { code: ["x_y"], means: "refused" },
      STORE,
      answer(500, { code: "X_Y" }),
      false,
    ],
    ["a shape", { body: "html", means: "refused" }, STORE, answer(500, "<html>"), true],
    ["another shape", { body: "html", means: "refused" }, STORE, answer(500, "text"), false],
    ["calls that change", { status: [500], method: "write", means: "refused" }, STORE, answer(500), true],
    ["reads only", { status: [500], method: "read", means: "refused" }, STORE, answer(500), false],
    ["another method", { status: [500], method: "PUT", means: "refused" }, STORE, answer(500), false],
    ["its path", { status: [500], path: STORE.route, means: "refused" }, STORE, answer(500), true],
    [
      "the beginning of a path",
      { status: [500], path: "/api/pro*", means: "refused" },
      STORE,
      answer(500),
      true,
    ],
    ["another path", { status: [500], path: "/api/subjects", means: "refused" }, STORE, answer(500), false],
    [
      "an error code with status 200",
      { status: [200], code: ["LOCKED"], means: "refused" },
      STORE,
      answer(200, { error: { code: "LOCKED" } }),
      true,
    ],
    [
      "an error code of a record with status 200",
      { code: ["LOCKED"], means: "refused" },
      STORE,
      answer(200, { id: 5, error: "LOCKED" }),
      false,
    ],
    [
      "every status without a code, 2xx left alone",
      { body: "json", means: "refused" },
      STORE,
      answer(201, {}),
      false,
    ],
  ])("is about %s", (_words, rule, call, seen, fits) => {
    expect(judged(call, seen, [rule]) === "SERVICE_REFUSED").toBe(fits);
  });

  it("means for reads and for calls that change the service what is written down", () => {
    for (const [means, { read, write }] of Object.entries(MEANINGS)) {
      const rule: ErrorRule = { status: [418], means: means as ErrorRule["means"] };
      expect(judged(READ, answer(418), [rule])).toBe(read);
      expect(judged(STORE, answer(418), [rule])).toBe(write);
    }
  });
});
