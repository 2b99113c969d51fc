import { expect, test } from "vitest";
import { identify } from "../../src/jobs/submit/create.ts";

const ours = ["V-1", "V-2"].map((label, n) => ({ position: n + 1, label, description: "" }));

test("a STORE answer gives ids to the labels that it shows, in whatever sequence", () => {
  const theirs = [
    { id: 8, label: "V-2" },
    { id: 7, label: "V-1" },
  ];
  expect(identify(ours, theirs)).toEqual([
    { position: 1, containerId: 7 },
    { position: 2, containerId: 8 },
  ]);
});

test.each([
  ["one container with another label", [{ id: 7, label: "V-9" }]],
  ["one container without a label", [{ id: 7 }]],
  [
    "a label twice",
    [
      { id: 7, label: "V-1" },
      { id: 8, label: "V-1" },
    ],
  ],
  [
    "one id with two labels",
    [
      { id: 7, label: "V-1" },
      { id: 7, label: "V-2" },
    ],
  ],
  [
    "one id with a label of the order and another one",
    [
      { id: 7, label: "V-1" },
      { id: 7, label: "V-9" },
    ],
  ],
])("a STORE answer gives no id when it shows %s", (_what, theirs) => {
  expect(identify(ours, theirs)).toEqual([]);
});
