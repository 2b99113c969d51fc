import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { IdFilter } from "../../src/core/id-filter.ts";

/** Control ids as senders make them: from a counter, with a letter or a date before it. */
const COUNTED: readonly ((n: number) => string)[] = [
  (n) => String(n),
  (n) => `MSG${n}`,
  (n) => `20261122${String(n).padStart(9, "0")}`,
  (n) => `${n.toString(16).toUpperCase()}-LAB`,
  (n) => `Q${n.toString(36).toUpperCase()}`,
];

function filled(count: number, idOf: (n: number) => string): IdFilter {
  const filter = new IdFilter();
  for (let n = 0; n < count; n += 1) filter.add(idOf(n));
  return filter;
}

const anyText = fc.string({ unit: "binary" });

describe("a filter of ids", () => {
  test("knows nothing at first", () => {
    fc.assert(
      fc.property(anyText, (text) => {
        expect(new IdFilter().mayHave(text)).toBe(false);
      }),
    );
  });

  test("never says surely not of what was added, whatever characters it is made of", () => {
    fc.assert(
      fc.property(fc.array(anyText), (texts) => {
        const filter = new IdFilter();
        for (const text of texts) filter.add(text);
        expect(texts.filter((text) => !filter.mayHave(text))).toEqual([]);
      }),
    );
  });

  test("never says surely not of what was added before it grew, however often", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...COUNTED),
        fc.integer({ min: 1, max: 20_000 }),
        fc.integer({ min: 1, max: 100_000 }),
        (idOf, count, step) => {
          const filter = filled(count, (n) => idOf(n * step));
          const missing = Array.from({ length: count }, (_, n) => idOf(n * step)).filter(
            (id) => !filter.mayHave(id),
          );
          expect(missing).toEqual([]);
        },
      ),
      { numRuns: 30, seed: 20261122 },
    );
  });

  test("keeps a text that comes again once", () => {
    const filter = new IdFilter();
    for (let n = 0; n < 5_000; n += 1) filter.add(`C${n % 100}`);
    expect(filter.size).toBe(100);
  });

  test.each(COUNTED.map((idOf) => [idOf(12345), idOf] as const))(
    "says maybe of fewer than one in 1,000 others when it holds 100,000 ids such as %s",
    (_, idOf) => {
      const filter = filled(100_000, idOf);
      let maybes = 0;
      for (let n = 100_000; n < 200_000; n += 1) if (filter.mayHave(idOf(n))) maybes += 1;
      expect(maybes).toBeLessThan(100);
    },
  );

  test("mistakes ids that are counted in one way for those counted in another no more often than chance would", () => {
    let maybes = 0;
    for (const idOf of COUNTED) {
      const filter = filled(100_000, idOf);
      for (const otherOf of COUNTED.filter((each) => each !== idOf)) {
        for (let n = 0; n < 100_000; n += 1) if (filter.mayHave(otherOf(n))) maybes += 1;
      }
    }
    // 2 million questions at a chance of 100,000 in 2^32 each make 47.
    expect(maybes).toBeLessThan(94);
  });

  test("says maybe of everything once more were added than it may keep", () => {
    const filter = new IdFilter(3);
    for (const id of ["A", "B", "C", "A"]) filter.add(id);
    expect([filter.isFull, filter.size, filter.mayHave("D")]).toEqual([false, 3, false]);
    filter.add("D");
    expect([filter.isFull, filter.size, filter.mayHave("E")]).toEqual([true, 0, true]);
    filter.add("E");
    expect(filter.mayHave("F")).toBe(true);
  });
});
