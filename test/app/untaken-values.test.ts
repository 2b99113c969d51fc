import { expect, test } from "vitest";
import { UntakenValues } from "../../src/app/own-conditions.ts";
import { csvProfile } from "../mapping/mapped.ts";

const DAY_MS = 86_400_000;

test("values that no transform takes are told for a day, with how many they were", async () => {
  const profile = await csvProfile({});
  let nowMs = 0;
  const values = new UntakenValues({ monotonic: () => nowMs });
  for (let n = 0; n < 3; n += 1) values.note("labor", "Stand", profile);
  nowMs = DAY_MS - 1;
  expect(values.conditions(() => profile).map(({ text }) => text)).toEqual([
    expect.stringContaining("3 values of the column Stand"),
  ]);
  nowMs = DAY_MS;
  expect(values.conditions(() => profile)).toEqual([]);
});

test("what an earlier profile did not take is told no more, and counted anew", async () => {
  const [before, now] = [await csvProfile({}), await csvProfile({})];
  const values = new UntakenValues({ monotonic: () => 0 });
  values.note("labor", "Stand", before);
  expect(values.conditions(() => now)).toEqual([]);
  values.note("labor", "Stand", now);
  expect(values.conditions(() => now)[0]?.text).toContain("1 value of the column Stand");
});
