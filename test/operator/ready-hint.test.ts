import { describe, expect, it } from "vitest";
import { FAILURES, type FailureCode } from "../../src/core/failures.ts";
import { readyHint } from "../../src/operator/ready-hint.ts";

const ALL = { order: "o17", message: "m12", result: "d4", task: "k3", number: "A-1" };

describe("a hint's commands", () => {
  it.each(Object.keys(FAILURES) as FailureCode[])("of %s have the ids that are known", (code) => {
    const { hint } = FAILURES[code];
    for (const surface of ["request", "external"] as const) {
      const ready = readyHint(hint, { ...ALL, surface });
      const commands = [...ready.matchAll(/`(?:cryobridge )?((?:orders|messages|queue|tasks) [^`]*)`/g)];
      for (const [, command] of commands) expect(command).not.toMatch(/ (ID|NUMBER)\b|\|/);
      const others =
        surface === "request" ? /--procedure-id|service procedures/ : /--request-id|service requests/;
      if (hint !== ready) expect(ready).not.toMatch(others);
    }
  });

  it("link the order to what the service has of it, one command for each", () => {
    const { hint } = FAILURES.SUBMIT_SEVERAL_MATCHES;
    expect(readyHint(hint, { order: "o17", atService: { surface: "request", ids: [7, 8] } })).toBe(
      "Find the right one with the facility, then `cryobridge orders resolve o17 --request-id 7` or `cryobridge orders resolve o17 --request-id 8`.",
    );
    expect(readyHint(hint, { order: "o17", atService: { surface: "external", ids: [9] } })).toContain(
      "`cryobridge orders resolve o17 --procedure-id 9`.",
    );
  });

  it("are given for each surface where nobody knows which one the order is on", () => {
    expect(readyHint(FAILURES.SUBMIT_SEVERAL_MATCHES.hint, { order: "o17" })).toBe(
      "Find the right one with the facility, then `cryobridge orders resolve o17 --request-id N` or `cryobridge orders resolve o17 --procedure-id N`.",
    );
  });

  it("have no id where another order may be meant, and no number of the other surface", () => {
    const { hint } = FAILURES.CANCEL_ORDER_AMBIGUOUS;
    const ready = readyHint(hint, ALL);
    expect(ready).toContain("`cryobridge orders cancel ORDER --reason TEXT`");
    expect(ready).not.toContain("o17");
    const atService = { surface: "external", ids: [9] } as const;
    expect(
      readyHint(FAILURES.SUBMIT_SEVERAL_MATCHES.hint, { order: "o17", surface: "request", atService }),
    ).toContain("`cryobridge orders resolve o17 --request-id N`");
  });

  it("stay as they are where nothing is known, and take no number that a shell would split", () => {
    const { hint } = FAILURES.ORDER_NUMBER_REUSED;
    expect(readyHint(hint, {})).toBe(hint);
    for (const number of ["A 1", "$(x)", "-v", "`", "A;1"])
      expect(readyHint(hint, { number })).toContain("`cryobridge orders show NUMBER`");
    expect(readyHint(hint, { number: "A-1/2" })).toContain("`cryobridge orders show A-1/2`");
  });
});
