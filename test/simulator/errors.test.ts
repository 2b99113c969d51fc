import { expect, test } from "vitest";
import type { ErrorBody } from "../../src/simulator/behaviour.ts";
import { withSimulator } from "./with-simulator.ts";

const EXPECTED: readonly [ErrorBody, string, unknown][] = [
  ["code", "application/json", { code: "NOT_FOUND", message: "procedure not found" }],
  ["nested", "application/json", { error: { code: "NOT_FOUND", message: "procedure not found" } }],
  [
    "problem",
    "application/problem+json",
    {
      type: "urn:error:not-found",
      title: "NOT_FOUND",
      status: 404,
      detail: "procedure not found",
      errors: [],
    },
  ],
];

test.each(EXPECTED)("an error body of the shape %s is answered as %s", (errorBody, contentType, body) =>
  withSimulator({ behaviour: { errorBody } }, async ({ ask }) => {
    const reply = await ask("/api/procedures/9");
    expect(reply.status).toBe(404);
    expect(reply.headers["content-type"]).toContain(contentType);
    expect(reply.json).toEqual(body);
  }),
);

test("an error may come as a page", () =>
  withSimulator({}, async ({ ask, simulator }) => {
    simulator.control.behave({ errorBody: "html" });
    expect((await ask("/api/procedures/9")).text).toMatch(/^<!doctype html>/);
  }));

test("the status of VALIDATION_ERROR is the site's", () =>
  withSimulator({ behaviour: { validationStatus: 400 } }, async ({ post }) => {
    const reply = await post("/api/subjects", {});
    expect([reply.status, reply.json.code]).toEqual([400, "VALIDATION_ERROR"]);
  }));
