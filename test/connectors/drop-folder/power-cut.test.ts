import { describe, expect, test } from "vitest";
import { machineHas } from "../../support/needs.ts";
import { type CutsAtSteps, cutAtSteps } from "./cut-at-steps.ts";

function expectSame({ expected, ends }: CutsAtSteps): void {
  expect(ends.length).toBeGreaterThan(5);
  for (const end of ends) expect(end).toEqual({ point: end.point, faults: [], end: expected });
}

// Whichever time a step is met: `npm run test:chaos`.
describe.runIf(machineHas("disks in files")).concurrent("a power cut at a step", () => {
  test("loses no file and no result, and changes nothing of the end", async () => {
    expectSame(await cutAtSteps("lags", (_, times) => times === 0));
  });

  test("does so also when the file system had just made all names lasting, but no content", async () => {
    expectSame(await cutAtSteps("is committed", (_, times) => times === 0));
  });
});
