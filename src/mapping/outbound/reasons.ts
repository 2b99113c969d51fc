import {
  type FailureCode,
  isInPeoplesWords,
  isNumberTaken,
  type Problem,
  wordsForLab,
} from "../../core/failures.ts";
import { asItIs, inSequence, type LabText } from "../../core/lab-text.ts";
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

/** Why something is not done: a problem, or what is said of an order or a request. */
type Reason = Problem | { readonly code: FailureCode; readonly text: string };

/**
 * The profile by which an outcome is put into words: without the lab's own where these lack one of its reasons, so that nobody
 * reads two languages in one answer. The words of people fit any.
 */
export function inOneLanguage<P extends Profile>(outcome: Outcome, profile: P): P {
  const { reasons } = profile.results;
  if (reasons === undefined) return profile;
  const isWorded = (reason: Reason) =>
    isInPeoplesWords(reason.code) ||
    ("unlisted" in reason && reason.unlisted !== undefined) ||
    ownWords(reason, reasons) !== undefined;
  return reasonsIn(outcome).every(isWorded)
    ? profile
    : { ...profile, results: { ...profile.results, reasons: undefined } };
}

function reasonsIn(outcome: Outcome): readonly Reason[] {
  const ofOrder = ({ reason, sharesNumber }: OutcomeOrder): Reason[] => [
    // It is said beside such an order by who writes that.
    ...(sharesNumber === true ? [{ code: "ORDER_NUMBER_REUSED", text: "" } as const] : []),
    ...(reason === undefined ? [] : [reason]),
  ];
  switch (outcome.kind) {
    case "acknowledged":
      return outcome.orders.flatMap(ofOrder);
    case "changed":
      return ofOrder(outcome.order);
    case "refused":
    case "waiting":
      return outcome.problems;
    case "control":
      return outcome.answers.flatMap(({ refusal, order }) => [
        ...(refusal === undefined ? [] : [refusal]),
        ...(order === undefined ? [] : ofOrder(order)),
      ]);
  }
}

/** Words and sentences around reasons, and of containers, as we write them; those of places are their names. */
const ENGLISH: Readonly<Record<Exclude<ReasonWord, PlaceWord>, string>> = {
  request: "request",
  procedure: "procedure",
  onHold: "On hold, nothing was done yet",
  otherOrder: "another order of the message was refused",
  otherWaits: "another order of the message waits",
  repeated: "This message was received before; nothing was started again.",
  recorded: "What is wanted of earlier orders is recorded",
  answerFollows: "the answer follows",
  fileRefused: "the file {file} was refused, and nothing of it was taken",
  cancelled: "The order is cancelled",
  held: "The order is put on hold",
  released: "The order is released",
  changed: "The order is changed",
  replaced: "The order is replaced",
  cancel_refused: "The order is not cancelled",
  hold_refused: "The order is not put on hold",
  release_refused: "The order is not released",
  change_refused: "The order is not changed",
  replace_refused: "The order is not replaced",
  status_refused: "The order is not reported",
  takenOut: "taken out of storage",
  noPlace: "the service calls the storage completed and shows no place",
  stored: "stored",
  canister: "canister",
  cane: "cane",
  since: "since",
};

/** A word or sentence around reasons, as the lab has it, else in English. */
export function labPhrase(reasons: Reasons, word: ReasonWord): LabText {
  return asItIs(
    reasons?.[word] ??
      (word in ENGLISH ? ENGLISH[word as keyof typeof ENGLISH] : inEnglish(word as PlaceWord)),
  );
}

/** The same where a reason in the lab's words follows, beside which English would be another language: nothing where its table lacks the word. */
export function ownPhrase(reasons: Reasons, word: ReasonWord): LabText | undefined {
  return reasons === undefined || reasons[word] !== undefined ? labPhrase(reasons, word) : undefined;
}

/** A place with its words as the lab has them. The name of a column stays, whatever words it holds. */
export function labPlace(place: Place, reasons: Reasons): LabText {
  return asItIs(placeText(place, (word) => labPhrase(reasons, word)));
}

/** A reason in words for the lab: the profile's where it has some for its code. */
export function reasonInWords(reason: Reason, reasons: Reasons): LabText {
  // Its code is that of another mistake, and a count has no language.
  if (reasons !== undefined && "unlisted" in reason && reason.unlisted !== undefined)
    return asItIs(`… +${reason.unlisted}`);
  const text = "text" in reason ? reason.text : reason.message;
  return asItIs(ownWords(reason, reasons) ?? wordsForLab(reason.code, text));
}

/** What is said of an order or a request, with its code. */
export function worded(reason: OutcomeOrder["reason"], reasons: Reasons) {
  return reason && { code: reason.code, text: reasonInWords(reason, reasons) };
}

/** A problem in one sentence: its place, and what is wrong there. */
export function problemInWords(problem: Problem, reasons: Reasons): LabText {
  return inSequence([labPlace(problem.place, reasons), reasonInWords(problem, reasons)], ": ");
}

/** What the profile's words for a reason may have put in; empty where there is none. */
interface ReasonParts {
  readonly code: string;
  readonly column: string;
  readonly expected: string;
}

const NO_PARTS: ReasonParts = { code: "", column: "", expected: "" };

/** The columns that a problem is about, any of which would do, and what was expected there. */
function partsOf(reason: Reason, reasons: Reasons): ReasonParts {
  if (!("place" in reason)) return NO_PARTS;
  const { place, unknownCode = "", columns = [], expected = [] } = reason;
  const word = (each: PlaceWord) => labPhrase(reasons, each);
  const either = (choices: readonly string[]) =>
    [choices.slice(0, -1).join(", "), ...choices.slice(-1)].filter(Boolean).join(` ${word("or")} `);
  return {
    code: unknownCode,
    column: columnsIn(place, word) || either(columns.map((column) => `"${column}"`)),
    expected: either(expected),
  };
}

/** A clause in brackets, or a part that is put in. */
const PUT_IN = /\[([^[\]]*)\]|\{(?:code|column|expected)\}/g;
const PART = /\{(code|column|expected)\}/g;

/**
 * The profile's words for a reason. A clause in brackets is left out where there is nothing to put in; without brackets the profile has
 * no words for that reason then, since half a sentence says nothing.
 */
function ownWords(reason: Reason, reasons: Reasons): string | undefined {
  const words = reasons?.[reason.code];
  const parts = partsOf(reason, reasons);
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
