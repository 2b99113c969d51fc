import type { Behaviour } from "../behaviour.ts";
import { wordFor } from "../exchange.ts";
import type { Paging } from "../lists.ts";
import type { Schema } from "./answer-schemas.ts";
import { ORDER_TYPES, PROCEDURE_STATUSES, PROCEDURE_TYPES, REQUEST_STATUSES } from "./request-schemas.ts";

/** A query or path parameter of OpenAPI. */
export type Parameter = Readonly<Record<string, unknown>>;

type FieldKind = "id" | "text" | "moment" | "date" | readonly string[];

/** The fields that each list can be filtered by, as they are written in its entries. */
export const FILTER_FIELDS = {
  subjects: {
    id: "id",
    facilityId: "id",
    code: "text",
    firstName: "text",
    lastName: "text",
    dateOfBirth: "date",
    createdAt: "moment",
  },
  requests: {
    id: "id",
    type: ORDER_TYPES,
    status: REQUEST_STATUSES,
    facilityId: "id",
    subjectCode: "text",
    procedureId: "id",
    createdAt: "moment",
    acceptedAt: "moment",
    acceptedBy: "text",
  },
  procedures: {
    id: "id",
    type: PROCEDURE_TYPES,
    status: PROCEDURE_STATUSES,
    facilityId: "id",
    storageId: "id",
    requestId: "id",
    subjectCode: "text",
    performedBy: "text",
    createdAt: "moment",
    startedAt: "moment",
    completedAt: "moment",
    error: "text",
  },
  containers: {
    id: "id",
    name: "text",
    description: "text",
    facilityId: "id",
    subjectId: "id",
    subjectCode: "text",
    storedAt: "moment",
  },
  storages: { id: "id", name: "text", facilityId: "id" },
  externalProcedures: {
    id: "id",
    code: "text",
    type: [...ORDER_TYPES, "REFILL"],
    status: PROCEDURE_STATUSES,
    facilityId: "id",
    subjectCode: "text",
    createdAt: "moment",
    completedAt: "moment",
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, FieldKind>>>>;

export type ListName = keyof typeof FILTER_FIELDS;

const FORMS = [
  ["", "exactly"],
  ["_like", "in part, whatever the case of letters"],
  ["_from", "or greater"],
  ["_to", "or less"],
] as const;

/** The query parameters of a list: paging and the four forms of filters. */
export function listParameters(list: ListName, paging: Paging, behaviour: Behaviour): Parameter[] {
  const fields: Readonly<Record<string, FieldKind>> = FILTER_FIELDS[list];
  const filters = Object.entries(fields).flatMap(([field, kind]) =>
    FORMS.flatMap(([form, words]): Parameter[] => {
      const name = `${field}${form}`;
      const isHonoured = honours(behaviour, field, name);
      if (!isHonoured && behaviour.otherFilters === "refuse") return [];
      const description = isHonoured ? `${field}, ${words}.` : "Taken and ignored.";
      return [{ name, in: "query", description, schema: filterSchema(kind, form, behaviour) }];
    }),
  );
  return [...pagingParameters(paging, behaviour), ...filters];
}

function pagingParameters(paging: Paging, behaviour: Behaviour): Parameter[] {
  if (paging === "refuse") return [];
  const isIgnored = paging === "whole";
  const { maxPerPage, overPerPage } = behaviour;
  const limit = overPerPage === "refuse" ? { maximum: maxPerPage } : {};
  const words = isIgnored
    ? "Taken and ignored: the list comes whole."
    : `Entries on a page; ${overPerPage === "cap" ? `more than ${maxPerPage} gives ${maxPerPage}` : `at most ${maxPerPage}`}.`;
  const number = { type: "integer", minimum: 1, maximum: 999_999_999 };
  return [
    { name: "page", in: "query", description: "From 1.", schema: { ...number, default: 1 } },
    {
      name: "perPage",
      in: "query",
      description: words,
      schema: {
        ...number,
        ...(isIgnored ? {} : { ...limit, default: Math.min(behaviour.defaultPerPage, maxPerPage) }),
      },
    },
  ];
}

function honours({ filters }: Behaviour, field: string, name: string): boolean {
  return filters === "all" || (filters !== "none" && (filters.includes(field) || filters.includes(name)));
}

function filterSchema(kind: FieldKind, form: string, behaviour: Behaviour): Schema {
  if (typeof kind !== "string") {
    const written = kind.map((word) => wordFor(word, behaviour));
    const taken = behaviour.wordCase === "lower" ? [...kind, ...written] : written;
    return form === "" ? { type: "string", enum: [...new Set(taken)] } : { type: "string" };
  }
  // Part of a number or of a moment is text.
  if (form === "_like" || kind === "text") return { type: "string" };
  if (kind === "id") return { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER };
  // A moment may be cut short: 2026-03-01 is where that day begins.
  return { type: "string", pattern: "^\\d{4}-\\d{2}-\\d{2}" };
}

/** `{id}` in a path. */
export const ID_PARAMETER: Parameter = {
  name: "id",
  in: "path",
  required: true,
  schema: { type: "integer", format: "int64", minimum: 0, maximum: Number.MAX_SAFE_INTEGER },
};
