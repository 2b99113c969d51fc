import { asFailure } from "../core/failures.ts";
import type { Refill, Tank } from "../core/refill.ts";
import { LISTS, LISTS_OF, RECORDS_OF } from "../core/service-catalogue.ts";
import type { Surface } from "../core/surface.ts";
import { getOne, type ServiceContext } from "./http/context.ts";
import type { Query } from "./http/transport.ts";
import { walkPages } from "./lists/list.ts";
import { type ProcedureStatus, parseProcedure } from "./shapes.ts";
import {
  idOf,
  idValue,
  isObject,
  type RawObject,
  type ServiceWords,
  subjectCodeOf,
  textValue,
} from "./values.ts";

/** How a refill's type is spelled: in lower case like the specification's sample, or as its table has it. */
const TYPE_WORDS: Readonly<Record<Surface, readonly string[]>> = {
  request: ["refill", "REFILL"],
  external: ["REFILL"],
};

/** Longer texts are cut: none of these is free text. */
const LONGEST_TEXT = 200;

/** In place of the service's own words, which may be about anybody. */
const REASON_GIVEN = "the storage service gives a reason";

/** Which refills to read. */
export interface RefillSearch {
  readonly facilityId: number;
  readonly surface: Surface;
  /** Whether to read the whole list; else only what was created since `since`. */
  readonly isWhole: boolean;
  /** ISO 8601. */
  readonly since: string;
  /** What the last reading found out. */
  readonly hints: RefillHints;
}

/** What one reading finds out for the next. */
export interface RefillHints {
  /** The service's spelling of the type. */
  readonly typeWord?: string | undefined;
  /** The whole list is too long to be read; only what was created lately is asked for. */
  readonly isTooLong?: boolean | undefined;
}

interface RefillReading {
  /** The status of an entry that shows none is `NO_STATUS`. */
  readonly refills: readonly Refill[];
  readonly pages: number;
  readonly hints: RefillHints;
}

/**
 * The refills of a facility by the list of its surface. Every filter is a hint and checked again: entries of another
 * type or facility are passed over, and a type of which nothing is listed is left out next. A list that is too
 * long, because the service ignores the type, for example, is read by time alone.
 * @throws Failure those of `walkPages`; SERVICE_LIST_TOO_LONG only when what was created lately is too long as well.
 */
export async function readRefills(
  context: ServiceContext,
  search: RefillSearch,
  signal: AbortSignal,
): Promise<RefillReading> {
  const { facilityId, surface, hints } = search;
  const { words } = context.settings;
  const found = new Map<number, ReadRefill>();
  const questions = questionsOf(search, words);
  let isTooLong = hints.isTooLong === true && !search.isWhole;
  let pages = 0;
  for (let question = questions.shift(); question; question = questions.shift()) {
    const isAsked = question.type !== undefined;
    const listing = {
      endpoint: LISTS_OF.procedures[surface].path,
      query: question,
      ends: "empty",
    } as const;
    try {
      for await (const page of walkPages(context, listing, signal)) {
        pages += 1;
        const refills = page.flatMap((raw) => parseRefill(raw, words, { isAsked }) ?? []);
        for (const refill of refills) if (!isElsewhere(refill, facilityId)) found.set(refill.id, refill);
      }
    } catch (error) {
      const failure = asFailure(error);
      if (failure.code !== "SERVICE_LIST_TOO_LONG" || question.createdAt_from !== undefined) throw failure;
      isTooLong = true;
      // What is asked more widely is no shorter.
      questions.splice(0, questions.length, { facilityId, createdAt_from: search.since });
      continue;
    }
    if (found.size > 0) break;
  }
  const all = [...found.values()];
  return {
    refills: all.map(withoutExtras),
    pages,
    hints: {
      typeWord: all.find(({ typeWord }) => typeWord !== undefined)?.typeWord ?? hints.typeWord,
      isTooLong,
    },
  };
}

/** What to ask, the narrowest question first. */
function questionsOf(
  { facilityId, surface, isWhole, since, hints }: RefillSearch,
  words: ServiceWords,
): Query[] {
  const own = [...words.type].flatMap(([theirs, ours]) => (ours === "REFILL" ? [theirs] : []));
  const types = hints.typeWord === undefined ? [...TYPE_WORDS[surface], ...own] : [hints.typeWord];
  if (isWhole) return [...types.map((type) => ({ facilityId, type })), { facilityId }];
  const recent: Query[] = types.map((type) => ({ facilityId, type, createdAt_from: since }));
  return hints.isTooLong ? [...recent, { facilityId, createdAt_from: since }] : recent;
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
  const route = RECORDS_OF.procedure[target.surface];
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

/** The storage solutions of a facility, as far as the service filters by it or the entries show it. */
export async function listTanks(
  context: ServiceContext,
  facilityId: number,
  signal: AbortSignal,
): Promise<Tank[]> {
  const listing = {
    endpoint: LISTS.storage.path,
    query: { facilityId },
    ends: "short",
  } as const;
  const tanks: Tank[] = [];
  for await (const page of walkPages(context, listing, signal)) {
    for (const raw of page) {
      const tank = parseTank(raw);
      if (tank && !isElsewhere(tank, facilityId)) tanks.push({ storageId: tank.storageId, name: tank.name });
    }
  }
  return tanks;
}

/** A refill as a list or a single read shows it. */
interface ReadRefill extends Refill {
  /** The facility that the entry names. */
  readonly facilityId?: number | undefined;
  /** The type in the service's own spelling, for asking by it. */
  readonly typeWord?: string | undefined;
}

/**
 * Reads a refill of either surface; undefined for a procedure of another type. An entry that shows no type counts as
 * one only in an answer to a question for refills (`isAsked`), and only when nothing of an order stands in it.
 */
function parseRefill(
  raw: RawObject,
  words: ServiceWords,
  { isAsked }: { readonly isAsked: boolean },
): ReadRefill | undefined {
  const procedure = parseProcedure(raw, words);
  if (
    !procedure ||
    !(procedure.type === undefined ? isAsked && isBare(procedure, raw) : procedure.type === "REFILL")
  )
    return undefined;
  const storage = storageOf(raw);
  return {
    id: procedure.id,
    code: short(procedure.code),
    status: short(procedure.status) ?? procedure.status,
    storageId: storage?.storageId ?? procedure.storageId,
    storageName: short(textValue.safeParse(raw.storageName).data ?? storage?.name),
    createdAt: unlessLong(procedure.createdAt),
    startedAt: unlessLong(procedure.startedAt),
    completedAt: unlessLong(procedure.completedAt),
    error: procedure.error === undefined ? undefined : REASON_GIVEN,
    facilityId: procedure.facilityId,
    typeWord: textValue.safeParse(raw.type).data,
  };
}

/** Reads a storage solution; undefined for anything without an integer id. */
function parseTank(raw: RawObject): (Tank & { readonly facilityId?: number | undefined }) | undefined {
  const storageId = idOf(raw);
  if (storageId === undefined) return undefined;
  const facility = isObject(raw.facility) ? raw.facility.id : raw.facilityId;
  return {
    storageId,
    name: short(textValue.safeParse(raw.name).data),
    facilityId: idValue.safeParse(facility).data,
  };
}

function isBare(procedure: ProcedureStatus, raw: RawObject): boolean {
  return (
    procedure.requestId === undefined &&
    (procedure.containerIds ?? []).length === 0 &&
    subjectCodeOf(raw) === undefined
  );
}

/** The tank under `storage`, as an object or as its name: how a refill names it is not specified. */
function storageOf({
  storage,
}: RawObject): { storageId?: number | undefined; name?: string | undefined } | undefined {
  if (isObject(storage)) return { storageId: idOf(storage), name: textValue.safeParse(storage.name).data };
  return typeof storage === "string" ? { name: textValue.safeParse(storage).data } : undefined;
}

/** A time; what is longer is none. */
function unlessLong(text: string | undefined): string | undefined {
  return text === "" || (text ?? "").length > LONGEST_TEXT ? undefined : text;
}

function short(text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  return text.length > LONGEST_TEXT ? text.slice(0, LONGEST_TEXT).toWellFormed() : text;
}

function isElsewhere(entry: { readonly facilityId?: number | undefined }, facilityId: number): boolean {
  return entry.facilityId !== undefined && entry.facilityId !== facilityId;
}

function withoutExtras({ facilityId: _facilityId, typeWord: _typeWord, ...refill }: ReadRefill): Refill {
  return refill;
}
