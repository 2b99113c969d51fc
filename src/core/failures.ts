import { COMMAND_FAILURES } from "./failures/commands.ts";
import { INTAKE_FAILURES } from "./failures/intake.ts";
import { LEDGER_FAILURES } from "./failures/ledger.ts";
import { MAPPING_FAILURES } from "./failures/mapping.ts";
import { ORDER_FAILURES } from "./failures/orders.ts";
import { SERVICE_FAILURES } from "./failures/service.ts";
import { withCommandsOf } from "./hint.ts";
import type { Phi } from "./phi.ts";
import { type Place, placeText } from "./place.ts";
import type { Surface } from "./surface.ts";

/**
 * How a failure is treated.
 * - `transient`: nothing happened there; trying again is safe.
 * - `permanent`: it will be refused every time; a person must change something.
 * - `ambiguous`: it may have happened; the service is asked before anything is sent again.
 */
type FailureClass = "transient" | "permanent" | "ambiguous";

/**
 * Whose answers and results can give a failure as the reason, by its code: those of every lab, or of labs with one format. `people`: every
 * lab's, in words that somebody of the site wrote. `nobody`: it stays on this side, or a report alone names it.
 */
type Reach = "any" | "csv" | "hl7" | "people" | "nobody";

/** What the registry says of a failure. */
interface FailureEntry {
  readonly class: FailureClass;
  readonly reaches: Reach;
  /** What happened, for `docs/errors.md`: one or two short sentences. */
  readonly meaning: string;
  /** What the reader does about it. */
  readonly hint: string;
  /** What a lab reads of it, where the failure's own message is about calls or records that no lab knows. */
  readonly lab?: string;
}

/**
 * Every understood failure, by code `AREA_CONDITION`. A code is never renamed or reused.
 * `docs/errors.md` is generated from this table.
 */
export const FAILURES = {
  ...COMMAND_FAILURES,
  ...INTAKE_FAILURES,
  ...MAPPING_FAILURES,
  ...ORDER_FAILURES,
  ...SERVICE_FAILURES,
  ...LEDGER_FAILURES,
} as const satisfies Record<string, FailureEntry>;

export type FailureCode = keyof typeof FAILURES;

/** Failures that a lab can be given as a reason. */
export const LAB_FAILURES = (Object.keys(FAILURES) as FailureCode[]).filter(
  (code) => reachOf(code) !== "nobody",
);

/** Reasons that a lab with files or messages of this format can meet. What people write has no words of ours. */
export function listReasonsMet(format: "csv" | "hl7"): readonly FailureCode[] {
  return LAB_FAILURES.filter((code) => ["any", format].includes(reachOf(code)));
}

/** Whether the words of a reason are those of somebody of the site. */
export function isInPeoplesWords(code: FailureCode): boolean {
  return reachOf(code) === "people";
}

function reachOf(code: FailureCode): Reach {
  return FAILURES[code].reaches;
}

/**
 * Failures of an order whose number another order has. What refuses its message must not look like a status of that number,
 * so nothing of the order is echoed.
 */
const NUMBER_FAILURES: ReadonlySet<FailureCode> = new Set([
  "ORDER_NUMBER_REUSED",
  "ORDER_NUMBER_OTHER_AUTHORITY",
]);

/** Whether one of these problems is that another order has the number, or is of an order of which that is so. */
export function isNumberTaken(problems: readonly Pick<Problem, "code" | "sharesNumber">[]): boolean {
  return problems.some(({ code, sharesNumber }) => NUMBER_FAILURES.has(code) || sharesNumber === true);
}

/**
 * Of a service that works, and yet answers so again until somebody changes something there or in the settings: nothing passes
 * by itself, and no other call is affected.
 */
export const LASTING: ReadonlySet<string> = new Set([
  "SERVICE_ACCESS_REFUSED",
  "SERVICE_ANSWER_UNREADABLE",
  "SERVICE_ID_TOO_LARGE",
  "SERVICE_LIST_UNPAGED",
] satisfies FailureCode[]);

/** Requests at the service, or procedures of the external surface, by their ids there. */
export interface AtService {
  readonly surface: Surface;
  readonly ids: readonly number[];
}

interface FailureDetails {
  /** The place and the rule ("PID-3.1 is empty"), never a patient's value. */
  readonly message: string;
  /** Where in a message or file, for those who answer it. */
  readonly place?: Place | undefined;
  /** What was expected, as far as it is a value; see {@link Problem}. */
  readonly expected?: readonly string[] | undefined;
  /** How long the other side asked to be left alone, ms. */
  readonly retryAfterMs?: number | undefined;
  /** The call left, and an answer to it came back. */
  readonly isAnswered?: boolean | undefined;
  /** The service's answer, for an operator who asks for it. */
  readonly answer?: KeptAnswer | undefined;
  /** What a person does about this one, where that names more than the hint of its code. */
  readonly hint?: string | undefined;
  /** What the service has that may be the order's. */
  readonly atService?: AtService | undefined;
  readonly cause?: unknown;
}

/** The one error class. Its class comes from the registry, so nobody downstream reads a message or a status. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: FailureCode;
  readonly class: FailureClass;
  readonly retryAfterMs: number | undefined;
  /**
   * The call left and was answered, though perhaps by a gateway: also after an answer which says that nothing was done, a
   * call that changes the service is repeated only after a look at the service.
   */
  readonly isAnswered: boolean;
  /** Where in a message or file; undefined where that isn't known. */
  readonly place: Place | undefined;
  readonly expected: readonly string[] | undefined;
  /** What the service has that may be the order's, so that a person can link it by its id. */
  readonly atService: AtService | undefined;
  /** Private, so that no logger, inspector or serialiser that walks an error's properties comes across it. */
  readonly #answer: KeptAnswer | undefined;
  readonly #hint: string | undefined;

  constructor(code: FailureCode, details: FailureDetails | string) {
    const given = typeof details === "string" ? { message: details } : details;
    super(given.message, "cause" in given ? { cause: given.cause } : undefined);
    this.code = code;
    this.class = FAILURES[code].class;
    this.retryAfterMs = given.retryAfterMs;
    this.isAnswered = given.isAnswered === true;
    this.place = given.place;
    this.expected = given.expected;
    this.atService = given.atService;
    this.#answer = given.answer;
    this.#hint = given.hint;
  }

  /** What the service answered, where that is worth a person's look. */
  get answer(): KeptAnswer | undefined {
    return this.#answer;
  }

  /** What a person does about it. */
  get hint(): string {
    return this.#hint ?? FAILURES[this.code].hint;
  }

  /** The same where it is about this failure alone, and not about all of its code. */
  get ownHint(): string | undefined {
    return this.#hint;
  }
}

/** The error itself when it is a {@link Failure}, else the same wrapped as UNCLASSIFIED with its message left in `cause`. */
export function asFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const name = error instanceof Error ? error.name : typeof error;
  return new Failure("UNCLASSIFIED", { message: `unexpected ${name}`, cause: error });
}

/** One thing wrong with a piece of input, in words a lab person understands. */
export interface Problem {
  readonly code: FailureCode;
  readonly place: Place;
  /** What was expected and what was there, in English. Values that identify a patient are described, not quoted. */
  readonly message: string;
  /** What was expected, as far as it is a value: forms of a date, codes, the most or the number of something. */
  readonly expected?: readonly string[] | undefined;
  /** It stands for so many further mistakes, of whatever code, which nobody would read. */
  readonly unlisted?: number | undefined;
  /** The columns that it is about, where its place names none. */
  readonly columns?: readonly string[] | undefined;
  /** The facility or operation code that no table knows; messages that wait for it are listed by it. */
  readonly unknownCode?: string | undefined;
  /** The table that lacks the code: `facilities` of the configuration, or one of the profile, such as `operation.table`. */
  readonly table?: string | undefined;
  /** What to do about this one, where that names more than the hint of its code: the profile and the table to edit. */
  readonly hint?: string | undefined;
  /** The id of the message before it that it waits for. */
  readonly earlier?: string | undefined;
  /** The id of the message that has the code, where that is another one: its hint is about that. */
  readonly codeIn?: string | undefined;
  /** The order numbers that other orders have, where it says that they are taken. */
  readonly orderNumbers?: readonly string[] | undefined;
  /** The message holds the number of an earlier order: its answer must not look like a status of that. */
  readonly sharesNumber?: boolean | undefined;
}

/** What failed at a place, as a problem. */
export function problemOf({ code, message, expected, hint }: Failure, place: Place): Problem {
  return { code, place, message, ...(expected && { expected }), hint };
}

/** A problem as programs and people read it. */
export type ShownProblem = Omit<Problem, "place" | "hint"> & {
  /** In words, such as `message 2, PID-7` or `line 14, column date_of_birth`. */
  readonly place: string;
  readonly hint: string | null;
};

/** A problem with its place and what to do about it in words. */
export function shownProblem(problem: Problem): ShownProblem {
  return { ...problem, place: placeText(problem.place), hint: hintOf(problem) };
}

/** A problem in one sentence. */
export function problemSentence({ place, message }: Pick<Problem, "place" | "message">): string {
  const words = placeText(place);
  return words === "" ? message : `${words}: ${message}`;
}

/** What a lab reads of a failure whose message is this. */
export function wordsForLab(code: FailureCode, message: string): string {
  // The ledger may hold a code of a later release.
  const entry: FailureEntry | undefined = FAILURES[code];
  return entry?.lab ?? message;
}

/** What to do about a problem; null for a code of a later release, which the ledger may hold. */
export function hintOf(
  problem: { readonly code: string; readonly hint?: string | null | undefined } & Pick<
    Problem,
    "earlier" | "codeIn"
  >,
): string | null {
  if (problem.earlier !== undefined) return hintOfEarlier(problem);
  return problem.hint ?? FAILURES[problem.code as FailureCode]?.hint ?? null;
}

/** What to do about the code of the message that has it, and which message came before. */
function hintOfEarlier({
  hint,
  earlier,
  codeIn,
}: { readonly hint?: string | null | undefined } & Pick<Problem, "earlier" | "codeIn">): string {
  const ofCode = hint ? `${codeIn === undefined ? hint : aboutMessage(hint, codeIn)} ` : "";
  return `${ofCode}The earlier message is ${earlier}: \`cryobridge messages show ${earlier}\`.`;
}

/** A hint whose commands about a message are about this one. */
function aboutMessage(hint: string, id: string): string {
  return withCommandsOf(hint, (command) => {
    if (command.words[0] !== "messages") return [command];
    return [{ ...command, operands: command.operands.map((operand) => (operand === "ID" ? id : operand)) }];
  });
}

/**
 * An answer of the service that a person may have to look at: what came back to a call that was refused, or that may
 * or may not have had an effect. What it says may be about anybody, so it is shown to operators who ask for it, which is recorded,
 * and never logged.
 */
export interface KeptAnswer {
  readonly method: string;
  /** The path as the specification writes it, such as `/api/procedures/{id}`. */
  readonly route: string;
  readonly status: number;
  readonly shape: "json" | "html" | "empty" | "other";
  /** The media type without its parameters, when the answer had one. */
  readonly contentType?: string | undefined;
  /** The service's own error code, such as `VALIDATION_ERROR`, where it is made of the words of errors alone. */
  readonly errorCode?: string | undefined;
  /** The body as it came, at most some KB; absent when there was none, or none that could be read. */
  readonly body?: Phi | undefined;
}

/** The system's or a driver's code of an error, such as `ENOENT` or an SQLSTATE; undefined where it has none. */
export function codeOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || error.code === undefined) return undefined;
  return String(error.code);
}
