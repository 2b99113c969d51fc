import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { byLabel, type ShownContainer, whichContainers } from "../../src/jobs/which-container.ts";

const wanted = [
  { position: 1, label: "V-1" },
  { position: 2, label: "V-2" },
];
const shown = (id: number, ...labels: string[]): ShownContainer => ({ id, labels });

/** By position: the id of the one that it is, or what speaks against each. */
function which(...[containers, seen, among]: Parameters<typeof whichContainers<ShownContainer>>) {
  return [...whichContainers(containers, seen, among).values()].map((each) =>
    each.kind === "one" ? each.shown.id : each.kind,
  );
}

describe("which of the containers that the service shows one of an order is", () => {
  it.each<[string, Parameters<typeof which>, unknown[]]>([
    ["by its label", [wanted, [shown(8, "V-2"), shown(7, "V-1")]], [7, 8]],
    ["by one of several labels", [wanted, [shown(7, "x", "V-1")]], [7, "none"]],
    ["not by an id alone", [wanted, [shown(7)]], ["none", "none"]],
    ["by the id that stood with its label", [[{ ...wanted[0], containerId: 7 } as never], [shown(7)]], [7]],
    [
      "by the id that stood with its label, whatever others are shown",
      [[{ ...wanted[0], containerId: 7 } as never], [shown(8, "V-9"), shown(9), shown(7)]],
      [7],
    ],
    [
      "not by that id where it stands there twice",
      [[{ ...wanted[0], containerId: 7 } as never], [shown(7), shown(7)]],
      ["shared"],
    ],
    ["not by what shows neither id nor label", [wanted, [{ labels: [] }]], ["none", "none"]],
    [
      "by its label where no ids are shown",
      [wanted, [{ labels: ["V-2"] }, { labels: ["V-1"] }]],
      [undefined, undefined],
    ],
    [
      "by its label where the subject of some is not shown",
      [wanted, [{ ...shown(7, "V-1"), subjectId: 1 }, shown(8, "V-2")]],
      [7, 8],
    ],
    [
      "not where that id has another label",
      [[{ ...wanted[0], containerId: 7 } as never], [shown(7, "V-9"), shown(8, "V-1")]],
      ["contradicted"],
    ],
    ["not where several have its label", [wanted, [shown(7, "V-1"), shown(8, "V-1")]], ["several", "none"]],
    ["not where one has two labels of the order", [wanted, [shown(7, "V-1", "V-2")]], ["shared", "shared"]],
    [
      "not where its id stands with another label, too",
      [wanted, [shown(7, "V-1"), shown(7, "V-9")]],
      ["shared", "none"],
    ],
    [
      "not by one that the procedure doesn't name",
      [wanted, [shown(7, "V-1"), shown(8, "V-1")], { named: [8] }],
      [8, "none"],
    ],
    [
      "not by another subject's",
      [
        wanted,
        [
          { ...shown(7, "V-1"), subjectId: 2 },
          { ...shown(8, "V-1"), subjectId: 1 },
        ],
        { subjectId: 1 },
      ],
      [8, "none"],
    ],
    [
      "not among several subjects'",
      [
        wanted,
        [
          { ...shown(7, "V-1"), subjectId: 2 },
          { ...shown(8, "V-2"), subjectId: 1 },
        ],
      ],
      ["subjects", "subjects"],
    ],
  ])("is told %s", (_words, given, expected) => {
    expect(which(...given)).toEqual(expected);
  });

  it("is told by labels alone where the ids seen before don't count", () => {
    const [first] = byLabel([{ position: 1, label: "V-1", containerId: 7 }]);
    expect(first).toEqual({ position: 1, label: "V-1" });
  });

  const anyShown = fc.array(
    fc.record({
      id: fc.integer({ min: 1, max: 4 }),
      labels: fc.subarray(["V-1", "V-2", "V-3"]),
      subjectId: fc.constantFrom(undefined, 1, 2),
    }),
    { maxLength: 6 },
  );

  it("never is one of another subject, nor without its label, nor the same for two labels", () => {
    fc.assert(
      fc.property(anyShown, fc.constantFrom(undefined, 1), (all, subjectId) => {
        const found = whichContainers(wanted, all, { subjectId });
        const ids: number[] = [];
        for (const { position, label } of wanted) {
          const each = found.get(position);
          if (each?.kind !== "one") continue;
          expect(each.shown.labels).toContain(label);
          if (subjectId !== undefined) expect([undefined, subjectId]).toContain(each.shown.subjectId);
          const others = all.filter((other) => other !== each.shown && other.labels.includes(label));
          const own = others.filter((other) => subjectId === undefined || other.subjectId !== 2);
          expect(own).toEqual([]);
          ids.push(each.shown.id);
        }
        expect(new Set(ids).size).toBe(ids.length);
      }),
    );
  });

  it("doesn't depend on the sequence in which the service shows them", () => {
    fc.assert(
      fc.property(anyShown, (all) => {
        expect(which(wanted, all.toReversed())).toEqual(which(wanted, all));
      }),
    );
  });
});
