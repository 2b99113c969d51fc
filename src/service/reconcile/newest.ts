import { Failure } from "../../core/failures.ts";
import type { Phi } from "../../core/phi.ts";
import { MADE_AT } from "../../core/service-catalogue.ts";
import type { Surface } from "../../core/surface.ts";
import { type ServiceContext, unlessRefused } from "../http/context.ts";
import type { Query } from "../http/transport.ts";
import { walkPages } from "../lists/list.ts";
import { findMarks } from "../new-request.ts";
import { getProcedure } from "../request-surface/requests.ts";
import { type ProcedureStatus, parseProcedure, parseRequest, type RequestStatus } from "../shapes.ts";
import { CLOCK_MARGIN_MS, createdAtMs } from "./search.ts";

/** Enough to see what a ledger may have forgotten; the walk is a cross-check and reads no whole list. */
const MOST_PAGES = 20;
/** Procedures show their containers only when they are read by their id. */
const MOST_PROCEDURES = 100;

/** What the service made lately: a request, or a procedure on the external surface. */
interface Newest {
  readonly id: number;
  readonly type: "STORE" | "RETRIEVAL" | undefined;
  readonly subjectCode: Phi | undefined;
  /** By the ledger's clock; undefined where the service doesn't show it. */
  readonly madeAt: Date | undefined;
  /** All marks in its descriptions. */
  readonly marks: readonly string[];
}

interface NewestSearch {
  readonly surface: Surface;
  readonly facilityId: number;
  readonly since: Date;
}

/**
 * What a facility's service made since a moment, by the ledger's clock: one bounded walk of each list. A service that ignores the filter
 * by time and lists its oldest entries first may show none of the newest.
 *
 * It walks pages as the search for what a call made does (`made.ts`), and is no use of that one: that is sure of all that one subject has of
 * a type, whatever it takes, since what it misses is sent again; this one asks what anybody's newest is, for a few calls and with nothing to
 * lose, since each order is looked for by itself before its call where a restore is noticed.
 *
 * @throws those of the lists, but for one that goes on for too long, and refused credentials
 */
export async function listNewest(
  context: ServiceContext,
  search: NewestSearch,
  signal: AbortSignal,
): Promise<Newest[]> {
  const skewMs = context.transport.clockSkewMs ?? 0;
  const newest = await listSince(context, search, skewMs, signal);
  // The first answer of a client says how far the clocks are apart: what was asked for before was of another time.
  const shownMs = context.transport.clockSkewMs ?? 0;
  return Math.abs(shownMs - skewMs) < CLOCK_MARGIN_MS / 10
    ? newest
    : listSince(context, search, shownMs, signal);
}

/** The same, by how far the service's clock is ahead. */
async function listSince(
  context: ServiceContext,
  { surface, facilityId, since }: NewestSearch,
  skewMs: number,
  signal: AbortSignal,
): Promise<Newest[]> {
  const sinceMs = since.getTime() + skewMs - CLOCK_MARGIN_MS;
  if (surface === "request") {
    const query = { facilityId, createdAt_from: new Date(sinceMs).toISOString() };
    return (await walk(context, { surface, query, sinceMs }, signal)).map((entry) => toNewest(entry, skewMs));
  }
  const retrievals = await walk(
    context,
    { surface, query: { facilityId, type: "RETRIEVAL" }, sinceMs },
    signal,
  );
  const stores = await walk(context, { surface, query: { facilityId, type: "STORE" }, sinceMs }, signal);
  const newest = [...retrievals, ...stores].map((entry) => toNewest(entry, skewMs));
  const unread = stores.filter(({ containers }) => containers === undefined).map(({ id }) => id);
  for (const id of unread.sort((a, b) => b - a).slice(0, MOST_PROCEDURES)) {
    const entry = await readUnlessLost(context, id, signal);
    if (entry) newest.push(toNewest(entry, skewMs));
  }
  return newest;
}

/** What is listed and was made since, as far as its time shows. */
async function walk(
  context: ServiceContext,
  { surface, query, sinceMs }: { readonly surface: Surface; readonly query: Query; readonly sinceMs: number },
  signal: AbortSignal,
): Promise<(RequestStatus | ProcedureStatus)[]> {
  const { words } = context.settings;
  const endpoint = MADE_AT[surface].path;
  const listing = { endpoint, query, ends: "short", maxPages: MOST_PAGES } as const;
  const found: (RequestStatus | ProcedureStatus)[] = [];
  try {
    for await (const page of walkPages(context, listing, signal)) {
      for (const raw of page) {
        const entry = surface === "external" ? parseProcedure(raw, words) : parseRequest(raw, words);
        if (entry && (createdAtMs(entry.createdAt) ?? sinceMs) >= sinceMs) found.push(entry);
      }
    }
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== "SERVICE_LIST_TOO_LONG") throw error;
  }
  return found;
}

function toNewest(entry: RequestStatus | ProcedureStatus, skewMs: number): Newest {
  const { id, type, subjectCode, containers = [] } = entry;
  const madeMs = createdAtMs(entry.createdAt);
  return {
    id,
    type: type === "STORE" || type === "RETRIEVAL" ? type : undefined,
    subjectCode,
    madeAt: madeMs === undefined ? undefined : new Date(madeMs - skewMs),
    marks: containers.flatMap(({ description = "" }) => findMarks(description)),
  };
}

/** A procedure that can't be read, now or ever, is done without: the others show as much. */
async function readUnlessLost(
  context: ServiceContext,
  id: number,
  signal: AbortSignal,
): Promise<ProcedureStatus | undefined> {
  try {
    return await unlessRefused(() => getProcedure(context, "external", id, signal));
  } catch (error) {
    if (error instanceof Failure && error.code === "SERVICE_UNAVAILABLE") return undefined;
    throw error;
  }
}
