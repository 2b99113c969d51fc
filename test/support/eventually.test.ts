import { expect, test } from "vitest";
import { eventually } from "./eventually.ts";

test("gives the first value that is there", async () => {
  let looks = 0;
  expect(await eventually(() => (++looks < 3 ? undefined : looks))).toBe(3);
});

test("waits through errors", async () => {
  let looks = 0;
  const value = await eventually(() => {
    if (++looks < 2) throw new Error("not yet");
    return "there";
  });
  expect(value).toBe("there");
});

test("says what did not come, and why", async () => {
  const waiting = eventually(
    () => {
      throw new Error("closed");
    },
    { withinMs: 20, what: "the door" },
  );
  await expect(waiting).rejects.toMatchObject({
    message: "the door did not hold within 20 ms",
    cause: { message: "closed" },
  });
});
