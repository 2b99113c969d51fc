import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decideDuplicate } from "../../src/jobs/submit/guard.ts";
import type { SameContainer } from "../../src/ledger/orders/same-containers.ts";

const ME = { id: 10, operation: "STORE" } as const;

function other(parts: Partial<SameContainer> = {}): SameContainer {
  const otherId = parts.otherId ?? 5;
  return {
    position: 1,
    label: "V-1",
    otherId,
    otherName: `o${otherId}`,
    hasSameNumber: false,
    operation: "STORE",
    state: "received",
    isAtService: false,
    containerId: undefined,
    ...parts,
  };
}

describe("an order for a container", () => {
  test("goes on when no other order names it", () => {
    expect(decideDuplicate(ME, [])).toEqual({ kind: "go" });
  });

  test.each(["received", "submitting", "submitted", "accepted", "in_progress", "parked"] as const)(
    "is parked while an earlier order of the same kind is %s, which it names",
    (state) => {
      expect(decideDuplicate(ME, [other({ state, otherName: "order P-1" })])).toEqual({
        kind: "park",
        code: "ORDER_CONTAINER_IN_OPEN_ORDER",
        text: expect.stringMatching(
          /^container V-1 is in order P-1 of the same kind too, which was .* then$/,
        ),
      });
    },
  );

  test("goes on before a later one that waits, and not before a later one that was faster", () => {
    expect(decideDuplicate(ME, [other({ otherId: 11 })]).kind).toBe("go");
    expect(decideDuplicate(ME, [other({ otherId: 11, state: "parked" })]).kind).toBe("go");
    expect(decideDuplicate(ME, [other({ otherId: 11, state: "parked", isAtService: true })]).kind).toBe(
      "park",
    );
  });

  test("to be stored is parked once it is stored, until it was retrieved", () => {
    const stored = other({ otherId: 1, state: "completed" });
    const retrieved = other({ otherId: 2, operation: "RETRIEVAL", state: "completed" });
    expect(decideDuplicate(ME, [stored])).toMatchObject({ code: "ORDER_CONTAINER_STORED_ALREADY" });
    expect(decideDuplicate(ME, [stored, retrieved]).kind).toBe("go");
    expect(decideDuplicate(ME, [stored, retrieved, { ...stored, otherId: 3 }]).kind).toBe("park");
  });

  test("to be retrieved is parked once it was retrieved, until it is stored again", () => {
    const me = { ...ME, operation: "RETRIEVAL" } as const;
    const stored = other({ otherId: 1, state: "completed" });
    const retrieved = other({ otherId: 2, operation: "RETRIEVAL", state: "completed" });
    expect(decideDuplicate(me, [stored]).kind).toBe("go");
    expect(decideDuplicate(me, [stored, retrieved])).toMatchObject({
      code: "ORDER_CONTAINER_RETRIEVED_ALREADY",
    });
    expect(decideDuplicate(me, [stored, retrieved, { ...stored, otherId: 3 }]).kind).toBe("go");
  });

  test("waits for an earlier order that still moves it the other way, unless that one is parked", () => {
    const stored = other({ otherId: 1, state: "completed" });
    const leaving = other({ otherId: 2, operation: "RETRIEVAL", state: "submitted" });
    expect(decideDuplicate(ME, [stored, leaving])).toEqual({ kind: "wait" });
    expect(decideDuplicate(ME, [stored, { ...leaving, state: "parked" }]).kind).toBe("park");
  });

  test("is judged by each of its containers", () => {
    const stored = other({ position: 2, label: "V-2", otherId: 1, state: "completed" });
    const retrieved = other({ otherId: 2, operation: "RETRIEVAL", state: "completed" });
    expect(decideDuplicate(ME, [retrieved, stored])).toMatchObject({
      text: expect.stringContaining("container V-2"),
    });
  });
});

test("of any number of open orders of one kind for a container exactly one goes on, in whatever order they are looked at", () => {
  const ids = fc.uniqueArray(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 8 });
  fc.assert(
    fc.property(ids, fc.constantFrom("STORE" as const, "RETRIEVAL" as const), (turns, operation) => {
      const parked = new Set<number>();
      const sent = new Set<number>();
      for (const id of turns) {
        const others = turns
          .filter((each) => each !== id)
          .map((otherId) =>
            other({
              otherId,
              operation,
              state: sent.has(otherId) ? "submitted" : parked.has(otherId) ? "parked" : "received",
              isAtService: sent.has(otherId),
            }),
          );
        const visible = others.filter(
          ({ otherId }) => turns.indexOf(otherId) < turns.indexOf(id) || otherId > id,
        );
        const { kind } = decideDuplicate({ id, operation }, visible);
        (kind === "go" ? sent : parked).add(id);
      }
      expect(sent.size).toBe(1);
      expect(sent.has(turns[0] as number)).toBe(true);
    }),
  );
});
