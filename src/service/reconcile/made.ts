import type { Phi } from "../../core/phi.ts";
import type { Surface } from "../../core/surface.ts";
import { getExternalProcedure } from "../external-surface/procedures.ts";
import { type ServiceContext, unlessRefused } from "../http/context.ts";
import { untilStable } from "../lists/list.ts";
import { findMarks } from "../new-request.ts";
import { listSubjectContainers } from "../request-surface/containers.ts";
import { getProcedure, getRequest } from "../request-surface/requests.ts";
import type { ProcedureStatus, RequestStatus } from "../shapes.ts";
import { searchProcedures } from "./find-procedure.ts";
import { createdAtMs, WRONG_CLOCK_MS } from "./match.ts";
import { searchRequests } from "./search-requests.ts";

/** Which requests, or procedures on the external surface, are looked at. */
export interface MadeSearch {
  readonly surface: Surface;
  readonly facilityId: number;
  readonly subjectCode: Phi;
  readonly type: "STORE" | "RETRIEVAL";
  /** Those that orders are known to have. */
  readonly knownIds: ReadonlySet<number>;
  /** By our clock. One that carries this mark is shown whenever it was made. */
  readonly madeBetween: readonly [from: Date, to: Date];
  readonly mark: string;
}

/** A request, or a procedure of the external surface, with what the service shows of its containers. */
export interface Made {
  readonly id: number;
  /** All marks in its descriptions. */
  readonly marks: readonly string[];
  /** Labels of all its containers; undefined where the service doesn't show them. */
  readonly labels: readonly string[] | undefined;
  /** Ids of all its containers; undefined where the service doesn't show them. */
  readonly containerIds: readonly number[] | undefined;
}

/**
 * All that a subject has of one type at a facility, in all statuses, that no order is known to have and that was made in
 * a stretch of time, as far as its `createdAt` shows; with its containers from wherever the service shows them.
 *
 * @throws those of the lists and reads
 */
export async function listMade(
  context: ServiceContext,
  search: MadeSearch,
  signal: AbortSignal,
): Promise<Made[]> {
  const isExternal = search.surface === "external";
  const listed: Iterable<RequestStatus | ProcedureStatus> = isExternal
    ? (await untilStable(() => searchProcedures(context, search, signal))).values()
    : (await searchRequests(context, search, signal)).values();
  const made: Made[] = [];
  for (const entry of listed) {
    if (search.knownIds.has(entry.id)) continue;
    const shown = toMade(entry);
    const isOurs = shown.marks.includes(search.mark);
    if (!isOurs && !isBetween(search, entry.createdAt)) continue;
    const whole = isExternal
      ? await readProcedure(context, entry.id, shown, signal)
      : await readRequest(context, entry as RequestStatus, { shown, search }, signal);
    made.push(whole);
  }
  return made;
}

type Entry = Pick<RequestStatus, "id" | "containers" | "containerIds">;

function toMade({ id, containers, containerIds }: Entry): Made {
  const labels = containers?.map((each) => each.label);
  const isWhole = labels !== undefined && labels.length > 0 && !labels.includes(undefined);
  return {
    id,
    marks: containers?.flatMap(({ description = "" }) => findMarks(description)) ?? [],
    labels: isWhole ? (labels as string[]) : undefined,
    containerIds: containerIds && containerIds.length > 0 ? containerIds : undefined,
  };
}

/** What either of them shows. */
function joined(a: Made, b: Made): Made {
  return {
    id: a.id,
    marks: [...new Set([...a.marks, ...b.marks])],
    labels: a.labels ?? b.labels,
    containerIds: a.containerIds ?? b.containerIds,
  };
}

/** By any of the clocks that may have a say in it. */
function isBetween({ madeBetween }: MadeSearch, createdAt: string | undefined): boolean {
  const at = createdAtMs(createdAt);
  if (at === undefined) return true;
  const [from, to] = madeBetween;
  return at >= from.getTime() - WRONG_CLOCK_MS && at <= to.getTime() + WRONG_CLOCK_MS;
}

async function readProcedure(
  context: ServiceContext,
  id: number,
  shown: Made,
  signal: AbortSignal,
): Promise<Made> {
  const entry = await unlessRefused(() => getExternalProcedure(context, id, signal));
  return entry ? joined(shown, toMade(entry)) : shown;
}

async function readRequest(
  context: ServiceContext,
  listed: RequestStatus,
  { shown, search }: { readonly shown: Made; readonly search: MadeSearch },
  signal: AbortSignal,
): Promise<Made> {
  const isEnough = (made: Made) => (search.type === "STORE" ? made.labels : made.containerIds) !== undefined;
  if (isEnough(shown)) return shown;
  const entry = await unlessRefused(() => getRequest(context, listed.id, signal));
  const made = entry ? joined(shown, toMade(entry)) : shown;
  const procedureId = entry?.procedureId ?? listed.procedureId;
  if (isEnough(made) || procedureId === undefined) return made;
  const procedure = await unlessRefused(() => getProcedure(context, procedureId, signal));
  const ids = procedure?.containerIds;
  if (!ids || ids.length === 0) return made;
  if (search.type === "RETRIEVAL") return { ...made, containerIds: ids };
  const containers = await unlessRefused(() =>
    listSubjectContainers(context, { surface: "request", subjectCode: search.subjectCode }, signal),
  );
  const own = containers?.filter(({ id }) => ids.includes(id)) ?? [];
  const labels = own.flatMap(({ labels: [first] }) => first ?? []);
  return {
    ...made,
    containerIds: ids,
    marks: [...new Set([...made.marks, ...own.flatMap(({ description = "" }) => findMarks(description))])],
    labels: labels.length === ids.length ? labels : undefined,
  };
}
