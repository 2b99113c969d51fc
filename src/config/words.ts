import { z } from "zod";
import { childOf, knownKeys, schemasAt } from "./schema-at.ts";

/** One sentence about a broken rule; `key` when it is about a key of the section rather than about its value. */
interface Verdict {
  readonly key?: string | undefined;
  readonly message: string;
}

/** What {@link wordsFor} needs to know beside the issue. */
interface IssueContext {
  readonly schema: z.core.$ZodType;
  /** The whole value that was validated. */
  readonly root: unknown;
  /** The value at the issue's path. */
  readonly value: unknown;
  /** Whether the value may be repeated in a message: not when it came out of the environment. */
  readonly mayQuote: boolean;
}

const LONGEST_QUOTE = 60;
/** Longer lists are no help. */
const MOST_LISTED = 40;

/** A broken rule in words: what was expected, what is there, and the nearest known word. */
export function wordsFor(issue: Leaf, context: IssueContext): Verdict[] {
  const schemas = schemasAt(context.schema, issue.path, context.root);
  const mayQuote = context.mayQuote && !schemas.some((schema) => metaOf(schema)?.writeOnly === true);
  // A text where something else belongs may be a credential that lost its key.
  const given = kindOf(context.value, mayQuote && typeof context.value !== "string");
  const misplaced = misplacedJoin(issue, context.value);
  if (misplaced !== undefined) return [misplaced];
  if (issue.code === "unrecognized_keys") {
    const known = knownKeys(schemas);
    return issue.keys.map((key) => ({ key, message: unknownWords("key", key, known, "known here") }));
  }
  if (context.value === undefined && issue.code !== "custom") {
    return [{ message: missingWords(issue, schemas, context.root) }];
  }
  if (issue.message !== "") return [{ message: issue.message }];
  switch (issue.code) {
    case "invalid_value":
      return [{ message: choiceWords(issue.values.map(String), context.value, mayQuote) }];
    case "invalid_union": {
      const choices = optionsOf(issue);
      if (choices) return [{ message: choiceWords(choices, context.value, mayQuote) }];
      const hint = suggestion(context.value, fixedChoices(issue));
      return [
        { message: `expected ${expectation(schemas) ?? "another kind of value"}; got ${given}${hint}` },
      ];
    }
    case "invalid_type": {
      const quotes =
        issue.expected === "string" && typeof context.value === "number" ? "; put it in quotes" : "";
      return [{ message: `expected ${TYPE_WORDS[issue.expected] ?? issue.expected}, got ${given}${quotes}` }];
    }
    case "too_small":
    case "too_big":
      return [{ message: boundWords(issue, given) }];
    default:
      return [{ message: `expected ${expectation(schemas) ?? "another value"}; got ${given}` }];
  }
}

/** A `join` of a profile that stands where no value is formed of others: beside `from`, or in place of it. */
function misplacedJoin({ path, code }: Leaf, value: unknown): Verdict | undefined {
  if (path.includes("from") || typeof value !== "object" || value === null) return undefined;
  const isBelow = path.at(-1) === "join";
  const key = isBelow ? undefined : ["join", "with"].find((each) => Object.hasOwn(value, each));
  const isMistake = isBelow || code === "unrecognized_keys" || code === "invalid_union";
  if (!isMistake || (!isBelow && key === undefined)) return undefined;
  const message = path.includes("fields")
    ? `${key ?? "join"} is not for results.fields; write the values into the text, such as "{storage}/{cane}"`
    : `${key ?? "join"} is misplaced; put it below \`from\`, as in from: { join: [ONE, OTHER], with: " " }`;
  return { key, message };
}

/** `unknown profile "x"; did you mean "y"?`, or the known ones when none is near. */
export function unknownWords(what: string, word: string, known: readonly string[], listedAs: string): string {
  const near = nearest(word, known);
  if (near !== undefined) return `unknown ${what} "${word}"; did you mean "${near}"?`;
  if (known.length === 0) return `unknown ${what} "${word}"`;
  if (known.length > MOST_LISTED) {
    const wanted = word.toLowerCase();
    const byDistance = known
      .map((each) => ({ each, distance: editDistance(wanted, each.toLowerCase()) }))
      .sort((a, b) => a.distance - b.distance)
      .slice(0, 5);
    return `unknown ${what} "${word}"; nearest are ${byDistance.map(({ each }) => each).join(", ")}`;
  }
  return `unknown ${what} "${word}"; ${listedAs}: ${known.join(", ")}`;
}

/** A key that decides what its section is gets its choices, and the key that it may have been meant by. */
function missingWords(issue: Leaf, schemas: readonly z.core.$ZodType[], root: unknown): string {
  const choices = optionsOf(issue);
  if (!choices) return `missing; expected ${expectation(schemas) ?? "a value"}`;
  const section = issue.path.slice(0, -1).reduce<unknown>(childOf, root);
  const near = nearest(
    String(issue.path.at(-1)),
    typeof section === "object" ? Object.keys(section ?? {}) : [],
  );
  const slip = near === undefined ? "" : `; is "${near}" meant for it?`;
  return `missing; expected one of ${choices.join(", ")}${slip}`;
}

/** The words that the key of a section may have, of which each stands for another form of it. */
function optionsOf(issue: Leaf): string[] | undefined {
  return "options" in issue && Array.isArray(issue.options) ? issue.options.map(String) : undefined;
}

const TYPE_WORDS: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "a section of its own (keys indented below it)",
  record: "a section of its own (keys indented below it)",
  array: "a list",
};

function choiceWords(choices: readonly string[], value: unknown, mayQuote: boolean): string {
  const expected = choices.length === 1 ? `expected ${choices[0]}` : `expected one of ${choices.join(", ")}`;
  return `${expected}; got ${kindOf(value, mayQuote)}${suggestion(value, choices)}`;
}

function suggestion(value: unknown, choices: readonly string[]): string {
  const near = typeof value === "string" ? nearest(value, choices) : undefined;
  return near === undefined ? "" : `; did you mean "${near}"?`;
}

/** The fixed words among the forms of a value that is of none of these forms. */
function fixedChoices(issue: z.core.$ZodIssueInvalidUnion): string[] {
  return issue.errors
    .flat()
    .flatMap((each) => (each.code === "invalid_value" ? each.values.map(String) : []));
}

function boundWords(issue: z.core.$ZodIssueTooSmall | z.core.$ZodIssueTooBig, given: string): string {
  const isLow = issue.code === "too_small";
  const bound = Number(isLow ? issue.minimum : issue.maximum);
  if (issue.origin === "number" || issue.origin === "int") {
    const words = isLow ? (issue.inclusive ? `${bound} or more` : `more than ${bound}`) : `${bound} or less`;
    return `expected ${words}; got ${given}`;
  }
  if (issue.origin === "string") {
    return isLow && bound <= 1
      ? "must not be empty"
      : `expected ${isLow ? "at least" : "at most"} ${bound} characters`;
  }
  return `expected ${isLow ? "at least" : "at most"} ${bound} ${bound === 1 ? "entry" : "entries"}`;
}

/** What was found, for the end of a sentence. A text is repeated only where it can't be a secret. */
function kindOf(value: unknown, mayQuote: boolean): string {
  if (value === undefined || value === null) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a section";
  if (typeof value === "string") {
    if (value === "") return "an empty text";
    return mayQuote && value.length <= LONGEST_QUOTE ? `the text ${JSON.stringify(value)}` : "a text";
  }
  return mayQuote
    ? `the ${typeof value === "number" ? "number" : "word"} ${String(value)}`
    : `a ${typeof value}`;
}

/** The first sentence of the outermost description, to stand inside a sentence. */
function expectation(schemas: readonly z.core.$ZodType[]): string | undefined {
  const description = schemas.map((schema) => metaOf(schema)?.description).find((text) => text !== undefined);
  const sentence = description?.split(/[.;](?: |$)/)[0];
  return sentence?.replace(/^[A-Z](?=[a-z ])/, (letter) => letter.toLowerCase());
}

function metaOf(schema: z.core.$ZodType): z.core.GlobalMeta | undefined {
  return z.globalRegistry.get(schema);
}

/**
 * The candidate that was most likely meant by a misspelt word, or undefined when none is near enough to suggest.
 * Near enough is one edit for every three letters (`timout` -> `timeout`, `hl7drop` -> `hl7-drop`), whatever the case.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const wanted = word.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(wanted.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Insertions, deletions, replacements and swaps of neighbours that turn one word into the other. */
function editDistance(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row++) {
    const current = [row];
    for (let column = 1; column <= to.length; column++) {
      const isSame = from[row - 1] === to[column - 1];
      let cost = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isSame ? 0 : 1),
      );
      const isSwap =
        row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1];
      if (isSwap) cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return last[to.length] ?? 0;
}

/** One rule of the schema that a value breaks, with its full path; unions are resolved to the branch that was meant. */
export type Leaf = z.core.$ZodIssue & { readonly path: PropertyKey[] };

/** The broken rules in a validation's result, each on its own. */
export function leafIssues(issues: readonly z.core.$ZodIssue[], above: readonly PropertyKey[] = []): Leaf[] {
  return issues.flatMap((issue): Leaf[] => {
    const path = [...above, ...issue.path];
    if (issue.code === "invalid_union") {
      const branch = meantBranch(issue.errors);
      return branch === undefined ? [{ ...issue, path }] : leafIssues(branch, path);
    }
    if (issue.code === "invalid_key" || issue.code === "invalid_element")
      return leafIssues(issue.issues, path);
    return [{ ...issue, path }];
  });
}

/**
 * Of several forms that a value may take, the one its author had in mind: a form of the right kind at all (a section
 * for a section), with the fewest unknown keys, then with the fewest mistakes. Undefined when no form is of that kind.
 */
function meantBranch(
  branches: readonly (readonly z.core.$ZodIssue[])[],
): readonly z.core.$ZodIssue[] | undefined {
  const ofRightKind = branches.filter((issues) => !issues.some(isWrongKind));
  const ranked = ofRightKind.sort((a, b) => unknownKeyCount(a) - unknownKeyCount(b) || a.length - b.length);
  return ranked[0];
}

function isWrongKind(issue: z.core.$ZodIssue): boolean {
  if (issue.path.length > 0) return false;
  if (issue.code === "invalid_union") return meantBranch(issue.errors) === undefined;
  return issue.code === "invalid_type" || issue.code === "invalid_value";
}

function unknownKeyCount(issues: readonly z.core.$ZodIssue[]): number {
  return issues.reduce((sum, issue) => sum + (issue.code === "unrecognized_keys" ? issue.keys.length : 0), 0);
}
