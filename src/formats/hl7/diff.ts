import type { Hl7Message, Segment } from "./message.ts";
import { leavesOf } from "./tree.ts";

/** One difference between two messages. */
export type Difference =
  | { readonly kind: "removed" | "added"; readonly segment: Segment }
  /** A value that only one of the two has, or that they have differently; places are those of each message. */
  | {
      readonly kind: "changed";
      readonly place: string;
      readonly before: string | undefined;
      readonly after: string | undefined;
    };

/** Comparing costs the product of the two lengths; longer messages are compared segment by segment in their order. */
const MOST_COMPARISONS = 4_000_000;

/**
 * How two messages differ: segments that only one has, and values that differ in segments that belong together. Values
 * are compared decoded, so that other delimiters or escapes for the same text are no difference.
 */
export function diffMessages(before: Hl7Message, after: Hl7Message): Difference[] {
  return pairSegments(before.segments, after.segments).flatMap(([left, right]): Difference[] => {
    if (left === undefined) return right === undefined ? [] : [{ kind: "added", segment: right }];
    if (right === undefined) return [{ kind: "removed", segment: left }];
    return diffSegments(left, before, right, after);
  });
}

type Pair = readonly [Segment | undefined, Segment | undefined];

/** The pairing with the most segments of one name beside each other, equal ones counting more. */
function pairSegments(before: readonly Segment[], after: readonly Segment[]): Pair[] {
  if (before.length * after.length > MOST_COMPARISONS) {
    return Array.from({ length: Math.max(before.length, after.length) }).flatMap((_, n): Pair[] => {
      const [left, right] = [before[n], after[n]];
      const isPair = left !== undefined && right !== undefined && left.name === right.name;
      return isPair
        ? [[left, right]]
        : [
            [left, undefined],
            [undefined, right],
          ];
    });
  }
  const width = after.length + 1;
  const scores = new Int32Array((before.length + 1) * width);
  const at = (row: number, column: number) => scores[row * width + column] ?? 0;
  for (let row = before.length - 1; row >= 0; row -= 1) {
    for (let column = after.length - 1; column >= 0; column -= 1) {
      const together = likeness(before[row], after[column]) + at(row + 1, column + 1);
      scores[row * width + column] = Math.max(together, at(row + 1, column), at(row, column + 1));
    }
  }
  const pairs: Pair[] = [];
  let [row, column] = [0, 0];
  while (row < before.length || column < after.length) {
    const [left, right] = [before[row], after[column]];
    const alike = likeness(left, right);
    if (alike > 0 && at(row, column) === alike + at(row + 1, column + 1)) {
      pairs.push([left, right]);
      row += 1;
      column += 1;
    } else if (row < before.length && (column === after.length || at(row, column) === at(row + 1, column))) {
      pairs.push([left, undefined]);
      row += 1;
    } else {
      pairs.push([undefined, right]);
      column += 1;
    }
  }
  return pairs;
}

function likeness(left: Segment | undefined, right: Segment | undefined): number {
  if (!left || !right || left.name !== right.name) return 0;
  return left.raw === right.raw ? 3 : 2;
}

function diffSegments(left: Segment, before: Hl7Message, right: Segment, after: Hl7Message): Difference[] {
  const [old, now] = [
    new Map(leavesOf(left, before).map((leaf) => [keyOf(leaf.place), leaf])),
    new Map(leavesOf(right, after).map((leaf) => [keyOf(leaf.place), leaf])),
  ];
  const keys = [...new Set([...old.keys(), ...now.keys()])];
  return keys.flatMap((key): Difference[] => {
    const [a, b] = [old.get(key), now.get(key)];
    if (a?.value === b?.value) return [];
    return [{ kind: "changed", place: (b ?? a)?.place ?? key, before: a?.value, after: b?.value }];
  });
}

/** A place without the segment, which may stand at another position in the other message. */
function keyOf(place: string): string {
  const key = place.slice(place.indexOf("-"));
  // `PID-3` and `PID-3.1` name the same value where one of the messages has no deeper level.
  return key.replace(/(\.1)+$/, "");
}
