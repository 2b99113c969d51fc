import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decideForgotten, type Forgetful } from "../../src/jobs/reconcile/compare.ts";
import type { Made } from "../../src/service/reconcile/made.ts";

const MARK = "7K3M-ZQ0VX9TB4D";
const OTHER = "7K3M-AAAAAAAAAA";

const order = (given: Partial<Forgetful> = {}): Forgetful => ({
  id: 1,
  operation: "STORE",
  mark: MARK,
  labels: ["V-1", "V-2"],
  containerIds: undefined,
  wasInCopy: true,
  hasMarks: true,
  ...given,
});
const made = (id: number, given: Partial<Made> = {}): Made => ({
  id,
  marks: [],
  labels: undefined,
  containerIds: undefined,
  ...given,
});
const NOBODY = new Map<string, number>();

const anyMade = fc.record({
  id: fc.integer({ min: 1, max: 99 }),
  marks: fc.subarray([MARK, OTHER, "0000-0000000000"]),
  labels: fc.option(fc.subarray(["V-1", "V-2", "V-3"]), { nil: undefined }),
  containerIds: fc.option(fc.subarray([7, 8, 9]), { nil: undefined }),
});
const anyOrder = fc.record({
  id: fc.constant(1),
  operation: fc.constantFrom("STORE" as const, "RETRIEVAL" as const),
  mark: fc.constant(MARK),
  labels: fc.subarray(["V-1", "V-2"], { minLength: 1 }),
  containerIds: fc.option(fc.subarray([7, 8], { minLength: 1 }), { nil: undefined }),
  wasInCopy: fc.boolean(),
  hasMarks: fc.boolean(),
});

describe("whose a forgotten request is", () => {
  it("is certain for a storage by its mark together with exactly its labels", () => {
    const own = made(5, { marks: [MARK], labels: ["V-2", "V-1"] });
    expect(decideForgotten(order(), [own], NOBODY)).toEqual({ kind: "adopt", id: 5 });
  });

  it.each([
    ["its mark beside other labels", { marks: [MARK], labels: ["V-9"] }],
    ["its mark without labels", { marks: [MARK] }],
    ["its labels under a mark that no order has", { marks: [OTHER], labels: ["V-1", "V-2"] }],
    ["one of its labels", { marks: [OTHER], labels: ["V-2", "V-9"] }],
    ["nothing that is shown", {}],
  ])("is for a person to tell by %s", (_words, given) => {
    expect(decideForgotten(order(), [made(5, given)], NOBODY)).toMatchObject({ kind: "park", ids: [5] });
  });

  it("is another order's by that one's mark, whatever its labels", () => {
    const others = made(5, { marks: [OTHER], labels: ["V-1", "V-2"] });
    expect(decideForgotten(order(), [others], new Map([[OTHER, 2]]))).toEqual({ kind: "free" });
  });

  it("is for a person to tell when the service has two that may be the order's", () => {
    const both = [made(5, { marks: [MARK], labels: ["V-1", "V-2"] }), made(6, { labels: ["V-1"] })];
    expect(decideForgotten(order(), both, NOBODY)).toEqual({ kind: "park", ids: [5, 6], isMarked: true });
  });

  it("is certain for a retrieval of exactly its containers that was in the copy, and else for a person to tell", () => {
    const retrieval = order({ operation: "RETRIEVAL", containerIds: [7, 8] });
    const exact = made(5, { containerIds: [8, 7] });
    expect(decideForgotten(retrieval, [exact], NOBODY)).toEqual({ kind: "adopt", id: 5 });
    expect(decideForgotten({ ...retrieval, wasInCopy: false }, [exact], NOBODY).kind).toBe("park");
    expect(decideForgotten({ ...retrieval, containerIds: undefined }, [exact], NOBODY).kind).toBe("park");
    expect(decideForgotten(retrieval, [made(5)], NOBODY).kind).toBe("park");
    expect(decideForgotten(retrieval, [made(5, { containerIds: [9] })], NOBODY).kind).toBe("free");
  });

  it("is never decided past something that carries the order's mark, or shows a label or container of it", () => {
    fc.assert(
      fc.property(
        anyOrder,
        fc.uniqueArray(anyMade, { selector: ({ id }) => id, maxLength: 4 }),
        (given, all) => {
          const owners = new Map([[OTHER, 2]]);
          const decision = decideForgotten(given, all, owners);
          const isSuspicious = (each: Made) =>
            given.operation === "STORE"
              ? each.marks.includes(MARK) ||
                (!each.marks.includes(OTHER) &&
                  (each.labels === undefined || each.labels.some((label) => given.labels.includes(label))))
              : each.containerIds === undefined ||
                given.containerIds === undefined ||
                each.containerIds.some((id) => given.containerIds?.includes(id));
          const suspicious = all.filter(isSuspicious).map(({ id }) => id);
          if (decision.kind === "free") expect(suspicious).toEqual([]);
          else if (decision.kind === "adopt") expect(suspicious).toEqual([decision.id]);
          else expect(decision.ids).toEqual(suspicious);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
