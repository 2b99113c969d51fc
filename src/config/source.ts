import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  type Scalar,
  visit,
  type YAMLError,
} from "yaml";
import { type Environment, substitute } from "./environment.ts";
import { type ConfigProblem, type Path, type Position, problemAt } from "./problems.ts";

/** A YAML file as plain values, with the place that each came from. */
export interface Source {
  readonly file: string;
  /** Objects without a prototype, arrays, and scalars after substitution; undefined for an empty file. */
  readonly value: unknown;
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
  /** Whether the text was YAML; when not, `value` is undefined and only the syntax is worth reporting. */
  readonly isReadable: boolean;
  /** Where a value (or the key before it) begins; for a path that is not in the file, its nearest parent. */
  positionOf(path: Path, part: "key" | "value"): Position;
  /** The values that name something which the environment lacks, or can't be had. */
  readonly unfilled: readonly Path[];
  /** Whether the value at the path came, in whole or in part, out of the environment. */
  isFromEnvironment(path: Path): boolean;
}

/** Aliases can repeat their anchors; a file that grows beyond this many values is a mistake or an attack. */
const MAX_VALUES = 100_000;
/** What follows from the first mistakes is of no use, and each is looked for in the whole file. */
const MOST_EXPLAINED = 50;
const FILE_START: Position = { line: 1, column: 1 };

interface Place {
  readonly key?: number | undefined;
  readonly value: number;
}

/** Reads YAML text and replaces `${NAME}` in its values (never in keys or comments). Never throws for bad input. */
export function readSource(file: string, text: string, lookUp: Environment): Source {
  return new SourceReader(file, lookUp).read(text);
}

class SourceReader {
  readonly #file: string;
  readonly #lookUp: Environment;
  readonly #lines = new LineCounter();
  readonly #placeByPath = new Map<string, Place>();
  readonly #environmentPaths = new Set<string>();
  readonly #anchors = new Map<string, Node>();
  readonly #unfilled: Path[] = [];
  readonly #problems: ConfigProblem[] = [];
  readonly #warnings: ConfigProblem[] = [];
  #valueCount = 0;

  constructor(file: string, lookUp: Environment) {
    this.#file = file;
    this.#lookUp = lookUp;
  }

  read(text: string): Source {
    const document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false, uniqueKeys: true });
    for (const error of [...document.errors, ...document.warnings].slice(0, MOST_EXPLAINED)) {
      const { offset, message } = explainYaml(error, document);
      this.#problem(offset, [], message);
    }
    // After a duplicate key the rest still means what it says; after any other syntax error it may not.
    const isReadable = document.errors.every((error) => error.code === "DUPLICATE_KEY");
    const value = isReadable ? this.#valueOf(document.contents, [], undefined, []) : undefined;
    return {
      file: this.#file,
      value,
      isReadable,
      problems: this.#problems,
      warnings: this.#warnings,
      positionOf: (path, part) => this.#positionOf(path, part),
      unfilled: this.#unfilled,
      isFromEnvironment: (path) => this.#environmentPaths.has(pathKey(path)),
    };
  }

  #valueOf(node: Node | null, path: Path, keyOffset: number | undefined, within: readonly Node[]): unknown {
    const offset = node?.range?.[0] ?? keyOffset ?? 0;
    // An alias shows where it is used, since that is the line to look at.
    if (!this.#placeByPath.has(pathKey(path)))
      this.#placeByPath.set(pathKey(path), { key: keyOffset, value: offset });
    this.#valueCount += 1;
    if (this.#valueCount === MAX_VALUES) this.#problem(offset, path, "the file holds too many values");
    if (node === null || this.#valueCount >= MAX_VALUES) return undefined;
    if (isAlias(node)) {
      const target = this.#anchors.get(node.source);
      if (target === undefined || within.includes(target)) {
        this.#problem(offset, path, "this alias (*name) stands inside what it repeats");
        return undefined;
      }
      return this.#valueOf(target, path, keyOffset, within);
    }
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    if (isMap<Node, Node | null>(node)) return this.#mapOf(node.items, path, [...within, node]);
    if (isSeq<Node | null>(node)) {
      return node.items.map((item, index) =>
        this.#valueOf(item, [...path, index], undefined, [...within, node]),
      );
    }
    return isScalar(node) ? this.#scalarOf(node, path, offset) : undefined;
  }

  #mapOf(
    pairs: readonly { readonly key: Node; readonly value: Node | null }[],
    path: Path,
    within: readonly Node[],
  ): Record<string, unknown> {
    // No prototype: a facility may be called `constructor`.
    const map: Record<string, unknown> = Object.create(null);
    for (const { key, value } of pairs) {
      const offset = key.range?.[0] ?? 0;
      if (!isScalar(key)) {
        this.#problem(offset, path, "a key has to be a plain text");
        continue;
      }
      // The text as it stands, so that a facility 007 does not become 7.
      const name = typeof key.value === "string" ? key.value : (key.source ?? String(key.value));
      if (name === "__proto__") {
        this.#problem(offset, path, "__proto__ can't be used as a key");
        continue;
      }
      map[name] = this.#valueOf(value, [...path, name], offset, within);
    }
    return map;
  }

  #scalarOf(node: Scalar, path: Path, offset: number): unknown {
    if (typeof node.value !== "string") return node.value;
    const replaced = substitute(node.value, this.#lookUp);
    if (replaced.problems.length > 0) this.#unfilled.push(path);
    for (const { message, hint } of replaced.problems) this.#problem(offset, path, message, hint);
    for (const message of replaced.warnings) {
      this.#warnings.push(problemAt(this.#file, this.#position(offset), path, message));
    }
    if (replaced.isFromEnvironment || replaced.problems.length > 0) this.#environmentPaths.add(pathKey(path));
    return replaced.text;
  }

  #problem(offset: number, path: Path, message: string, hint?: string): void {
    this.#problems.push({ ...problemAt(this.#file, this.#position(offset), path, message), hint });
  }

  #positionOf(path: Path, part: "key" | "value"): Position {
    for (let length = path.length; length >= 0; length--) {
      const place = this.#placeByPath.get(pathKey(path.slice(0, length)));
      if (place === undefined) continue;
      // What is missing belongs to its section, and a section is best known by its key.
      const isKey = part === "key" || length < path.length;
      return this.#position(isKey ? (place.key ?? place.value) : place.value);
    }
    return FILE_START;
  }

  #position(offset: number): Position {
    const { line, col } = this.#lines.linePos(offset);
    return line === 0 ? FILE_START : { line, column: col };
  }
}

function pathKey(path: Path): string {
  return JSON.stringify(path);
}

type YamlCode = YAMLError["code"];

/**
 * What each error code of the YAML reader means for a person with an editor. The reader's own sentences speak of
 * tokens and flow collections, and quote the file, which may hold a secret.
 */
const WORDS: Readonly<Record<YamlCode, string>> = {
  ALIAS_PROPS: "an alias (*name) can't have a tag or an anchor of its own",
  BAD_ALIAS: "this alias (*name) has no anchor (&name) before it; a text that begins with * needs quotes",
  BAD_COLLECTION_TYPE: "this tag does not fit the kind of value it stands before",
  BAD_DIRECTIVE: "a line that begins with % is a YAML directive, and this one is not known",
  BAD_DQ_ESCAPE:
    "a backslash in \"double quotes\" begins an escape, and this one is not known; Windows paths belong in 'single quotes'",
  BAD_INDENT:
    "the indentation does not fit the lines above: keys of one section begin in the same column, and a { or [ needs its } or ]",
  BAD_PROP_ORDER: "an anchor or tag stands in the wrong place",
  BAD_SCALAR_START: "a text can't begin with this character unless it is in quotes",
  BLOCK_AS_IMPLICIT_KEY: 'a second ": " on one line; put the value in quotes, or begin a new line',
  BLOCK_IN_FLOW: "an indented list or section can't stand inside { } or [ ]",
  DUPLICATE_KEY: "this key stands twice in the same section; keep one of them",
  IMPOSSIBLE: "this is not YAML",
  KEY_OVER_1024_CHARS: "a key is longer than 1024 characters; is a quote or a colon missing?",
  MISSING_CHAR: 'a character is missing here: a closing quote or bracket, a comma, or the space after ":"',
  MULTILINE_IMPLICIT_KEY: 'a key has to be on one line; is a ":" missing after the key above?',
  MULTIPLE_ANCHORS: "a value can have only one anchor",
  MULTIPLE_DOCS: "a second document begins here (---); the configuration is one document",
  MULTIPLE_TAGS: "a value can have only one tag",
  NON_STRING_KEY: "a key has to be a plain text",
  RESOURCE_EXHAUSTION: "the file is nested too deeply",
  TAB_AS_INDENT: "a tab character indents this line; YAML wants spaces",
  TAG_RESOLVE_FAILED: "tags (!name) mean nothing here; a text that begins with ! needs quotes",
  UNEXPECTED_TOKEN:
    "this does not belong here; is there a stray bracket, quote or comma, or is one missing before it? A text that begins with { or [ needs quotes",
};

/** A YAML error or warning for a person: the offset to look at, and a sentence. */
function explainYaml(
  error: YAMLError,
  document: Document,
): { readonly offset: number; readonly message: string } {
  const quote = error.code === "MISSING_CHAR" ? unclosedQuote(document, error.pos[0]) : undefined;
  if (quote !== undefined) return { offset: quote, message: "the quote that begins here is not closed" };
  return { offset: error.pos[0], message: WORDS[error.code] ?? "this is not YAML" };
}

/** The reader notices an open quote where the text ends, often many lines below; the mistake is where it begins. */
function unclosedQuote(document: Document, end: number): number | undefined {
  let start: number | undefined;
  visit(document, {
    Scalar(_key, { type, range }) {
      if (range?.[1] === end && (type === "QUOTE_DOUBLE" || type === "QUOTE_SINGLE")) start = range[0];
    },
  });
  return start;
}
