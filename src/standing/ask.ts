import type { Clock } from "../core/clock.ts";
import { type Condition, condition } from "../core/condition.ts";
import { Failure } from "../core/failures.ts";
import { LATE, LEDGER_WITHIN_MS, within } from "../core/within.ts";
import { asRefusal } from "../ledger/database-failures.ts";
import type { AskedDeps } from "./asked.ts";

/**
 * The answer, while the ledger may hang: a monitor and a person need a word.
 *
 * @throws Failure CONSOLE_LEDGER_SILENT after five seconds
 */
export async function withDeadline<T>(answer: Promise<T>, clock: Clock): Promise<T> {
  const found = await within(answer, LEDGER_WITHIN_MS, clock);
  if (found === LATE) throw new Failure("CONSOLE_LEDGER_SILENT", "the ledger gave no answer within 5 s");
  return found;
}

/** The answer; undefined where nobody looks, or, with a warning, while the ledger is out of reach. */
export async function ask<T>(
  { logger, clock }: Pick<AskedDeps, "logger" | "clock">,
  question: (() => Promise<T>) | undefined,
  warning: string,
): Promise<T | undefined> {
  if (!question) return undefined;
  try {
    return await withDeadline(question(), clock);
  } catch (error) {
    logger.warn({ err: error }, warning);
    return undefined;
  }
}

/**
 * What the daemon says of itself; while the ledger gives no answer, that it takes no orders, in place of all that comes of that. The
 * service may be away meanwhile.
 */
export async function askOwn(deps: AskedDeps): Promise<readonly Condition[]> {
  const { byLedger, clock, logger } = deps;
  const own = ownOf(deps);
  if (byLedger === undefined) return own;
  try {
    return [...own, ...(await withDeadline(byLedger(), clock))];
  } catch (error) {
    logger.warn({ err: error }, "the ledger did not answer whether orders can be taken");
    return [ledgerAway(error), ...own.filter(({ cause }) => cause !== "ledger")];
  }
}

/** What the daemon says of itself: when that can't be found out, that nobody knows whether it takes orders. */
function ownOf({ own, logger }: AskedDeps): readonly Condition[] {
  try {
    return own();
  } catch (error) {
    logger.error({ err: error }, "readiness could not be found out");
    const words = "whether this daemon takes orders could not be found out; the log says more";
    return [condition("daemonTrouble", "own", words, { stopsIntake: true })];
  }
}

function ledgerAway(error: unknown): Condition {
  const failure = error instanceof Failure ? error : asRefusal(error);
  const words =
    failure === undefined
      ? "the ledger's database gives an error; the log says more"
      : `${failure.message} (${failure.code})`;
  return condition("daemonTrouble", "", words, { code: failure?.code, stopsIntake: true });
}

/** Whether orders can be taken. */
export function isReady(own: readonly Condition[]): boolean {
  return !own.some(({ stopsIntake }) => stopsIntake);
}

/** Why the daemon can't do its work with orders, in words: a lab that takes no results keeps it from none. */
export function reasonsOf(own: readonly Condition[]): string[] {
  return own.flatMap(({ part, text }) => (part === "lab" ? [] : [text]));
}

/** What keeps orders from being taken through any connector. */
export function haltOf(own: readonly Condition[]): Condition | undefined {
  return own.find(({ stopsIntake, kind }) => stopsIntake && kind !== "connectorDown");
}

/** What is asked to say how things stand, as people read of what did not answer. */
const QUESTIONS = {
  counts: "how many orders and results wait",
  waiting: "which messages wait for a code",
  attention: "which orders and results stand still, and which queues are paused",
  takers: "which labs take results",
  orphaned: "what waits of former connectors",
  restored: "whether it was restored from an older copy",
  workers: "which daemons work",
  machine: "which disks are full, and what ends",
  limits: "which limits are exceeded",
  refills: "which tanks are overdue",
} as const satisfies Partial<Record<keyof AskedDeps, string>>;
type Question = keyof typeof QUESTIONS;
const NAMES = Object.keys(QUESTIONS) as Question[];
/** No condition comes of it. */
type Further = "takers";
const OF_CONDITIONS = NAMES.filter((name) => name !== ("takers" satisfies Further));

/** How things stand; undefined for what nobody looks at, and for what did not answer. */
export type Answers = {
  readonly [Name in Question]?: Awaited<ReturnType<NonNullable<AskedDeps[Name]>>>;
} & {
  readonly own: readonly Condition[];
  /** What did not answer, in words. */
  readonly unread: readonly string[];
};

/**
 * Asks once all that conditions come of. Answers within seconds even while the ledger does not.
 *
 * @param further what else is asked
 */
export async function askAll(deps: AskedDeps, further: readonly Further[] = []): Promise<Answers> {
  const [own, ...answers] = await Promise.all([
    askOwn(deps),
    ...[...OF_CONDITIONS, ...further].map(async (name) => [name, await askOne(deps, name)] as const),
  ]);
  const unread = answers.flatMap(([name, answer]) =>
    deps[name] && answer === undefined ? [QUESTIONS[name]] : [],
  );
  return { ...Object.fromEntries(answers), own, unread };
}

function askOne<Name extends Question>(deps: AskedDeps, name: Name): Promise<Answers[Name] | undefined> {
  const question = deps[name] as (() => Promise<Answers[Name]>) | undefined;
  return ask(deps, question, `the ledger did not answer: ${QUESTIONS[name]}`);
}

/**
 * The same questions, each asked of the ledger once at a time: who asks while an answer is on its way gets that answer. So
 * pages and monitors that ask again and again, of a ledger that is slow or hangs, take no more of its connections.
 */
export function askOnceAtATime<Deps extends AskedDeps>(deps: Deps): Deps {
  const asked = (["byLedger", ...NAMES] as const).flatMap((name) => {
    const question: (() => Promise<unknown>) | undefined = deps[name];
    return question ? [[name, once(question)] as const] : [];
  });
  return { ...deps, ...Object.fromEntries(asked) };
}

/** A question that is asked once at a time: who asks while its answer is on its way gets that answer. */
export function once<T>(question: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined;
  return () => {
    underWay ??= question().finally(() => {
      underWay = undefined;
    });
    return underWay;
  };
}
