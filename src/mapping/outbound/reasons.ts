import {
  type FailureCode,
  isInPeoplesWords,
  isNumberTaken,
  type Problem,
  wordsForLab,
} from "../../core/failures.ts";
import type { ControlAnswer, Outcome, OutcomeOrder } from "../../core/outcome.ts";
import {
  columnsIn,
  inEnglish,
  type Place,
  type PlaceWord,
  placeText,
  segmentsNamedIn,
} from "../../core/place.ts";
import { CONTROL_FORMS } from "../profile/message-type.ts";
import type { Profile, ResultSettings } from "../profile/profile.ts";
import type { ControlDecision, ReasonWord } from "../profile/results-schema.ts";
import type { Original, OriginalGroup } from "./original.ts";

type Reasons = ResultSettings["reasons"];

/**
 * The profile by which an outcome is put into words: without the lab's own where these lack one of its reasons, so that nobody
 * reads two languages in one answer. The words of people have no code, and fit any.
 */
export function inOneLanguage<P extends Profile>(outcome: Outcome, profile: P): P {
  const { reasons } = profile.results;
  if (reasons === undefined) return profile;
  let isWhole = true;
  withReasons(outcome, (code, text, problem) => {
    const isNoReason = code === undefined || isInPeoplesWords(code) || problem?.unlisted !== undefined;
    isWhole &&= isNoReason || ownWords(reasons, code, problem && partsOf(problem, reasons)) !== undefined;
    return text;
  });
  return isWhole ? profile : { ...profile, results: { ...profile.results, reasons: undefined } };
}

/**
 * An outcome with its reasons in words for the lab: the profile's where it has some for their failure code. The codes stay, and
 * so do places and the words of people, which have no code.
 */
export function inLabWords<T extends Outcome>(outcome: T, { reasons }: Pick<ResultSettings, "reasons">): T {
  return withReasons(outcome, (code, text, problem) => {
    // Its code is that of another mistake, and a count has no language.
    if (reasons !== undefined && problem?.unlisted !== undefined) return `… +${problem.unlisted}`;
    return labWords(reasons, code, text, problem && partsOf(problem, reasons));
  });
}

/** An outcome with each reason that it gives in other words. */
function withReasons<T extends Outcome>(
  outcome: T,
  word: (code: FailureCode | undefined, text: string, problem?: Problem) => string,
): T {
  const ofOrder = (order: OutcomeOrder): OutcomeOrder => {
    const { reason, sharesNumber } = order;
    // It is said beside such an order by who writes that.
    if (sharesNumber === true) word("ORDER_NUMBER_REUSED", "");
    return reason === undefined
      ? order
      : { ...order, reason: { ...reason, text: word(reason.code, reason.text) } };
  };
  switch (outcome.kind) {
    case "acknowledged":
      return { ...outcome, orders: outcome.orders.map(ofOrder) };
    case "changed":
      return { ...outcome, order: ofOrder(outcome.order) };
    case "refused":
    case "waiting":
      return {
        ...outcome,
        problems: outcome.problems.map((problem) => ({
          ...problem,
          message: word(problem.code, problem.message, problem),
        })),
      };
    case "control":
      return {
        ...outcome,
        answers: outcome.answers.map(({ refusal, order, ...answer }) => ({
          ...answer,
          refusal: refusal && { ...refusal, text: word(refusal.code, refusal.text) },
          order: order && ofOrder(order),
        })),
      };
  }
}

/** A word or sentence around reasons, as the lab has it. */
export function labPhrase(reasons: Reasons, word: ReasonWord, shipped: string): string {
  return reasons?.[word] ?? shipped;
}

/** A place with its words as the lab has them. The name of a column stays, whatever words it holds. */
export function labPlace(place: Place, reasons: Reasons): string {
  return placeText(place, reasons && placeWordsOf(reasons));
}

function placeWordsOf(reasons: NonNullable<Reasons>): (word: PlaceWord) => string {
  return (word) => reasons[word] ?? inEnglish(word);
}

/** A problem in one sentence: its place, and what is wrong there. */
export function problemInWords(
  { place, message }: Pick<Problem, "place" | "message">,
  reasons: Reasons,
): string {
  return `${labPlace(place, reasons)}: ${message}`;
}

/** What the profile's words for a reason may have put in; empty where there is none. */
interface ReasonParts {
  readonly code: string;
  readonly column: string;
  readonly expected: string;
}

const NO_PARTS: ReasonParts = { code: "", column: "", expected: "" };

/** The columns that a problem is about, any of which would do, and what was expected there. */
function partsOf(
  { place, unknownCode = "", columns = [], expected = [] }: Problem,
  reasons: Reasons,
): ReasonParts {
  const word = placeWordsOf(reasons ?? {});
  const either = (choices: readonly string[]) =>
    [choices.slice(0, -1).join(", "), ...choices.slice(-1)].filter(Boolean).join(` ${word("or")} `);
  return {
    code: unknownCode,
    column: columnsIn(place, word) || either(columns.map((column) => `"${column}"`)),
    expected: either(expected),
  };
}

/** A reason in words for the lab: the profile's where it has some for its code. */
export function labWords(
  reasons: Reasons,
  code: FailureCode | undefined,
  text: string,
  parts?: ReasonParts,
): string {
  return ownWords(reasons, code, parts) ?? wordsForLab(code, text);
}

/** A clause in brackets, or a part that is put in. */
const PUT_IN = /\[([^[\]]*)\]|\{(?:code|column|expected)\}/g;
const PART = /\{(code|column|expected)\}/g;

/**
 * The profile's words for a reason. A clause in brackets is left out where there is nothing to put in; without brackets the profile has
 * no words for that reason then, since half a sentence says nothing.
 */
function ownWords(
  reasons: Reasons,
  code: FailureCode | undefined,
  parts: ReasonParts = NO_PARTS,
): string | undefined {
  const words = code === undefined ? undefined : reasons?.[code];
  let isWhole = true;
  const lacksOf = (text: string) =>
    [...text.matchAll(PART)].some(([, part]) => parts[part as keyof ReasonParts] === "");
  const filled = (text: string) => text.replace(PART, (_, part: keyof ReasonParts) => parts[part]);
  const written = words?.replace(PUT_IN, (text: string, clause: string | undefined) => {
    if (clause === undefined) {
      isWhole &&= !lacksOf(text);
      return filled(text);
    }
    if (filled(clause) === clause && !lacksOf(clause)) return text;
    return lacksOf(clause) ? "" : filled(clause);
  });
  return isWhole ? written : undefined;
}

/** What is wrong with one order of a message; nothing where only another order of it has a mistake. */
type ReasonsOf = (group: OriginalGroup) => readonly Problem[];

/**
 * Whose mistake each problem of a refused or waiting message is: that of the orders with the number or segment that it names, or
 * of all where it names none of theirs. Groups with one number are one order.
 */
export function reasonsByOrder(problems: readonly Problem[], original: Original): ReasonsOf {
  const { groups } = original;
  if (groups.length <= 1 || problems.length === 0) return () => problems;
  const groupsByNumber = new Map<string, OriginalGroup[]>();
  for (const group of groups) {
    for (const number of group.numbers) {
      const others = groupsByNumber.get(number);
      if (others === undefined) groupsByNumber.set(number, [group]);
      else others.push(group);
    }
  }
  const numbered = (numbers: readonly string[]) =>
    numbers.flatMap((number) => groupsByNumber.get(number) ?? []);
  const reasons = new Map<OriginalGroup, Problem[]>(groups.map((group) => [group, []]));
  for (const problem of problems) {
    const { place, orderNumbers = [] } = problem;
    const own = [
      numbered(orderNumbers),
      ...segmentsNamedIn(place).map((names) => names.flatMap((name) => original.ownersOf(name))),
    ].find((owners) => owners.length > 0);
    const all = own?.flatMap((group) => [group, ...numbered(group.numbers)]);
    for (const group of new Set(all ?? groups)) reasons.get(group)?.push(problem);
  }
  return (group) => reasons.get(group) ?? [];
}

/**
 * Which groups of a refused or waiting message bring an order whose number another one has: all, where a problem names no number
 * of theirs.
 */
export function takenGroups(
  problems: readonly Problem[],
  groups: readonly OriginalGroup[],
): ReadonlySet<OriginalGroup> {
  const taken = problems.filter((problem) => isNumberTaken([problem]));
  const owners = taken.map(({ orderNumbers = [] }) =>
    groups.filter(({ numbers }) => numbers.some((number) => orderNumbers.includes(number))),
  );
  return new Set(owners.some(({ length }) => length === 0) ? groups : owners.flat());
}

/** What was decided of a request, in one word; undefined of a question for the state that has an answer. */
export function decisionOf({ control, refusal }: ControlAnswer): ControlDecision | undefined {
  const [granted, refused] = CONTROL_FORMS[control].decided;
  return refusal === undefined ? granted : refused;
}

/**
 * What became of a request, in one word: the column `status` of CSV results, and `{state}` in fields of HL7. A question for the
 * state gets that of the order.
 */
export function controlEnd(answer: ControlAnswer): string {
  const { order } = answer;
  return decisionOf(answer) ?? (order?.isHeld === true ? "held" : (order?.state ?? ""));
}
