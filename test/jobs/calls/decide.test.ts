import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decideEmpty, decideFinds, type LaneStanding } from "../../../src/jobs/calls/decide.ts";
import { type Finds, nameFinds, remainsOf } from "../../../src/jobs/calls/finds.ts";

const TIMES = {
  checksMs: [5_000, 30_000],
  giveUpAfterMs: 900_000,
  recheckMs: 3_600_000,
  retrievals: "park",
} as const;

/** A lost call to create a storage that is old enough to be believed. */
const call = (given: Partial<LaneStanding> = {}): LaneStanding => ({
  ...{ kind: "request", isPresumed: false, answer: undefined, isApproved: false, checks: 2, ageMs: 900_000 },
  ...{
    failure: undefined,
    goneMs: undefined,
    surface: "request",
    operation: "STORE",
    others: { isUnknown: false, isDoubled: false },
    lostBefore: 0,
    times: TIMES,
  },
  ...given,
});
const young = { checks: 0, ageMs: 5_000 };
const presumed = { isPresumed: true } as const;
const retrieval = { operation: "RETRIEVAL" } as const;

const finds = (given: Partial<Finds> = {}): Finds => ({
  ...{ certain: [], taken: [], marked: [], possible: [], hidden: [], other: [], traces: [] },
  ...given,
});
const TAKEN = [{ id: 9, holder: "order P-9" }];
const parked = (text: RegExp) =>
  ({ kind: "park", code: "SUBMIT_UNCERTAIN", text: expect.stringMatching(text), ids: [] }) as const;

describe("what a look means for an open call", () => {
  it.each<[string, Partial<LaneStanding>, Partial<Finds>, object]>([
    ["one certain", {}, { certain: [5] }, { kind: "made", id: 5 }],
    [
      "one certain beside one that another order has",
      {},
      { certain: [5], taken: TAKEN },
      { kind: "made", id: 5 },
    ],
    [
      "one certain beside others that may be its own",
      {},
      { certain: [5], possible: [6] },
      { kind: "made", id: 5 },
    ],
    [
      "several certain",
      {},
      { certain: [5, 6] },
      {
        ...{ kind: "park", code: "SUBMIT_SEVERAL_MATCHES", ids: [5, 6] },
        text: "requests 5, 6 could all be this order's",
      },
    ],
    [
      "only what other orders have",
      {},
      { taken: [...TAKEN, { id: 8, holder: "order P-8" }] },
      {
        ...{ kind: "park", code: "SUBMIT_UNCERTAIN", ids: [] },
        text: "request 9 is this order's, but order P-9 has it; request 8 is this order's, but order P-8 has it",
      },
    ],
    ["a retrieval's only new one", retrieval, { possible: [5] }, { kind: "made", id: 5 }],
    [
      "a retrieval's only new one on the external surface, where a call leaves a mark",
      { ...retrieval, surface: "external" },
      { possible: [5] },
      { kind: "park", code: "SUBMIT_UNCERTAIN", ids: [5] },
    ],
    [
      "one that a snapshot wouldn't show",
      { ...retrieval, ...young },
      { possible: [5], hidden: [5] },
      { kind: "again" },
    ],
    [
      "one that may be another lost call's",
      { ...retrieval, ...young, others: { isUnknown: true, isDoubled: false } },
      { possible: [5] },
      { kind: "again" },
    ],
    [
      "one that may be a copy of a neighbour's, at first",
      { ...retrieval, ...young, others: { isUnknown: false, isDoubled: true } },
      { possible: [5] },
      { kind: "again" },
    ],
    [
      "one that may be a copy of a neighbour's, in the end, whatever a person has seen",
      { ...retrieval, isApproved: true, others: { isUnknown: false, isDoubled: true } },
      { possible: [5] },
      { kind: "park", code: "SUBMIT_UNCERTAIN", ids: [5] },
    ],
    ["its mark with other labels, at first", young, { marked: [5] }, { kind: "again", nextInMs: 25_000 }],
    [
      "its mark with other labels, in the end",
      {},
      { marked: [5] },
      {
        ...{ kind: "park", code: "SUBMIT_UNCERTAIN", ids: [5] },
        text: "request 5 at the service carries the order's mark, but the service doesn't show its labels with it",
      },
    ],
    [
      "its mark with other labels twice, in the end",
      { surface: "external" },
      { marked: [5, 6] },
      {
        ...{ kind: "park", code: "SUBMIT_SEVERAL_MATCHES", ids: [5, 6] },
        text: "procedures 5, 6 at the service carry the order's mark, but the service doesn't show its labels with it",
      },
    ],
    [
      "several that may be its own",
      {},
      { possible: [5, 6] },
      {
        ...{ kind: "park", code: "SUBMIT_SEVERAL_MATCHES", ids: [5, 6] },
        text: "requests 5, 6 could be this order's, but nothing proves it",
      },
    ],
    [
      "containers with its mark",
      {},
      { traces: [7, 8] },
      {
        ...{ kind: "park", code: "SUBMIT_UNCERTAIN", ids: [] },
        text: "containers 7, 8 at the service carry the order's mark, but no procedure is listed",
      },
    ],
    ["something that a person has seen", { isApproved: true }, { possible: [5] }, { kind: "nothing" }],
    ["nothing, at first", young, {}, { kind: "again", nextInMs: 25_000, found: "nothing" }],
    [
      "nothing, at first, where the looks are named in another sequence",
      { ...young, ageMs: 0, times: { ...TIMES, checksMs: [30_000, 5_000] } },
      {},
      { kind: "again", nextInMs: 5_000 },
    ],
    ["nothing, in the end", {}, {}, { kind: "nothing" }],
    ["a presumed one, certain alone", presumed, { certain: [5] }, { kind: "made", id: 5 }],
    [
      "a presumed one, certain beside another",
      presumed,
      { certain: [5], possible: [6] },
      {
        ...{ kind: "park", code: "SUBMIT_FORGOTTEN_REQUEST", ids: [5, 6] },
        text: expect.stringMatching(/ has requests 5, 6 at the service.* be this order's$/),
      },
    ],
    [
      "a presumed one, possible",
      { ...presumed, ...retrieval },
      { possible: [5] },
      { kind: "park", code: "SUBMIT_FORGOTTEN_REQUEST" },
    ],
    [
      "a presumed one, by its mark",
      presumed,
      { marked: [5] },
      {
        ...{ kind: "park", code: "SUBMIT_FORGOTTEN_REQUEST", ids: [5] },
        text: expect.stringMatching(/ has request 5 at the service.* by the order's mark in it$/),
      },
    ],
    [
      "a presumed one that another order has",
      presumed,
      { taken: TAKEN },
      { kind: "park", code: "SUBMIT_UNCERTAIN" },
    ],
    [
      "a young presumed one, nothing",
      { ...presumed, ...young },
      {},
      { kind: "again", nextInMs: 25_000, found: "nothing" },
    ],
    [
      "a presumed one that is looked for only now that no list can lag any more, nothing",
      { ...presumed, checks: 0 },
      {},
      { kind: "nothing" },
    ],
    [
      "a presumed one, what is for other containers",
      presumed,
      { other: [5] },
      {
        ...{ kind: "park", code: "SUBMIT_FORGOTTEN_REQUEST", ids: [5] },
        text: expect.stringMatching(
          /request 5 at the service is for other containers .* if the order was changed/,
        ),
      },
    ],
    [
      "a young presumed one, what is for other containers and may be that of an order not looked for yet",
      { ...presumed, ...young },
      { other: [5] },
      { kind: "again", nextInMs: 25_000 },
    ],
    [
      "a presumed one, a certain one beside what is for other containers",
      presumed,
      { certain: [5], other: [6] },
      { kind: "made", id: 5 },
    ],
    [
      "a presumed one that is looked for the first time, what is for other containers",
      { ...presumed, checks: 0 },
      { other: [5] },
      { kind: "again", found: "nothing" },
    ],
    ["a lost one, what is for other containers", {}, { other: [5] }, { kind: "nothing" }],
  ])("that finds %s", (_words, standing, found, expected) => {
    expect(decideFinds(call(standing), finds(found))).toMatchObject(expected);
  });

  it.each<[string, Partial<LaneStanding>, object]>([
    ["that was answered as not done", { ...young, answer: "refused" }, { kind: "nothing" }],
    ["that is too young", { ageMs: 899_999 }, { kind: "again", nextInMs: 1 }],
    ["that was looked for too seldom", { checks: 1 }, { kind: "again", nextInMs: 5_000 }],
    ["that was answered as done", { answer: "taken" }, parked(/ answered the call as done, without /)],
    [
      "that was answered as done, which a person has seen",
      { answer: "taken", isApproved: true },
      { kind: "nothing" },
    ],
    ["that is the fifth in a row", { lostBefore: 4 }, parked(/^5 calls in a row /)],
    ["that is the fourth in a row", { lostBefore: 3 }, { kind: "nothing" }],
    ["that retrieves", retrieval, parked(/ a retrieval leaves nothing /)],
    ["that retrieves, which a person has seen", { ...retrieval, isApproved: true }, { kind: "nothing" }],
    [
      "that retrieves where that is retried",
      { ...retrieval, times: { ...TIMES, retrievals: "retry" } },
      { kind: "nothing" },
    ],
    ["that retrieves on the external surface", { ...retrieval, surface: "external" }, { kind: "nothing" }],
    ["that registers the subject of a retrieval", { ...retrieval, kind: "subject" }, { kind: "nothing" }],
  ])("that finds nothing of one %s", (_words, standing, expected) => {
    expect(decideEmpty(call(standing))).toMatchObject(expected);
  });

  it.each<[Partial<Finds>, string | undefined]>([
    [{}, undefined],
    [{ traces: [7, 8] }, "containers 7, 8"],
    [{ certain: [5], traces: [7] }, "request 5"],
    [{ certain: [5], taken: TAKEN, marked: [6], possible: [6, 4] }, "requests 5, 9, 6, 4"],
  ])("names whatever %j has", (found, words) => {
    expect(nameFinds("request", finds(found))).toBe(words);
  });

  const ids = fc.uniqueArray(fc.integer({ min: 1, max: 9 }), { maxLength: 9 });
  const anyFinds = ids.chain((all) =>
    fc
      .tuple(
        ...all.map(() =>
          fc.constantFrom("certain", "taken", "marked", "possible", "hidden", "other", "traces"),
        ),
      )
      .map((kinds) => {
        const of = (...wanted: string[]) => all.filter((_, n) => wanted.includes(kinds[n] as string));
        return {
          ...{ certain: of("certain"), marked: of("marked"), traces: of("traces") },
          ...{ possible: of("possible", "hidden"), hidden: of("hidden"), other: of("other") },
          taken: of("taken").map((id) => ({ id, holder: "order P-9" })),
        };
      }),
  );
  const anyCall = fc.record({
    kind: fc.constant("request" as const),
    isPresumed: fc.boolean(),
    answer: fc.constantFrom(undefined, "refused" as const, "taken" as const),
    isApproved: fc.boolean(),
    checks: fc.integer({ min: 0, max: 9 }),
    ageMs: fc.integer({ min: 0, max: 2_000_000 }),
    surface: fc.constantFrom("request" as const, "external" as const),
    operation: fc.constantFrom("STORE" as const, "RETRIEVAL" as const),
    others: fc.record({ isUnknown: fc.boolean(), isDoubled: fc.boolean() }),
    lostBefore: fc.integer({ min: 0, max: 6 }),
    failure: fc.constant(undefined),
    goneMs: fc.constant(undefined),
    times: fc.constant(TIMES),
  });

  it("never sends again past what is or may be its own, unless a person has seen it", () => {
    fc.assert(
      fc.property(anyCall, anyFinds, (standing, found) => {
        const decision = decideFinds(standing, found);
        if (decision.kind !== "nothing") return;
        expect([...found.certain, ...found.taken]).toEqual([]);
        if (standing.isPresumed) expect([...found.marked, ...found.possible, ...found.other]).toEqual([]);
        else if (!standing.isApproved) expect(nameFinds(standing.surface, found)).toBeUndefined();
        // Nothing is believed before its time, but where the answer said so or nobody knows that a call left.
        const isTimely = standing.ageMs >= TIMES.giveUpAfterMs && standing.checks >= 2;
        expect(isTimely || standing.isPresumed || standing.answer === "refused").toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it("adopts only what is certain, or a retrieval's only new one, and never what another order has", () => {
    fc.assert(
      fc.property(anyCall, anyFinds, (standing, found) => {
        const decision = decideFinds(standing, found);
        if (decision.kind !== "made") return;
        const isOnly = found.possible.length + found.marked.length === 1 && found.certain.length === 0;
        const isNew = isOnly && standing.operation === "RETRIEVAL" && !found.hidden.includes(decision.id);
        expect(found.certain.includes(decision.id) || isNew).toBe(true);
        expect(found.taken.map(({ id }) => id)).not.toContain(decision.id);
      }),
      { numRuns: 2_000 },
    );
  });

  it("names in a late look all that is beside what the order is followed by, as far as it is proved", () => {
    fc.assert(
      fc.property(anyFinds, fc.integer({ min: 1, max: 9 }), fc.boolean(), (found, own, isProved) => {
        const { certain, perhaps } = remainsOf(found, own, isProved);
        const all = [...found.certain, ...found.taken.map(({ id }) => id)];
        expect(new Set(certain)).toEqual(new Set(all.filter((id) => id !== own)));
        const others = isProved ? found.marked : [...found.marked, ...found.possible];
        expect(new Set(perhaps)).toEqual(new Set(others.filter((id) => id !== own)));
      }),
    );
  });
});
