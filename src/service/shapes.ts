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

/** The status of an object that doesn't tell one. */
export const UNTOLD = "UNKNOWN";

/** A subject as the service knows it. Parts that it did not tell are undefined. */
export interface ServiceSubject {
  readonly id: number;
  readonly facilityId?: number | undefined;
  readonly code?: Phi | undefined;
  readonly firstName?: Phi | undefined;
  readonly lastName?: Phi | undefined;
  readonly dateOfBirth?: Phi | undefined;
}

/** A container named in a procedure request. */
export interface RequestedContainer {
  /** The lab's label (`sampleContainerId`). */
  readonly label?: string | undefined;
  readonly description?: string | undefined;
}

/** A procedure request as it stands. Only `id` is certain: entries and answers may be short forms. */
export interface RequestStatus {
  readonly id: number;
  /** `STORE`, `RETRIEVAL`, or the service's own word in upper case. */
  readonly type?: string | undefined;
  /** `PENDING`, `ACCEPTED`, `REJECTED`, `CANCELLED`, a word nobody knows yet in upper case, or {@link UNTOLD}. */
  readonly status: string;
  readonly facilityId?: number | undefined;
  readonly subjectCode?: Phi | undefined;
  readonly procedureId?: number | undefined;
  /** Undefined in short forms and for retrievals. */
  readonly containers?: readonly RequestedContainer[] | undefined;
  /** Ids of the containers of a retrieval, for services that echo them. */
  readonly containerIds?: readonly number[] | undefined;
  /** ISO 8601 as the service wrote it. */
  readonly createdAt?: string | undefined;
  readonly acceptedAt?: string | undefined;
  /** The whole object as it came. */
  readonly raw: Phi<RawObject>;
}

/** A container that a procedure names (external surface); parts that were not told are undefined. */
export interface ProcedureContainer {
  readonly id?: number | undefined;
  /** The lab's label (`name`). */
  readonly label?: string | undefined;
  readonly description?: string | undefined;
  /** Where it stands, once a STORE is completed. */
  readonly location?: ContainerLocation | undefined;
}

/** A procedure as it stands; parts that were not told are undefined. */
export interface ProcedureStatus {
  readonly id: number;
  readonly type?: string | undefined;
  /**
   * `PENDING`, `CREATED`, `IN_PROGRESS`, `COMPLETED`, `CANCELLED`, `FAILED`, a word nobody knows yet in upper case,
   * or {@link UNTOLD}.
   */
  readonly status: string;
  /** The human-readable procedure code, where the surface has one and it is no free text. */
  readonly code?: string | undefined;
  readonly facilityId?: number | undefined;
  readonly subjectCode?: Phi | undefined;
  readonly storageId?: number | undefined;
  readonly requestId?: number | undefined;
  /** The procedure's containers with what it tells of them; undefined in list entries and on the request surface. */
  readonly containers?: readonly ProcedureContainer[] | undefined;
  readonly containerIds?: readonly number[] | undefined;
  readonly createdAt?: string | undefined;
  readonly startedAt?: string | undefined;
  readonly completedAt?: string | undefined;
  /** The service's words for what went wrong: free text, which may be about anybody. */
  readonly error?: Phi | undefined;
  readonly raw: Phi<RawObject>;
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
  readonly raw: Phi<RawObject>;
}

const text = optional(textValue);
const ids = optional(z.array(idValue));
const requestFields = z.looseObject({
  type: text,
  status: text,
  procedureId: optional(idValue),
  sampleContainers: optional(
    z.array(z.looseObject({ sampleContainerId: text, name: text, description: text })),
  ),
  sampleContainerIds: ids,
  createdAt: text,
  acceptedAt: text,
});
const procedureFields = z.looseObject({
  type: text,
  status: text,
  code: text,
  storageId: optional(idValue),
  requestId: optional(idValue),
  sampleContainerIds: ids,
  sampleContainers: optional(
    z.array(z.looseObject({ id: optional(idValue), sampleContainerId: text, name: text, description: text })),
  ),
  createdAt: text,
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

/** Reads a procedure request; undefined for anything without an integer id. */
export function parseRequest(raw: unknown, words: ServiceWords = NO_WORDS): RequestStatus | undefined {
  const found = identified(raw);
  if (!found) return undefined;
  const fields = requestFields.parse(found.object);
  return {
    id: found.id,
    type: fields.type ? normalizeType(fields.type, words) : undefined,
    status: fields.status ? normalizeStatus(fields.status, words) : UNTOLD,
    facilityId: linkedId(found.object, "facilityId", "facility"),
    subjectCode: wrapped(subjectCodeOf(found.object)),
    procedureId: fields.procedureId ?? undefined,
    containers: fields.sampleContainers?.map((each) => ({
      label: each.sampleContainerId ?? each.name ?? undefined,
      description: each.description ?? undefined,
    })),
    containerIds: fields.sampleContainerIds ?? undefined,
    createdAt: fields.createdAt ?? undefined,
    acceptedAt: fields.acceptedAt ?? undefined,
    raw: phi(found.object),
  };
}

/** Reads a procedure of either surface's form; undefined for anything without an integer id. */
export function parseProcedure(raw: unknown, words: ServiceWords = NO_WORDS): ProcedureStatus | undefined {
  const found = identified(raw);
  if (!found) return undefined;
  const fields = procedureFields.parse(found.object);
  return {
    id: found.id,
    type: fields.type ? normalizeType(fields.type, words) : undefined,
    status: fields.status ? normalizeStatus(fields.status, words) : UNTOLD,
    code: isPlainNumber(fields.code) ? fields.code : undefined,
    facilityId: linkedId(found.object, "facilityId", "facility"),
    subjectCode: wrapped(subjectCodeOf(found.object)),
    storageId: fields.storageId ?? undefined,
    requestId: fields.requestId ?? undefined,
    containers: fields.sampleContainers?.map((each) => ({
      id: each.id ?? undefined,
      label: each.name ?? each.sampleContainerId ?? undefined,
      description: each.description ?? undefined,
      location: findLocation(each),
    })),
    containerIds: fields.sampleContainerIds ?? idsOf(fields.sampleContainers),
    createdAt: fields.createdAt ?? undefined,
    startedAt: fields.startedAt ?? undefined,
    completedAt: fields.completedAt ?? undefined,
    error: wrapped(fields.error),
    raw: phi(found.object),
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
    raw: phi(found.object),
  };
}

/** Undefined unless every entry has an id: half a set of containers is none. */
function idsOf(entries: readonly { readonly id?: number | null | undefined }[] | null | undefined) {
  const told = entries?.flatMap((each) => each.id ?? []);
  return told?.length === entries?.length ? told : undefined;
}

function identified(raw: unknown): { id: number; object: RawObject } | undefined {
  if (!isObject(raw)) return undefined;
  const id = idOf(raw);
  return id === undefined ? undefined : { id, object: raw };
}

function wrapped(value: string | null | undefined): Phi | undefined {
  return value === null || value === undefined || value === "" ? undefined : phi(value);
}

const fields = z.looseObject({
  storageName: optional(textValue),
  canister: optional(textValue),
  cane: optional(textValue),
  position: optional(textValue),
  storedAt: optional(textValue),
});

/** Reads a location of either surface: flat (`storageName`, `position`) or with a nested `storage` object. */
export function parseLocation(raw: RawObject): ContainerLocation {
  const inner = isObject(raw.location) ? raw.location : raw;
  const told = fields.parse({ ...raw, ...inner });
  const storage = inner.storage;
  return {
    storageId: linkedId(inner, "storageId", "storage"),
    storageName:
      told.storageName ??
      (isObject(storage) ? textValue.safeParse(storage.name).data : undefined) ??
      undefined,
    canister: told.canister ?? undefined,
    cane: told.cane ?? undefined,
    position: told.position ?? undefined,
    storedAt: told.storedAt ?? undefined,
  };
}

/** The location that an entry carries; undefined when it tells no place, since a time alone is none. */
export function findLocation(raw: RawObject): ContainerLocation | undefined {
  const location = parseLocation(raw);
  return isPlace(location) ? location : undefined;
}

/** Whether a location says where; an answer of nothing but empty fields, or with a time alone, doesn't. */
export function isPlace({ storedAt: _storedAt, ...place }: ContainerLocation): boolean {
  return Object.values(place).some((part) => part !== undefined && part !== "");
}
