import { beforeAll, describe, test } from "vitest";
import { FRAMES } from "../jobs/frames.ts";
import { expectNoMoreWork, openTaking } from "../jobs/take-frame.ts";

beforeAll(openTaking);

// It takes as much of a processor as the twentieth part of the whole suite, which has a third of these.
describe("four times as much in one frame takes no more than four times the work, or so", () => {
  test.each(Object.keys(FRAMES))("of %s", (name) => {
    expectNoMoreWork(FRAMES[name] as (count: number) => string);
  });
});
