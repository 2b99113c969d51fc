import { Failure } from "../core/failures.ts";
import type { Surface } from "../core/surface.ts";
import type { ServiceContext } from "./context.ts";
import { findMarks } from "./correlation.ts";
import { EXTERNAL_PROCEDURES, getExternalProcedure } from "./external-procedures.ts";
import { CLOCK_MARGIN_MS, createdAtMs } from "./likeness.ts";
import { walkPages } from "./list.ts";
import { REQUESTS } from "./requests.ts";
import { type ProcedureStatus, parseProcedure, parseRequest } from "./shapes.ts";

/** Enough to see what a ledger may have forgotten; the walk is a cross-check and reads no whole list. */
const MOST_PAGES = 20;
/** Procedures show their containers only when they are read by their id. */
const MOST_PROCEDURES = 100;

/**
 * The marks in the descriptions of what a facility's service made since a moment, by our clock: one bounded walk. A service
 * that ignores the filter by time and lists its oldest entries first may show none of the newest.
 *
 * @throws those of the lists and reads, but for a list that goes on for too long and single reads without an answer
 */
export async function listNewestMarks(
  context: ServiceContext,
  search: { readonly surface: Surface; readonly facilityId: number; readonly since: Date },
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  const { surface, facilityId } = search;
  const sinceMs = search.since.getTime() + (context.transport.clockSkewMs ?? 0) - CLOCK_MARGIN_MS;
  const query =
    surface === "external"
      ? { facilityId, type: "STORE" }
      : { facilityId, createdAt_from: new Date(sinceMs).toISOString() };
  const endpoint = surface === "external" ? EXTERNAL_PROCEDURES : REQUESTS;
  const listing = { endpoint, query, sensitive: [], ends: "short", maxPages: MOST_PAGES } as const;
  const marks = new Set<string>();
  const unread: number[] = [];
  try {
    for await (const page of walkPages(context, listing, signal)) {
      for (const raw of page) {
        const { words } = context.settings;
        const entry = surface === "external" ? parseProcedure(raw, words) : parseRequest(raw, words);
        const madeMs = createdAtMs(entry?.createdAt);
        if (!entry || (madeMs !== undefined && madeMs < sinceMs)) continue;
        for (const { description = "" } of entry.containers ?? []) {
          for (const mark of findMarks(description)) marks.add(mark);
        }
        if (surface === "external" && entry.containers === undefined) unread.push(entry.id);
      }
    }
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "SERVICE_LIST_TOO_LONG") throw error;
  }
  for (const id of unread.sort((a, b) => b - a).slice(0, MOST_PROCEDURES)) {
    const { containers = [] } = (await readUnlessLost(context, id, signal)) ?? {};
    for (const { description = "" } of containers) for (const mark of findMarks(description)) marks.add(mark);
  }
  return marks;
}

/** A procedure that can't be read is done without: the others are as telling. */
async function readUnlessLost(
  context: ServiceContext,
  id: number,
  signal: AbortSignal,
): Promise<ProcedureStatus | undefined> {
  try {
    return await getExternalProcedure(context, id, signal);
  } catch (error) {
    if (error instanceof Failure && error.code === "SERVICE_UNAVAILABLE") return undefined;
    throw error;
  }
}
