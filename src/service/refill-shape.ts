import { phi } from "../core/phi.ts";
import type { Refill, Tank } from "../core/refill.ts";
import { maskText } from "./mask.ts";
import { type ProcedureStatus, parseProcedure } from "./shapes.ts";
import { idOf, idValue, isObject, type RawObject, subjectCodeOf, textValue } from "./values.ts";
import type { ServiceWords } from "./words.ts";

/** Longer texts are cut: none of these is free text. */
const LONGEST_TEXT = 200;

/** A refill as a list or a single read tells it. */
export interface ReadRefill extends Refill {
  /** The facility that the entry names. */
  readonly facilityId?: number | undefined;
  /** The type in the service's own spelling, for asking by it. */
  readonly typeWord?: string | undefined;
}

/**
 * Reads a refill of either surface; undefined for a procedure of another type. An entry that tells no type counts as
 * one only in an answer to a question for refills (`isAsked`), and only when nothing of an order stands in it.
 */
export function parseRefill(
  raw: RawObject,
  words: ServiceWords,
  { isAsked }: { readonly isAsked: boolean },
): ReadRefill | undefined {
  const procedure = parseProcedure(raw, words);
  if (!procedure || !(procedure.type === undefined ? isAsked && isBare(procedure, raw) : isRefill(procedure)))
    return undefined;
  const storage = storageOf(raw);
  const performer = textValue.safeParse(raw.performedBy).data;
  return {
    id: procedure.id,
    code: short(procedure.code),
    status: short(procedure.status) ?? procedure.status,
    storageId: storage?.storageId ?? procedure.storageId,
    storageName: short(textValue.safeParse(raw.storageName).data ?? storage?.name),
    createdAt: short(procedure.createdAt),
    startedAt: short(procedure.startedAt),
    completedAt: short(procedure.completedAt),
    error:
      procedure.error === undefined
        ? undefined
        : maskText(procedure.error, performer === undefined ? [] : [phi(performer)]),
    facilityId: procedure.facilityId,
    typeWord: textValue.safeParse(raw.type).data,
  };
}

/** Reads a storage solution; undefined for anything without an integer id. */
export function parseTank(raw: RawObject): (Tank & { readonly facilityId?: number | undefined }) | undefined {
  const storageId = idOf(raw);
  if (storageId === undefined) return undefined;
  const facility = isObject(raw.facility) ? raw.facility.id : raw.facilityId;
  return {
    storageId,
    name: short(textValue.safeParse(raw.name).data),
    facilityId: idValue.safeParse(facility).data,
  };
}

const isRefill = ({ type }: ProcedureStatus) => type === "REFILL";

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

function short(text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  return text.length > LONGEST_TEXT ? text.slice(0, LONGEST_TEXT).toWellFormed() : text;
}
