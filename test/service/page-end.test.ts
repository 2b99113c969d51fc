import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { totalOf } from "../../src/service/http/answer.ts";
import { isWholeList } from "../../src/service/lists/capabilities.ts";

/** A list of a service, how it is asked for, and what was seen of the service's pages before, all of it true. */
const anyList = fc
  .record({
    entries: fc.nat(250),
    asked: fc.integer({ min: 1, max: 200 }),
    cap: fc.integer({ min: 2, max: 200 }),
    saysTotal: fc.boolean(),
    longest: fc.nat(10),
    knowsCap: fc.boolean(),
  })
  .map(({ entries, asked, cap, saysTotal, longest, knowsCap }) => ({
    entries,
    length: Math.min(entries, asked, cap),
    asked,
    total: saysTotal ? entries : undefined,
    longest: Math.min(longest, cap),
    cap: knowsCap ? cap : undefined,
  }));

describe("a first page", () => {
  test("is never taken for the whole list while the service has more, whatever it caps its pages to", () =>
    fc.assert(
      fc.property(anyList, ({ entries, ...page }) => {
        if (isWholeList(page)) expect(page.length).toBe(entries);
      }),
      { numRuns: 5_000 },
    ));

  test("is the whole list by its length, from a service that was seen to fill a default page", () =>
    fc.assert(
      fc.property(fc.nat(9), fc.integer({ min: 10, max: 200 }), (length, asked) => {
        expect(isWholeList({ length, asked, total: undefined, longest: 10, cap: undefined })).toBe(true);
      }),
    ));

  test("is the whole list by its total, whatever was seen of other lists", () =>
    fc.assert(
      fc.property(fc.nat(99), fc.nat(10), (length, longest) => {
        fc.pre(![10, 20, 25, 50].includes(length));
        expect(isWholeList({ length, asked: 100, total: length, longest, cap: undefined })).toBe(true);
      }),
    ));

  test.each([
    ["nothing is on it", { length: 0 }, true],
    ["one entry is on it", { length: 1 }, true],
    ["two are on it, and no longer page was seen", { length: 2 }, false],
    ["it is as long as a default page", { length: 10, longest: 10 }, false],
    ["it is as long as the pages of this list ever are", { length: 3, longest: 10, cap: 3 }, false],
    ["it is as long as was asked for", { length: 5, asked: 5, total: 5 }, false],
    ["the service says that there are more", { length: 1, total: 2 }, false],
    [
      "it is as long as a known cap, and its total may be the page's",
      { length: 37, total: 37, cap: 37 },
      false,
    ],
    ["it is longer than a known cap", { length: 40, total: 40, cap: 37 }, false],
    ["it is as long as a usual page, and its total may be the page's", { length: 50, total: 50 }, false],
    ["its total is shorter than any cap that is known", { length: 36, total: 36, cap: 37 }, true],
    ["the service counts fewer than there are", { length: 4, total: 0, longest: 10 }, true],
  ])("is judged where %s", (_words, page, expected) => {
    const whole = isWholeList({ asked: 100, total: undefined, longest: 0, cap: undefined, ...page });
    expect(whole).toBe(expected);
  });
});

describe("how many entries a list has in all", () => {
  test.each([
    [{ data: [], meta: { page: 1, perPage: 10, total: 7 } }, 7],
    [{ items: [], total: 7 }, 7],
    [{ data: { items: [], totalCount: "7" } }, 7],
    [{ results: [], pagination: { total_count: 7 } }, 7],
    [{ content: [], totalElements: 7, page: { totalElements: 7 } }, 7],
    [{ items: [], total: 7, meta: { total: 250 } }, undefined],
    [{ items: [], total: -1 }, undefined],
    [{ items: [], total: null, count: 3 }, undefined],
    [[{ total: 7 }], undefined],
  ])("is read of %j", (json, expected) => {
    expect(totalOf(json)).toBe(expected);
  });
});
