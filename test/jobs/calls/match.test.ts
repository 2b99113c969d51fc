import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Asked, type Match, matchOf, type Suspicion } from "../../../src/jobs/calls/match.ts";
import { withRef } from "../../../src/service/new-request.ts";
import type { Made } from "../../../src/service/reconcile/made.ts";

const MARK = "7K3M-ZQ0VX9TB4D";
const OTHER = "7K3M-AAAAAAAAAA";
const UNKNOWN = "0000-0000000000";

const containers = ["V-1", "V-2"].map((label) => ({ label, description: "a" }));
const store: Asked = { type: "STORE", containers, ref: MARK };
const unmarked: Asked = { type: "STORE", containers, ref: undefined };
const corrected: Asked = {
  ...store,
  containers: containers.map((each) => ({ ...each, description: withRef("a", OTHER) })),
};
const retrieval: Asked = { type: "RETRIEVAL", containerIds: [7, 8] };
const unknownIds: Asked = { type: "RETRIEVAL", containerIds: undefined };

const called: Suspicion = { kind: "called", hasSnapshot: true };
const withoutSnapshot: Suspicion = { kind: "called", hasSnapshot: false };
const isOthers = (mark: string) => mark === OTHER;
const inCopy: Suspicion = { kind: "forgotten", wasInCopy: true, isOthers };
const cameSince: Suspicion = { kind: "forgotten", wasInCopy: false, isOthers };

const named = (...labels: string[]) => labels.map((label) => [label]);
const made = (given: Partial<Made> = {}): Made => ({
  ...{ id: 5, marks: [], labels: undefined, containerIds: undefined, age: "unknown", isHidden: false },
  ...given,
});
const exact = { labels: named("V-2", "V-1") };

describe("what is at the service is like what a call made", () => {
  it.each<[string, Asked, Partial<Made>, Suspicion, Match]>([
    ["its mark, exactly its labels", store, { marks: [MARK], ...exact }, called, "certain"],
    ["its mark, exactly its labels", store, { marks: [MARK], ...exact }, cameSince, "certain"],
    ["its mark beside other labels", store, { marks: [MARK], labels: named("V-9") }, called, "marked"],
    ["its mark without labels", store, { marks: [MARK] }, inCopy, "marked"],
    ["another order's mark", store, { marks: [OTHER], ...exact }, inCopy, "none"],
    ["a mark that nobody knows", store, { marks: [UNKNOWN], ...exact }, called, "none"],
    ["its labels under a mark that nobody knows", store, { marks: [UNKNOWN], ...exact }, inCopy, "possible"],
    [
      "its labels under a mark that stood in its descriptions",
      corrected,
      { marks: [OTHER], ...exact },
      called,
      "possible",
    ],
    [
      "its labels under any mark, where no marks are used",
      unmarked,
      { marks: [UNKNOWN], ...exact, age: "newer" },
      called,
      "certain",
    ],
    ["nothing", store, {}, called, "possible"],
    ["nothing, from long before", store, { age: "older" }, called, "none"],
    ["nothing, from long before", store, { age: "older" }, inCopy, "possible"],
    ["its labels", store, exact, called, "possible"],
    ["its labels, where no marks are used", unmarked, { ...exact, age: "newer" }, called, "certain"],
    ["its labels, of unknown age", unmarked, exact, called, "possible"],
    ["its labels, hidden", unmarked, { ...exact, age: "newer", isHidden: true }, called, "possible"],
    ["its labels, where no marks are used", unmarked, exact, inCopy, "certain"],
    ["its labels, where no marks are used", unmarked, exact, cameSince, "possible"],
    ["one of its labels", store, { labels: named("V-2", "V-9") }, called, "none"],
    ["one of its labels", store, { labels: named("V-2", "V-9") }, inCopy, "possible"],
    ["other labels", store, { labels: named("V-9") }, called, "none"],
    ["other labels", store, { labels: named("V-9") }, inCopy, "none"],
    ["other labels, made since the copy", store, { labels: named("V-9"), age: "newer" }, inCopy, "other"],
    ["other labels, from long before", store, { labels: named("V-9"), age: "older" }, inCopy, "none"],
    [
      "other labels under a mark that nobody knows",
      store,
      { marks: [UNKNOWN], labels: named("V-9"), age: "newer" },
      cameSince,
      "other",
    ],
    [
      "other labels under another order's mark",
      store,
      { marks: [OTHER], labels: named("V-9") },
      cameSince,
      "none",
    ],
    ["no containers", retrieval, {}, called, "possible"],
    ["no containers, from long before", retrieval, { age: "older" }, called, "none"],
    ["containers, where its own aren't known", unknownIds, { containerIds: [7] }, inCopy, "possible"],
    ["its containers", retrieval, { containerIds: [8, 7] }, called, "certain"],
    ["its containers, hidden", retrieval, { containerIds: [8, 7], isHidden: true }, called, "possible"],
    ["its containers, from before", retrieval, { containerIds: [8, 7], age: "older" }, called, "possible"],
    ["its containers, of unknown age", retrieval, { containerIds: [8, 7] }, withoutSnapshot, "possible"],
    ["its containers, new", retrieval, { containerIds: [8, 7], age: "newer" }, withoutSnapshot, "certain"],
    ["its containers", retrieval, { containerIds: [8, 7] }, inCopy, "certain"],
    ["its containers", retrieval, { containerIds: [8, 7] }, cameSince, "possible"],
    ["one of its containers", retrieval, { containerIds: [8] }, called, "none"],
    ["one of its containers", retrieval, { containerIds: [8, 9] }, inCopy, "possible"],
    ["other containers", retrieval, { containerIds: [9] }, called, "none"],
    ["other containers", retrieval, { containerIds: [9] }, inCopy, "none"],
    [
      "other containers, made since the copy",
      retrieval,
      { containerIds: [9], age: "newer" },
      inCopy,
      "other",
    ],
  ])("that shows %s (%#)", (_words, asked, shown, suspicion, expected) => {
    expect(matchOf(made(shown), asked, suspicion)).toBe(expected);
  });

  const anyMade = fc.record({
    id: fc.constant(5),
    marks: fc.subarray([MARK, OTHER, UNKNOWN]),
    labels: fc.option(
      fc.subarray(["V-1", "V-2", "V-3"]).map((labels) => named(...labels)),
      { nil: undefined },
    ),
    containerIds: fc.option(fc.subarray([7, 8, 9]), { nil: undefined }),
    age: fc.constantFrom("older" as const, "newer" as const, "unknown" as const),
    isHidden: fc.boolean(),
  });
  const anyAsked = fc.constantFrom(store, unmarked, retrieval, unknownIds);
  const anySuspicion = fc.constantFrom(called, withoutSnapshot, inCopy, cameSince);

  it("is certain only with exactly the content, and no clock excludes what shows the content", () => {
    fc.assert(
      fc.property(anyMade, anyAsked, anySuspicion, (shown, asked, suspicion) => {
        const like = matchOf(shown, asked, suspicion);
        const isExact =
          asked.type === "STORE"
            ? shown.labels?.length === 2 && shown.labels.flat().every((label) => label !== "V-3")
            : shown.containerIds?.length === 2 && !shown.containerIds.includes(9);
        if (like === "certain") expect(isExact).toBe(true);
        const isForeign = asked.type === "STORE" && shown.marks.length > 0;
        if (isExact && !isForeign) expect(like).not.toBe("none");
      }),
    );
  });

  it("is never nothing where it carries the call's mark, nor less alike for it", () => {
    const rank: Record<Match, number> = { none: 0, other: 1, possible: 2, marked: 3, certain: 4 };
    fc.assert(
      fc.property(anyMade, anySuspicion, (shown, suspicion) => {
        const plain = { ...shown, marks: shown.marks.filter((mark) => mark !== MARK) };
        const marked = { ...shown, marks: [...plain.marks, MARK] };
        const like = matchOf(marked, store, suspicion);
        expect(like).not.toBe("none");
        expect(rank[like]).toBeGreaterThanOrEqual(rank[matchOf(plain, store, suspicion)]);
      }),
    );
  });

  it("doesn't depend on an order of labels, containers or marks", () => {
    fc.assert(
      fc.property(anyMade, anyAsked, anySuspicion, (shown, asked, suspicion) => {
        const turned = {
          ...shown,
          marks: shown.marks.toReversed(),
          labels: shown.labels?.toReversed(),
          containerIds: shown.containerIds?.toReversed(),
        };
        expect(matchOf(turned, asked, suspicion)).toBe(matchOf(shown, asked, suspicion));
      }),
    );
  });
});
