import type { Phi } from "../../core/phi.ts";
import { LISTS } from "../../core/service-catalogue.ts";
import type { ServiceContext } from "../http/context.ts";
import { walkPages } from "../lists/list.ts";
import { requireIds } from "../lists/list-query.ts";
import { type ProcedureStatus, parseProcedure, type ServiceEntry } from "../shapes.ts";
import { isOtherType } from "../values.ts";

/** Whose requests or procedures are looked for, and of which type. */
export interface SubjectSearch {
  readonly facilityId: number;
  readonly subjectCode: Phi;
  readonly type: "STORE" | "RETRIEVAL";
}

/** One full walk: the entries of that facility, subject and type, and those that don't show one of them. */
export async function searchProcedures(
  context: ServiceContext,
  wanted: SubjectSearch,
  signal: AbortSignal,
): Promise<Map<number, ProcedureStatus>> {
  const { facilityId, type } = wanted;
  const query = { facilityId, type };
  const listing = { endpoint: LISTS.externalProcedures.path, query, sensitive: [], ends: "empty" } as const;
  const found = new Map<number, ProcedureStatus>();
  for await (const page of walkPages(context, listing, signal)) {
    requireIds(listing.endpoint, page);
    for (const raw of page) {
      const entry = parseProcedure(raw, context.settings.words);
      if (entry && isOf(entry, wanted)) found.set(entry.id, entry);
    }
  }
  return found;
}

/** Whether what a request or a procedure shows leaves it possible that it is one of those. */
export function isOf(entry: ServiceEntry, wanted: SubjectSearch): boolean {
  return misfitOf(entry, wanted) === undefined;
}

/** The value by which an entry is none of those; undefined when it fits or doesn't show. */
export function misfitOf(
  { subjectCode, facilityId, type }: ServiceEntry,
  wanted: SubjectSearch,
): keyof SubjectSearch | undefined {
  if (subjectCode !== undefined && subjectCode.reveal() !== wanted.subjectCode.reveal()) return "subjectCode";
  if (facilityId !== undefined && facilityId !== wanted.facilityId) return "facilityId";
  return isOtherType(type, wanted.type) ? "type" : undefined;
}
