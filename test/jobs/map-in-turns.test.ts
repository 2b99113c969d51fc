import { expect, test } from "vitest";
import { mapInTurns } from "../../src/jobs/intake/intake.ts";
import { aRecord } from "../support/orders.ts";
import { incoming } from "../support/with-intakes.ts";

const RECORD = aRecord(1, []);

test("messages are mapped in pieces, in their order, and others have their turn between two of them", async () => {
  const messages = Array.from({ length: 1_000 }, (_, n) => incoming("MSH", n + 1));
  const events: (number | "turn")[] = [];
  let isOver = false;
  const beside = () => {
    events.push("turn");
    if (!isOver) setImmediate(beside);
  };
  setImmediate(beside);
  const ordinals: number[] = [];
  await mapInTurns(
    messages,
    ({ ordinal }) => {
      ordinals.push(ordinal);
      return RECORD;
    },
    ({ records }) => void events.push(records.length),
  );
  isOver = true;
  expect(ordinals).toEqual(messages.map(({ ordinal }) => ordinal));
  const pieces = events.filter((event) => event !== "turn");
  expect(pieces.reduce((sum, count) => sum + count, 0)).toBe(1_000);
  expect(Math.max(...pieces)).toBeLessThanOrEqual(250);
  events.forEach((event, n) => {
    if (event !== "turn" && n > 0) expect(events[n - 1]).toBe("turn");
  });
});

test("a message that takes long to map is a piece of its own", async () => {
  const sizes: number[] = [];
  const slow = () => {
    const until = performance.now() + 25;
    while (performance.now() < until);
    return RECORD;
  };
  await mapInTurns(
    [incoming("1"), incoming("2"), incoming("3")],
    slow,
    ({ records }) => void sizes.push(records.length),
  );
  expect(sizes).toEqual([1, 1, 1]);
});

test("a few messages are mapped at once", () => {
  expect(
    mapInTurns(
      [incoming("MSH")],
      () => RECORD,
      () => undefined,
    ),
  ).toBeUndefined();
});
