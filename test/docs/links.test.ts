import { existsSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { expect, test } from "vitest";
import { anchorOf, listDocuments, ROOT, readDocument } from "./markdown.ts";

interface Link {
  readonly from: string;
  readonly target: string;
}

const links = listDocuments().flatMap(({ path, text }): Link[] =>
  [...text.replace(/^```.*?^```/gms, "").matchAll(/\]\(([^)\s]+)\)/g)].map((match) => ({
    from: path,
    target: match[1] ?? "",
  })),
);

/** Why a link leads nowhere; undefined when it leads somewhere, or out of the checkout. */
function faultOf({ from, target }: Link): string | undefined {
  if (/^[a-z]+:/.test(target)) return undefined;
  const [file = "", anchor] = target.split("#", 2);
  const path = file === "" ? from : normalize(join(dirname(from), file)).replaceAll("\\", "/");
  if (!existsSync(join(ROOT, path))) return `${from}: ${target} is not there`;
  if (anchor === undefined) return undefined;
  const anchors = readDocument(path)
    .text.split("\n")
    .filter((line) => /^#+ /.test(line))
    .map(anchorOf);
  return anchors.includes(anchor) ? undefined : `${from}: ${target} names no heading`;
}

test("the documents refer to each other", () => {
  expect(links.length).toBeGreaterThan(20);
});

test("every link between documents leads somewhere", () => {
  expect(links.flatMap((link) => faultOf(link) ?? [])).toEqual([]);
});
