import type { FaultRule } from "../../src/simulator/faults.ts";
import type { SimulatorOptions } from "../../src/simulator/options.ts";

/** A service that is slow to answer keeps calls in the dangerous moment, executed and not yet known, for longer. */
const SLOW_ANSWERS: FaultRule = {
  name: "slow answer",
  method: "POST",
  path: "/api/**",
  answerAfterMs: [50, 700],
};

/** The service of a chaos run, with staff and devices that take their time, and what else is wrong with it. */
export function slowService({
  seed,
  faults = [],
}: {
  readonly seed: number;
  readonly faults?: readonly FaultRule[] | undefined;
}) {
  return {
    seed,
    staff: { reviewAfterMs: [100, 4_000] },
    device: { startAfterMs: [50, 1_000], runMs: [100, 3_000] },
    faults: [...faults, SLOW_ANSWERS],
  } as const satisfies SimulatorOptions;
}
