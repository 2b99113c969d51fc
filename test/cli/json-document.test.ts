import { describe, expect, it } from "vitest";
import { JsonDocument } from "../../src/cli/output/list.ts";

/** The text of a document with these entries and further keys. */
function textOf(entries: readonly unknown[], rest?: Record<string, unknown>): string {
  let text = "";
  const stdout = {
    write: (more: string) => {
      text += more;
    },
  };
  const document = new JsonDocument({ io: { stdout, stderr: stdout, env: {}, isTTY: false } }, "list");
  for (const entry of entries) document.add(entry);
  document.end(rest);
  return text;
}

describe("a document that is written while it grows", () => {
  it.each([
    [[], undefined],
    [[], { count: 0 }],
    [[1, "a"], undefined],
    [[{ a: [1] }], { count: 1, more: { b: null } }],
  ])("is JSON with %j in its list and %j beside it", (entries, rest) => {
    expect(JSON.parse(textOf(entries, rest))).toEqual({ list: entries, ...rest });
  });
});
