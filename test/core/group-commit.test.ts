import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { groupCommit } from "../../src/core/group-commit.ts";

const LIMITS = { items: 3, bytes: 100 };

/** A commit that a test ends by itself. */
function manualCommit() {
  const groups: { readonly items: readonly number[]; readonly end: (error?: Error) => void }[] = [];
  const commit = (items: readonly number[]) =>
    new Promise<readonly string[]>((resolve, reject) => {
      groups.push({
        items,
        end: (error) => (error ? reject(error) : resolve(items.map((item) => `done ${item}`))),
      });
    });
  return { groups, commit };
}

/** A commit that is over at once. */
function quickCommit() {
  const groups: (readonly number[])[] = [];
  const commit = async (items: readonly number[]) => {
    groups.push(items);
    return items;
  };
  return { groups, add: groupCommit(commit, LIMITS, () => false) };
}

const turn = () => new Promise((resolve) => setImmediate(resolve));

describe("a group commit", () => {
  test("commits one item at once", async () => {
    const { groups, commit } = manualCommit();
    const done = groupCommit(commit, LIMITS, () => false)(7, 1, {});
    await turn();
    groups[0]?.end();
    expect(await done).toBe("done 7");
  });

  test("commits together what comes in one turn of the event loop, by whatever way", async () => {
    const { groups, commit } = manualCommit();
    const add = groupCommit(commit, LIMITS, () => false);
    const first = add(1, 1, {});
    for (let n = 0; n < 10; n += 1) await Promise.resolve();
    const second = add(2, 1, {});
    await turn();
    expect(groups.map(({ items }) => items)).toEqual([[1, 2]]);
    groups[0]?.end();
    expect(await Promise.all([first, second])).toEqual(["done 1", "done 2"]);
  });

  test("commits what one source brings at once when it was alone before, and together what it brings at once", async () => {
    const { groups, add } = quickCommit();
    const one = {};
    await add(1, 1, one);
    const isOver = Promise.all([add(2, 1, one), add(3, 1, one)]).then(() => true);
    let hasTurned = false;
    setImmediate(() => {
      hasTurned = true;
    });
    expect(await isOver).toBe(true);
    expect(hasTurned).toBe(false);
    expect(groups).toEqual([[1], [2, 3]]);
  });

  test("waits for what comes in the same turn as soon as another source brings something", async () => {
    const { groups, add } = quickCommit();
    const [one, other] = [{}, {}];
    await add(1, 1, one);
    const second = add(2, 1, other);
    for (let n = 0; n < 10; n += 1) await Promise.resolve();
    await Promise.all([second, add(3, 1, one)]);
    expect(groups).toEqual([[1], [2, 3]]);
  });

  test("commits together what comes while another commit is under way", async () => {
    const { groups, commit } = manualCommit();
    const add = groupCommit(commit, LIMITS, () => false);
    const first = add(1, 1, {});
    await turn();
    const others = Promise.all([add(2, 1, {}), add(3, 1, {})]);
    await turn();
    expect(groups.map(({ items }) => items)).toEqual([[1]]);
    groups[0]?.end();
    await first;
    await turn();
    await turn();
    groups[1]?.end();
    expect(await others).toEqual(["done 2", "done 3"]);
    expect(groups.map(({ items }) => items)).toEqual([[1], [2, 3]]);
  });

  test("tells each caller of a group that failed, and goes on with the next", async () => {
    const { groups, commit } = manualCommit();
    const add = groupCommit(commit, LIMITS, () => false);
    const ends = Promise.allSettled([add(1, 1, {}), add(2, 1, {})]);
    await turn();
    const next = add(3, 1, {});
    groups[0]?.end(new Error("no disk"));
    expect((await ends).map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await turn();
    groups[1]?.end();
    expect(await next).toBe("done 3");
  });

  test("commits each by itself when one of a group may be at fault, and tells only that one's caller", async () => {
    const groups: (readonly number[])[] = [];
    const add = groupCommit(
      async (items: readonly number[]) => {
        groups.push(items);
        if (items.includes(2)) throw new Error("two is poison");
        return items;
      },
      LIMITS,
      () => true,
    );
    const ends = await Promise.allSettled([add(1, 1, {}), add(2, 1, {}), add(3, 1, {})]);
    expect(ends.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(groups).toEqual([[1, 2, 3], [1], [2], [3]]);
  });

  test("gives up what came from one source behind what was rejected, and from no other", async () => {
    const { groups, commit } = manualCommit();
    const add = groupCommit(commit, LIMITS, () => false);
    const [one, other] = [{}, {}];
    const first = add(1, 1, one);
    await turn();
    const behind = Promise.allSettled([first, add(2, 1, one), add(3, 1, other)]);
    const error = new Error("no disk");
    groups[0]?.end(error);
    await turn();
    await turn();
    groups[1]?.end();
    expect(await behind).toEqual([
      { status: "rejected", reason: error },
      { status: "rejected", reason: error },
      { status: "fulfilled", value: "done 3" },
    ]);
    await expect(add(4, 1, one)).rejects.toBe(error);
    expect(groups.map(({ items }) => items)).toEqual([[1], [3]]);
  });

  test("commits of each source what it brought first, up to the first that fails, whatever fails", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            source: fc.nat(3),
            isPoison: fc.boolean(),
            isLater: fc.boolean(),
            fails: fc.boolean(),
          }),
          { maxLength: 25 },
        ),
        fc.boolean(),
        async (items, isOnesFault) => {
          const sources = [{}, {}, {}, {}];
          const kept = new Map<number, number[]>();
          const add = groupCommit(
            async (group: readonly number[]) => {
              await turn();
              const isBad = (n: number) => (isOnesFault ? items[n]?.isPoison : items[n]?.fails);
              if (group.some(isBad)) throw new Error("not kept");
              for (const n of group) {
                const source = items[n]?.source ?? 0;
                kept.set(source, [...(kept.get(source) ?? []), n]);
              }
              return group;
            },
            LIMITS,
            () => isOnesFault,
          );
          const ends: Promise<"kept" | "rejected">[] = [];
          for (const [n, { source, isLater }] of items.entries()) {
            if (isLater) await turn();
            const end = add(n, 1, sources[source] as object);
            ends.push(
              end.then(
                () => "kept",
                () => "rejected",
              ),
            );
          }
          const results = await Promise.all(ends);
          for (const source of sources.keys()) {
            const brought = items.flatMap((item, n) => (item.source === source ? [n] : []));
            const rejected = brought.findIndex((n) => results[n] === "rejected");
            const first = rejected === -1 ? brought : brought.slice(0, rejected);
            expect(kept.get(source) ?? []).toEqual(first);
          }
        },
      ),
    ));

  test("keeps the order and its bounds, whatever comes", () =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 150 }), { maxLength: 30 }), async (sizes) => {
        const groups: number[][] = [];
        const add = groupCommit(
          async (items: readonly number[]) => {
            groups.push([...items]);
            await turn();
            return items;
          },
          LIMITS,
          () => false,
        );
        const results = await Promise.all(sizes.map((bytes, index) => add(index, bytes, {})));
        expect(results).toEqual(sizes.map((_, index) => index));
        expect(groups.flat()).toEqual(results);
        for (const group of groups) {
          expect(group.length).toBeLessThanOrEqual(LIMITS.items);
          const bytes = group.reduce((sum, index) => sum + (sizes[index] ?? 0), 0);
          if (group.length > 1) expect(bytes).toBeLessThanOrEqual(LIMITS.bytes);
        }
      }),
    ));
});
