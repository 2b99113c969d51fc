/** Longest value that a regex transform looks at. */
export const REGEX_MAX_VALUE_LENGTH = 100;

/**
 * Longest value that a regex transform may make: the longest that any value of an order may have. A replacement that repeats
 * what was found could otherwise grow from step to step.
 */
export const REGEX_MAX_RESULT_LENGTH = 2_000;

/**
 * Upper bound of the steps that a backtracking engine may need: some two milliseconds. A message may have hundreds of labels
 * that each go through a pattern, and nothing else is done meanwhile.
 */
const MAX_STEPS = 200_000;

/** Bounded quantifiers and alternatives do not share the value's length, so all their combinations are really tried. */
const BRANCH_WEIGHT = 1.2;

/**
 * Compiles a site's pattern, or says in words why it is refused.
 *
 * JavaScript's engine backtracks, so a careless pattern can run for years on thirty characters and would stop the
 * daemon. Three rules keep each match short. Values longer than {@link REGEX_MAX_VALUE_LENGTH} are not matched. Look-around,
 * backreferences, and a quantifier on a group that itself holds a quantifier or an alternative, the source of
 * exponential time, are refused. What remains is a product: one factor for the choices of each quantifier and
 * each alternative (n quantifiers share the value's length, hence the division by n!); a pattern whose product
 * passes 200,000 steps is refused. `^[^,]*, *(.*)$` and `^([A-Z]{1,4})-?0*(\d{1,8})$` pass; `^(a+)+$` and four `\d*` do
 * not.
 */
export function compileBoundedRegex(source: string): RegExp | string {
  let pattern: RegExp;
  try {
    pattern = new RegExp(source, "u");
  } catch {
    return `regex ${source}: not a valid regular expression`;
  }
  const isAnchored = source.startsWith("^") && !hasOuterAlternative(source);
  const cost = countSteps(source, isAnchored ? 1 : REGEX_MAX_VALUE_LENGTH);
  if (typeof cost === "string") return `regex ${source}: ${cost}`;
  if (cost > MAX_STEPS) {
    return `regex ${source}: its quantifiers and alternatives leave too many combinations open, ${Math.round(cost)} of at most ${MAX_STEPS}; use fewer of them, or narrower bounds, as in \\d{1,3} instead of \\d+${isAnchored ? "" : ", and begin with ^"}`;
  }
  return pattern;
}

interface OpenGroup {
  hasChoice: boolean;
}

/** Whether an alternative stands outside all groups, which what stands before it does not hold for. */
function hasOuterAlternative(source: string): boolean {
  let depth = 0;
  for (let at = 0; at < source.length; ) {
    const [token, kind] = nextToken(source, at);
    at += token.length;
    if (kind === "open") depth += 1;
    if (kind === "close") depth -= 1;
    if (kind === "alternative" && depth === 0) return true;
  }
  return false;
}

/**
 * The bound on steps, or words for a construct that is refused. Works on source that is known to be a valid `u` pattern.
 *
 * @param starts at how many places of a value the pattern may begin
 */
function countSteps(source: string, starts: number): number | string {
  const groups: OpenGroup[] = [{ hasChoice: false }];
  let closed: OpenGroup | undefined;
  let steps = starts;
  let unbounded = 0;
  for (let at = 0; at < source.length; ) {
    const [token, kind] = nextToken(source, at);
    at += token.length;
    const group = groups.at(-1) ?? { hasChoice: false };
    if (kind === "refused") return `${token} is not supported (no look-around, no backreferences)`;
    if (kind === "open") groups.push({ hasChoice: false });
    if (kind === "alternative") {
      group.hasChoice = true;
      steps *= 2 * BRANCH_WEIGHT;
    }
    if (kind === "quantifier") {
      const choices = choicesOf(token);
      if (closed?.hasChoice) return "a quantifier on a group that holds a quantifier or an alternative";
      if (closed !== undefined && choices.times > 1) steps *= choices.times;
      if (choices.count > 1) group.hasChoice = true;
      if (choices.count >= REGEX_MAX_VALUE_LENGTH) steps *= choices.count / ++unbounded;
      else if (choices.count > 1) steps *= choices.count * BRANCH_WEIGHT;
    }
    closed = kind === "close" ? groups.pop() : undefined;
    const outer = groups.at(-1);
    if (closed?.hasChoice && outer !== undefined) outer.hasChoice = true;
  }
  return steps;
}

type TokenKind = "open" | "close" | "alternative" | "quantifier" | "refused" | "atom";

const TOKEN_FORMS: readonly (readonly [TokenKind, RegExp])[] = [
  ["refused", /\(\?<?[=!]|\\[1-9k]/y],
  ["open", /\((?:\?:|\?<[^>]+>|\?[a-z-]+:)?/y],
  ["close", /\)/y],
  ["alternative", /\|/y],
  ["quantifier", /(?:[*+?]|\{\d+(?:,\d*)?\})\??/y],
  ["atom", /\[(?:\\.|[^\]\\])*\]|\\.|./suy],
];

function nextToken(source: string, at: number): readonly [string, TokenKind] {
  for (const [kind, form] of TOKEN_FORMS) {
    form.lastIndex = at;
    const match = form.exec(source);
    if (match !== null) return [match[0], kind];
  }
  return [source.charAt(at), "atom"];
}

/** How many ways a quantifier leaves open, and how often at most it repeats. */
function choicesOf(quantifier: string): { readonly count: number; readonly times: number } {
  const bounds = /^\{(\d+)(,(\d*))?\}/.exec(quantifier);
  const limit = REGEX_MAX_VALUE_LENGTH;
  if (bounds === null)
    return quantifier.startsWith("?") ? { count: 2, times: 1 } : { count: limit, times: limit };
  const least = Number(bounds[1]);
  const most = bounds[2] === undefined ? least : bounds[3] === "" ? limit : Number(bounds[3]);
  return { count: Math.min(Math.max(most, least) - least + 1, limit), times: Math.min(most, limit) };
}
