import { z } from "zod";
import type { ContainerLocation } from "../core/outcome.ts";
import { type Phi, phi } from "../core/phi.ts";
import {
  idOf,
  idValue,
  isObject,
  linkedId,
  NO_WORDS,
  normalizeStatus,
  normalizeType,
  optional,
  type RawObject,
  type ServiceWords,
  subjectCodeOf,
  textValue,
} from "./values.ts";

/** The status of an object that shows none. */
export const NO_STATUS = "UNKNOWN";

/** A subject as the service knows it, as far as it shows it. */
export interface ServiceSubject {
  readonly id: number;
  readonly facilityId?: number | undefined;
  readonly code?: Phi | undefined;
  readonly firstName?: Phi | undefined;
  readonly lastName?: Phi | undefined;
  readonly dateOfBirth?: Phi | undefined;
}

/** A container that a procedure request or a procedure names, as far as it is shown. */
export interface NamedContainer {
  /** The service's id; on the external surface alone. */
  readonly id?: number | undefined;
  /** The lab's label: `sampleContainerId`, or on the external surface `name`. */
  readonly label?: string | undefined;
  readonly description?: string | undefined;
  /** Where it stands, once a STORE is completed (external surface). */
  readonly location?: ContainerLocation | undefined;
}

/** What requests and procedures have in common. Only `id` is certain: entries and answers may be short forms. */
export interface ServiceEntry {
  readonly id: number;
  /** `STORE`, `RETRIEVAL`, or the service's own word in upper case. */
  readonly type?: string | undefined;
  /** A word of the specification, one that nobody knows yet in upper case, or {@link NO_STATUS}. */
  readonly status: string;
  readonly facilityId?: number | undefined;
  readonly subjectCode?: Phi | undefined;
  /** Undefined in short forms, for retrievals, and for procedures of the request surface. */
  readonly containers?: readonly NamedContainer[] | undefined;
  readonly containerIds?: readonly number[] | undefined;
  /** ISO 8601 as the service wrote it, as all times here. */
  readonly createdAt?: string | undefined;
}

/** A procedure request as it stands. */
export interface RequestStatus extends ServiceEntry {
  readonly procedureId?: number | undefined;
  /** Whether it says what procedure it became, if only that there is none; short forms may leave that out. */
  readonly isProcedureShown: boolean;
}

/** A procedure as it stands. */
export interface ProcedureStatus extends ServiceEntry {
  /** The human-readable procedure code, where the surface has one and it is no free text. */
  readonly code?: string | undefined;
  readonly storageId?: number | undefined;
  readonly requestId?: number | undefined;
  readonly startedAt?: string | undefined;
  readonly completedAt?: string | undefined;
  /** The service's words for what went wrong: free text, which may be about anybody. */
  readonly error?: Phi | undefined;
}

/** A sample container of a subject. */
export interface ServiceContainer {
  readonly id: number;
  /** Every value found in the configured label fields. */
  readonly labels: readonly string[];
  readonly description?: string | undefined;
  /** The subject that the entry itself names. */
  readonly subjectCode?: Phi | undefined;
  readonly subjectId?: number | undefined;
  /** As the service wrote it; null where it says that there is no such time, undefined where it says nothing. */
  readonly storedAt?: string | null | undefined;
}

const text = optional(textValue);
const id = optional(idValue);
const fieldsOfAll = z.looseObject({
  type: text,
  status: text,
  createdAt: text,
  sampleContainerIds: optional(z.array(idValue)),
  sampleContainers: optional(
    z.array(z.looseObject({ id, sampleContainerId: text, name: text, description: text })),
  ),
});
const requestFields = z.looseObject({ procedureId: id });
const procedureFields = z.looseObject({
  code: text,
  storageId: id,
  requestId: id,
  startedAt: text,
  completedAt: text,
  error: text,
});
const subjectFields = z.looseObject({ code: text, firstName: text, lastName: text, dateOfBirth: text });

/** Reads a subject; undefined for anything without an integer id. */
export function parseSubject(raw: unknown): ServiceSubject | undefined {
  const found = identified(raw);
  if (!found) return undefined;
  const { code, firstName, lastName, dateOfBirth } = subjectFields.parse(found.object);
  return {
    id: found.id,
    facilityId: linkedId(found.object, "facilityId", "facility"),
    code: wrapped(code),
    firstName: wrapped(firstName),
    lastName: wrapped(lastName),
    // Some services write dates as midnight timestamps.
    dateOfBirth: wrapped(dateOfBirth?.replace(/^(\d{4}-\d{2}-\d{2})T.*$/, "$1")),
  };
}

/** What either of them shows, and its containers as their fields are called there. */
function parseEntry(object: RawObject, id: number, words: ServiceWords, label: "sampleContainerId" | "name") {
  const { type, status, createdAt, sampleContainerIds, sampleContainers } = fieldsOfAll.parse(object);
  return {
    id,
    type: type ? normalizeType(type, words) : undefined,
    status: status ? normalizeStatus(status, words) : NO_STATUS,
    facilityId: linkedId(object, "facilityId", "facility"),
    subjectCode: wrapped(subjectCodeOf(object)),
    containers: sampleContainers?.map((each) => ({
      id: each.id ?? undefined,
      label: each[label] ?? each.sampleContainerId ?? each.name ?? undefined,
      description: each.description ?? undefined,
      location: findLocation(each),
    })),
    containerIds: sampleContainerIds ?? undefined,
    createdAt: createdAt ?? undefined,
  };
}

/** Reads a procedure request; undefined for anything without an integer id. */
export function parseRequest(raw: unknown, words: ServiceWords = NO_WORDS): RequestStatus | undefined {
  const found = identified(raw);
  if (!found) return undefined;
  const { id, object } = found;
  return {
    ...parseEntry(object, id, words, "sampleContainerId"),
    procedureId: requestFields.parse(object).procedureId ?? undefined,
    isProcedureShown: "procedureId" in object,
  };
}

/** Reads a procedure of either surface's form; undefined for anything without an integer id. */
export function parseProcedure(raw: unknown, words: ServiceWords = NO_WORDS): ProcedureStatus | undefined {
  const found = identified(raw);
  if (!found) return undefined;
  const { id, object } = found;
  const fields = procedureFields.parse(object);
  const entry = parseEntry(object, id, words, "name");
  return {
    ...entry,
    code: isPlainNumber(fields.code) ? fields.code : undefined,
    storageId: fields.storageId ?? undefined,
    requestId: fields.requestId ?? undefined,
    containerIds: entry.containerIds ?? idsOf(entry.containers),
    startedAt: fields.startedAt ?? undefined,
    completedAt: fields.completedAt ?? undefined,
    error: wrapped(fields.error),
  };
}

/** One word, as numbers and codes for people are; a sentence may name somebody. */
function isPlainNumber(text: string | null | undefined): text is string {
  return typeof text === "string" && /^[\w./:#-]{1,64}$/.test(text);
}

/** Reads a sample container, with its labels from the given fields; undefined without an integer id. */
export function parseContainer(raw: unknown, labelFields: readonly string[]): ServiceContainer | undefined {
  const found = identified(raw);
  if (!found) return undefined;
  const labels = labelFields.flatMap((field) => textValue.safeParse(found.object[field]).data ?? []);
  return {
    id: found.id,
    labels: [...new Set(labels)],
    description: textValue.safeParse(found.object.description).data,
    subjectCode: wrapped(subjectCodeOf(found.object)),
    subjectId: linkedId(found.object, "subjectId", "subject"),
    storedAt: found.object.storedAt === null ? null : textValue.safeParse(found.object.storedAt).data,
  };
}

/** Undefined unless every entry has an id: half a set of containers is none. */
function idsOf(containers: readonly NamedContainer[] | undefined): number[] | undefined {
  const shown = containers?.flatMap((each) => each.id ?? []);
  return shown?.length === containers?.length ? shown : undefined;
}

function identified(raw: unknown): { id: number; object: RawObject } | undefined {
  if (!isObject(raw)) return undefined;
  const id = idOf(raw);
  return id === undefined ? undefined : { id, object: raw };
}

function wrapped(value: string | null | undefined): Phi | undefined {
  return value === null || value === undefined || value === "" ? undefined : phi(value);
}

const locationFields = z.looseObject({
  storageName: text,
  canister: text,
  cane: text,
  position: text,
  storedAt: text,
});

/** Reads a location of either surface: flat (`storageName`, `position`) or with a nested `storage` object. */
export function parseLocation(raw: RawObject): ContainerLocation {
  const inner = isObject(raw.location) ? raw.location : raw;
  const shown = locationFields.parse({ ...raw, ...inner });
  const { storage } = inner;
  const name = isObject(storage) ? textValue.safeParse(storage.name).data : undefined;
  return {
    storageId: linkedId(inner, "storageId", "storage"),
    storageName: shown.storageName ?? name,
    canister: shown.canister ?? undefined,
    cane: shown.cane ?? undefined,
    position: shown.position ?? undefined,
    storedAt: shown.storedAt ?? undefined,
  };
}

/** The location that an entry carries; undefined when it shows no place, since a time alone is none. */
function findLocation(raw: RawObject): ContainerLocation | undefined {
  const location = parseLocation(raw);
  return isPlace(location) ? location : undefined;
}

/** Whether a location says where; an answer of nothing but empty fields, or with a time alone, doesn't. */
export function isPlace({ storedAt: _storedAt, ...place }: ContainerLocation): boolean {
  return Object.values(place).some((part) => part !== undefined && part !== "");
}
