import { Document, isMap, isScalar, isSeq, type Pair, visit } from "yaml";
import type { ProfileDefinition } from "../../mapping/profile/schema.ts";

/**
 * A profile as a file for people: what it is for at the head, and a comment beside each setting.
 *
 * @param comments by the path of the setting, such as `subject.code`
 */
export function profileText(
  definition: ProfileDefinition,
  {
    head,
    comments,
    tail = [],
  }: {
    readonly head: readonly string[];
    readonly comments: ReadonlyMap<string, string>;
    /** What may be set besides, as comments at the end. */
    readonly tail?: readonly string[] | undefined;
  },
): string {
  const ordered = Object.entries(definition).sort(([one], [other]) => placeOf(one) - placeOf(other));
  const document = new Document(Object.fromEntries(ordered));
  visit(document, {
    Seq: (_, list) => {
      list.flow = true;
    },
    Pair: (_, pair, path) => {
      const parents = path.flatMap((node) => keyOf(node as Pair) ?? []);
      const comment = comments.get([...parents, String(pair.key)].join("."));
      if (comment === undefined) return;
      // Beside a value that stands on the same line; above what goes on below.
      if (isScalar(pair.value)) pair.value.comment = ` ${comment}`;
      else if ((isMap(pair.value) || isSeq(pair.value)) && isScalar(pair.key))
        pair.key.commentBefore = ` ${comment}`;
    },
  });
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: false });
  const commented = (lines: readonly string[]) => lines.map((line) => `${`# ${line}`.trimEnd()}\n`).join("");
  return `${commented(head)}${text}${commented(tail)}`;
}

/** How the messages are read, then what an order is of. */
const LAST = ["placerOrderNumber", "orders", "operation", "facility", "subject", "containers", "results"];

function placeOf(key: string): number {
  return LAST.indexOf(key);
}

function keyOf(node: Pair): string | undefined {
  return typeof node === "object" && node !== null && "key" in node ? String(node.key) : undefined;
}
