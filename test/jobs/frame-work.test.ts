import { beforeAll, describe, expect, test } from "vitest";
import { FRAMES, many, message, order, PID, SOME_FRAMES } from "./frames.ts";
import { expectNoMoreWork, openTaking, takeFrame } from "./take-frame.ts";

beforeAll(openTaking);

// All of them: `npm run test:chaos`.
describe("four times as much in one frame takes no more than four times the work, or so", () => {
  test.each(SOME_FRAMES)("of %s", (name) => {
    expectNoMoreWork(FRAMES[name] as (count: number) => string);
  });
});

test("an answer to a message with endless mistakes lists the first hundred and says how many there are", () => {
  const [accepted] = takeFrame(
    Buffer.from(
      message(
        "ADT^A40",
        many(5_000, () => "PID|1"),
      ),
    ),
  );
  expect(accepted?.problems).toHaveLength(101);
  expect(accepted?.problems.at(-1)?.message).toMatch(/^\d+ more mistakes are not listed$/);
  expect(accepted?.reply?.length).toBeLessThan(100_000);
});

test("a specimen whose containers many orders share is refused, with what could be meant instead", () => {
  const containers = many(450, (n) => `SAC|||W-${n}`);
  const orders = many(800, (n) => order(n).slice(0, 2));
  const [accepted] = takeFrame(Buffer.from(message("OML^O33^OML_O33", PID, "SPM|1|P", containers, orders)));
  expect(accepted).toMatchObject({
    verdict: "refused",
    problems: [
      {
        code: "HL7_STRUCTURE",
        message:
          "segment 3 (SPM): its 450 containers belong to each order below it, and at most 5000 segments may be shared so, counted with each order; expected one order for all of them, or OML^O35, where each container has orders of its own",
      },
    ],
  });
});

test.each([
  [
    "has more segments than can be read",
    () =>
      message(
        "OML^O21",
        PID,
        order(1),
        many(20_000, () => "NTE"),
      ),
  ],
  [
    "has more segments than can be echoed",
    () =>
      message(
        "OML^O21",
        PID,
        many(200_000, () => "ORC"),
      ),
  ],
  ["has more fields in a segment than any", () => message("OML^O21", `${PID}${"|".repeat(1_001)}`, order(1))],
  [
    "has more escapes than can be read",
    () => message("OML^O21", PID, order(1), `NTE|1||${"\\.br\\".repeat(25_001)}`),
  ],
  [
    "has more control characters than can be echoed",
    () => message("OML^O21", PID.replace("Doe", "\x01".repeat(50_001)), order(1)),
  ],
  ["has notes around more orders than can be read", FRAMES["notes and orders"]],
  ["has notes before more merges than can be read", FRAMES["notes and merges"]],
])("a message that %s is refused for its structure", (_, make) => {
  const [accepted] = takeFrame(Buffer.from(make?.(4_000) ?? ""));
  expect(accepted).toMatchObject({ verdict: "refused", problems: [{ code: "HL7_STRUCTURE" }] });
  expect(accepted?.reply?.toString()).toContain("\rMSA|AE|M1");
});

test("a header that is longer than any is refused, and answered without its fields", () => {
  const text = message("OML^O21", PID, order(1)).replace("LIMS", "L".repeat(70_000));
  const [accepted] = takeFrame(Buffer.from(text));
  expect(accepted).toMatchObject({ verdict: "refused", problems: [{ code: "HL7_SEGMENT_INVALID" }] });
  expect(accepted?.reply?.length).toBeLessThan(1_000);
});
