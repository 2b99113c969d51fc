import { readdirSync, readFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";

/** The checkout. */
export const ROOT = resolve(import.meta.dirname, "../..");

/** A document. */
export interface Document {
  /** From the checkout's folder, such as `docs/errors.md`. */
  readonly path: string;
  readonly text: string;
}

/** A fenced block. */
export interface Block {
  /** The word behind the fence; empty for none. */
  readonly language: string;
  readonly text: string;
  /** Line of the document on which the fence opens, 1-based. */
  readonly line: number;
}

const AT_THE_TOP = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"];
const FOLDERS = ["docs", "config/samples"];

/** Every document that people read. */
export function listDocuments(): Document[] {
  const inFolders = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".md"))
      .map((name) => `${folder}/${name.replaceAll("\\", "/")}`),
  );
  return [...AT_THE_TOP, ...inFolders.sort()].map(readDocument);
}

/** One document by its path in the checkout. */
export function readDocument(path: string): Document {
  return { path: relative(ROOT, join(ROOT, path)), text: readFileSync(join(ROOT, path), "utf8") };
}

/** The fenced blocks of a document, in order. */
export function listBlocks({ text }: Document): Block[] {
  const blocks: Block[] = [];
  let open: { language: string; line: number; lines: string[] } | undefined;
  for (const [index, line] of text.split("\n").entries()) {
    const fence = /^```(\w*)\s*$/.exec(line);
    if (!fence) open?.lines.push(line);
    else if (open) {
      blocks.push({ language: open.language, line: open.line, text: `${open.lines.join("\n")}\n` });
      open = undefined;
    } else open = { language: fence[1] ?? "", line: index + 1, lines: [] };
  }
  return blocks;
}

/** The lines below a heading, up to the next heading of the same or a higher level. */
export function sectionOf({ path, text }: Document, heading: string): string[] {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, "") === heading);
  if (start < 0) throw new Error(`${path} has no heading "${heading}"`);
  const level = /^#+/.exec(lines[start] ?? "")?.[0].length ?? 0;
  const rest = lines.slice(start + 1);
  const end = rest.findIndex((line) => (/^#+(?= )/.exec(line)?.[0].length ?? 99) <= level);
  return end < 0 ? rest : rest.slice(0, end);
}

/** The cells of the first table among some lines, without its heading; code marks removed. */
export function firstTable(lines: readonly string[]): string[][] {
  const start = lines.findIndex((line) => line.startsWith("|"));
  const rows: string[][] = [];
  for (const line of lines.slice(start < 0 ? lines.length : start)) {
    if (!line.startsWith("|")) break;
    rows.push(
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.replaceAll("`", "").trim()),
    );
  }
  return rows.slice(2);
}

/** What a heading is linked by, as GitHub makes it. */
export function anchorOf(heading: string): string {
  return heading
    .replace(/^#+ /, "")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, "")
    .replace(/\s/g, "-");
}
