import { describe, expect, test } from "vitest";
import { openApiDocument } from "../../src/simulator/description.ts";
import { type Bench, withSimulator } from "../simulator/with-simulator.ts";
import { Contract, type Exchange } from "./openapi-contract.ts";
import { ORGANIZATIONS, type Step, walk } from "./openapi-walk.ts";

const contract = new Contract(openApiDocument());

/** Walks over a simulator, and hands over the steps. */
async function walked(check: (steps: readonly Step[], bench: Bench) => void | Promise<void>): Promise<void> {
  await withSimulator({ organizations: ORGANIZATIONS }, async (bench) => {
    await check(await walk(bench.simulator), bench);
  });
}

/** One read, as the contract looks at it. */
async function exchangeOf(ask: Bench["ask"], target: string): Promise<Exchange> {
  const { status, headers, text } = await ask(target);
  const sent = { method: "GET", target, requestHeaders: {}, requestBody: "" };
  return { ...sent, status, responseHeaders: headers, responseBody: text };
}

describe("the simulator and its OpenAPI description", () => {
  test("agree on every answer and every proper request, and have every operation succeed", () =>
    walked((steps) => {
      expect(steps.length).toBeGreaterThan(80);
      expect(steps.flatMap((step) => contract.checkAnswer(step))).toEqual([]);
      const proper = steps.filter(({ isProper }) => isProper);
      expect(proper.flatMap((step) => contract.checkRequest(step))).toEqual([]);
      const successes = steps.filter(({ status }) => status < 300).map((step) => contract.operationOf(step));
      expect(contract.operations().filter((name) => !successes.includes(name))).toEqual([]);
    }));

  test("have every kind of refusal met in the walk", () =>
    walked((steps) => {
      const statuses = new Set(steps.map(({ status }) => status));
      expect([...statuses].sort()).toEqual([200, 201, 400, 401, 403, 404, 409, 413, 415, 422]);
    }));

  test("differ as soon as an answer has a member that is not described", () =>
    walked(async (_steps, { ask, simulator }) => {
      simulator.control.behave({ extraFields: { tenant: "x" } });
      const problems = contract.checkAnswer(await exchangeOf(ask, "/api/subjects"));
      expect(problems.join("\n")).toContain('"additionalProperty":"tenant"');
    }));

  test("differ as soon as a status has a word that is not described", () =>
    walked(async (_steps, { ask, simulator }) => {
      const [request] = simulator.control.requests();
      simulator.control.alterRequest(request?.id ?? 0, { status: "ON_HOLD" });
      const problems = contract.checkAnswer(await exchangeOf(ask, "/api/procedure-requests"));
      expect(problems.join("\n")).toContain("/status must be equal to one of the allowed values");
    }));
});
