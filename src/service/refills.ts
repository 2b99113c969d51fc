import { asFailure } from "../core/failures.ts";
import type { Refill, Tank } from "../core/refill.ts";
import type { Surface } from "../core/surface.ts";
import type { ServiceContext } from "./context.ts";
import { walkPages } from "./list.ts";
import { PROCEDURES } from "./procedures.ts";
import { parseRefill, parseTank, type ReadRefill } from "./refill-shape.ts";
import { UNTOLD } from "./shapes.ts";
import { getOne } from "./single.ts";
import type { Query } from "./transport.ts";

/** Where each surface lists its procedures. */
const ENDPOINTS: Readonly<Record<Surface, string>> = {
  request: PROCEDURES,
  external: "/api/v1/external/procedures",
};

/** How a refill's type is spelled: in lower case like the specification's sample, or as its table has it. */
const TYPE_WORDS: Readonly<Record<Surface, readonly string[]>> = {
  request: ["refill", "REFILL"],
  external: ["REFILL"],
};

/** Which refills to read. */
export interface RefillSearch {
  readonly facilityId: number;
  readonly surface: Surface;
  /** Refills created before that may be left out; all of them when it is undefined. ISO 8601. */
  readonly createdFrom?: string | undefined;
  /**
   * Where the list turns out too long to be read to its end, what was created since then is read instead: of all types,
   * since the filter by type may be why it is so long. ISO 8601.
   */
  readonly recentFrom?: string | undefined;
  /**
   * A refill that is known to be in that time. A list without it was filtered in a way of the service's own, and the
   * next wider question is asked.
   */
  readonly expectId?: number | undefined;
  /** What the last reading found out. */
  readonly hints: RefillHints;
}

/** What is remembered from one reading for the next; plain data, to be kept. */
export interface RefillHints {
  /** The spelling of the type by which refills were found. */
  readonly typeWord?: string | undefined;
  /** The question that gave what was expected: 0 is the narrowest. */
  readonly width?: number | undefined;
  /** The whole list is too long to be read; only what was created lately is asked for. */
  readonly isTooLong?: boolean | undefined;
}

/** What a reading found. */
export interface RefillReading {
  readonly refills: readonly Refill[];
  /** Entries that are too short to tell their status, to be read one by one. */
  readonly untoldIds: readonly number[];
  readonly pages: number;
  /** False when a list was too long to be read to its end, also that of what was created lately. */
  readonly isComplete: boolean;
  /** The refill that was expected is in no list any more, however wide. */
  readonly isExpectedGone: boolean;
  readonly hints: RefillHints;
}

/** A way of asking, from the narrowest to the widest. */
interface Question {
  readonly width: number;
  readonly query: Query;
}

/**
 * The refills of a facility by the list of its surface. Every filter is a hint and looked at again: entries of another
 * type or facility are passed over. A filter that leaves out too much is noticed too, by what was expected, and then
 * the list is read by type alone, and at last without any filter but the facility's. A list that is too long, because the
 * service ignores the type, for example, is read by time alone.
 * @throws Failure those of `walkPages`, but SERVICE_LIST_TOO_LONG, which makes the reading incomplete.
 */
export async function readRefills(
  context: ServiceContext,
  search: RefillSearch,
  signal: AbortSignal,
): Promise<RefillReading> {
  const found = new Map<number, ReadRefill>();
  const { expectId } = search;
  const questions = questionsOf(search, [...context.settings.words.type]);
  const recent = recentQuestion(search);
  const narrowest = questions[0]?.width;
  let pages = 0;
  let isComplete = true;
  let width: number | undefined;
  for (const question of questions) {
    const walk = await walkInto(context, search, question, found, signal);
    pages += walk.pages;
    isComplete = walk.isComplete;
    const isFound = expectId === undefined ? found.size > 0 : found.has(expectId);
    if (isFound) width = question.width;
    // What is asked more widely is no shorter.
    if (isFound || !isComplete) break;
  }
  let isTooLong = search.hints.isTooLong === true;
  if (!isComplete && !isTooLong && recent) {
    const walk = await walkInto(context, search, recent, found, signal);
    pages += walk.pages;
    isComplete = walk.isComplete;
    isTooLong = true;
  }
  const all = [...found.values()];
  const typeWord = all.find((each) => each.typeWord !== undefined)?.typeWord ?? search.hints.typeWord;
  return {
    refills: all.filter(({ status }) => status !== UNTOLD).map(withoutExtras),
    untoldIds: all.filter(({ status }) => status === UNTOLD).map(({ id }) => id),
    pages,
    isComplete,
    // A question by time alone may leave out what is there, and no wider one was asked.
    isExpectedGone: expectId !== undefined && !found.has(expectId) && isComplete && !isTooLong,
    // Only a narrower question that failed says something about filters; one that was not asked doesn't. When even
    // the widest did not find what was expected, it is gone, which says nothing about them either.
    hints: {
      typeWord,
      width: width !== narrowest && width !== undefined ? width : search.hints.width,
      ...(isTooLong ? { isTooLong } : {}),
    },
  };
}

/**
 * One refill by its id; undefined when the procedure is none, or another facility's.
 * @throws Failure SERVICE_NOT_FOUND and those of `Transport.call`.
 */
export async function getRefill(
  context: ServiceContext,
  target: { readonly surface: Surface; readonly facilityId: number; readonly id: number },
  signal: AbortSignal,
): Promise<Refill | undefined> {
  const route = `${ENDPOINTS[target.surface]}/{id}`;
  const { words } = context.settings;
  const read = await getOne(
    context,
    { route, id: target.id },
    // Anything with an id will do here: whether it is a refill is the caller's question.
    (raw) => ({ refill: parseRefill(raw, words, { isAsked: true }) }),
    signal,
  );
  const { refill } = read;
  if (refill === undefined || refill.id !== target.id) return undefined;
  return isElsewhere(refill, target.facilityId) ? undefined : withoutExtras(refill);
}

/** The storage solutions of a facility, as far as the service filters by it or the entries tell it. */
export async function listTanks(
  context: ServiceContext,
  facilityId: number,
  signal: AbortSignal,
): Promise<Tank[]> {
  const listing = { endpoint: "/api/storage", query: { facilityId }, sensitive: [], ends: "short" } as const;
  const tanks: Tank[] = [];
  for await (const page of walkPages(context, listing, signal)) {
    for (const raw of page) {
      const tank = parseTank(raw);
      if (tank && !isElsewhere(tank, facilityId)) tanks.push({ storageId: tank.storageId, name: tank.name });
    }
  }
  return tanks;
}

function questionsOf(search: RefillSearch, siteWords: readonly (readonly [string, string])[]): Question[] {
  const { facilityId, surface, createdFrom, hints } = search;
  const own = siteWords.flatMap(([theirs, ours]) => (ours === "REFILL" ? [theirs] : []));
  const words = hints.typeWord === undefined ? [...TYPE_WORDS[surface], ...own] : [hints.typeWord];
  const [word] = words;
  const byTime: Question[] =
    createdFrom === undefined
      ? []
      : [{ width: 0, query: { facilityId, type: word, createdAt_from: createdFrom } }];
  const recent = recentQuestion(search);
  if (hints.isTooLong && recent) return [...byTime, recent];
  const questions = [
    ...byTime,
    ...words.map((type) => ({ width: 1, query: { facilityId, type } })),
    { width: 2, query: { facilityId } },
  ];
  return questions.filter(({ width }) => width >= (hints.width ?? 0));
}

function recentQuestion({ facilityId, recentFrom }: RefillSearch): Question | undefined {
  return recentFrom === undefined
    ? undefined
    : { width: 0, query: { facilityId, createdAt_from: recentFrom } };
}

async function walkInto(
  context: ServiceContext,
  { surface, facilityId }: RefillSearch,
  { query }: Question,
  found: Map<number, ReadRefill>,
  signal: AbortSignal,
): Promise<{ pages: number; isComplete: boolean }> {
  const listing = { endpoint: ENDPOINTS[surface], query, sensitive: [], ends: "empty" } as const;
  const { words } = context.settings;
  let pages = 0;
  try {
    for await (const page of walkPages(context, listing, signal)) {
      pages += 1;
      for (const raw of page) {
        const refill = parseRefill(raw, words, { isAsked: query.type !== undefined });
        if (refill && !isElsewhere(refill, facilityId)) found.set(refill.id, refill);
      }
    }
    return { pages, isComplete: true };
  } catch (error) {
    const failure = asFailure(error);
    if (failure.code !== "SERVICE_LIST_TOO_LONG") throw failure;
    return { pages, isComplete: false };
  }
}

function isElsewhere(entry: { readonly facilityId?: number | undefined }, facilityId: number): boolean {
  return entry.facilityId !== undefined && entry.facilityId !== facilityId;
}

function withoutExtras({ facilityId: _facilityId, typeWord: _typeWord, ...refill }: ReadRefill): Refill {
  return refill;
}
