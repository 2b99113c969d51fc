import { type Document, visit, type YAMLError } from "yaml";

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
    "this does not belong here; is there a stray bracket, quote or comma, or is one missing before it?",
};

/** A YAML error or warning for a person: the offset to look at, and a sentence. */
export function explainYaml(
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
