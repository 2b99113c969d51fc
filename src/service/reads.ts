import type { Phi } from "../core/phi.ts";
import { phi } from "../core/phi.ts";
import { CONTAINERS } from "./containers.ts";
import type { ServiceContext } from "./context.ts";
import { walkPages } from "./list.ts";
import { PROCEDURES } from "./procedures.ts";
import { REQUESTS } from "./requests.ts";
import { SUBJECTS } from "./subjects.ts";
import type { Query } from "./transport.ts";
import type { RawObject } from "./values.ts";

/** The lists that a person may read. */
export const READABLE = {
  subjects: SUBJECTS,
  requests: REQUESTS,
  procedures: PROCEDURES,
  containers: CONTAINERS,
  storage: "/api/storage",
} as const;

/**
 * The objects of a list one after the other, as the service sent them, fetched page by page while they are taken.
 * They hold patients' values. `query` takes the four filter forms of the specification (`code`, `code_like`,
 * `createdAt_from`, `createdAt_to`) and `perPage`.
 */
export async function* readList(
  context: ServiceContext,
  list: keyof typeof READABLE,
  query: Query,
  signal: AbortSignal,
): AsyncGenerator<RawObject, void, void> {
  const { perPage, page: _page, ...filters } = query;
  const listing = {
    endpoint: READABLE[list],
    query: filters,
    sensitive: sensitiveFilters(filters),
    ends: "short",
    perPage: perPage === undefined ? undefined : Number(perPage),
  } as const;
  for await (const page of walkPages(context, listing, signal)) yield* page;
}

/** What a storage solution holds; its shape is not specified, so it is handed on as it came. */
export function getInventory(
  context: ServiceContext,
  storageId: number,
  signal: AbortSignal,
): Promise<unknown> {
  return context.transport.call(
    {
      method: "GET",
      route: "/api/storage/{id}/inventory",
      id: storageId,
      sensitive: [],
      read: (answer) => answer.json,
    },
    signal,
  );
}

/** Filter values that may name a patient. */
function sensitiveFilters(filters: Query): Phi[] {
  return Object.entries(filters).flatMap(([key, value]) =>
    value !== undefined && /^(code|subjectCode|firstName|lastName|dateOfBirth)(_|$)/.test(key)
      ? [phi(String(value))]
      : [],
  );
}
