import { readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { readSimulatorFiles } from "../../src/cli/commands/simulator.ts";
import { faultSchema } from "../../src/simulator/faults.ts";
import { combineScripts, scriptSchema } from "../../src/simulator/options.ts";
import { createSimulator } from "../../src/simulator/simulator.ts";

const EXAMPLES = resolve(import.meta.dirname, "../../config/simulator");
const read = (content: unknown) => combineScripts([scriptSchema.parse(content)]);

test("a script is a list of faults, or a section with any part of the options", () => {
  expect(read([{ status: 500 }])).toEqual({ faults: [{ status: 500 }] });
  const whole = { faults: [{ after: "drop" }], speed: 60, behaviour: { maxPerPage: 25 }, firstId: 9 };
  expect(read(whole)).toEqual(whole);
});

test("durations may be written as milliseconds or as text", () => {
  const faults = [{ answerAfterMs: ["1.5s", 2_000], executeAfterMs: "1h" }];
  expect(read({ faults, staff: { reviewAfterMs: "90s" } })).toEqual({
    faults: [{ answerAfterMs: [1_500, 2_000], executeAfterMs: 3_600_000 }],
    staff: { reviewAfterMs: 90_000 },
  });
});

test("of two scripts the later wins key by key, and their faults add up", () => {
  const first = { seed: 1, behaviour: { ids: "string", sort: "-id" }, faults: [{ status: 500 }] };
  const second = { seed: 2, behaviour: { sort: "random" }, faults: [{ status: 502 }] };
  expect(combineScripts([scriptSchema.parse(first), scriptSchema.parse(second)])).toEqual({
    seed: 2,
    behaviour: { ids: "string", sort: "random" },
    faults: [{ status: 500 }, { status: 502 }],
  });
});

test("the examples that come along can be used, and show every effect that a fault may have", async () => {
  const files = readdirSync(EXAMPLES).filter((name) => name.endsWith(".yaml"));
  expect(files.sort()).toEqual(["faults.yaml", "strict-service.yaml"]);
  for (const file of files) {
    const simulator = await createSimulator(readSimulatorFiles([join(EXAMPLES, file)], {}));
    expect(simulator.control.storages().length).toBeGreaterThan(3);
  }
  const { faults = [] } = readSimulatorFiles([join(EXAMPLES, "faults.yaml")], {});
  const effects = new Set(faults.flatMap((fault) => Object.keys(fault)));
  expect(Object.keys(faultSchema.shape).filter((key) => !effects.has(key))).toEqual([]);
});
