import type { Surface } from "../../core/surface.ts";
import { type ServiceContext, unlessRefused } from "../http/context.ts";
import { untilStable } from "../lists/list.ts";
import { findMarks } from "../new-request.ts";
import { listSubjectContainers } from "../request-surface/containers.ts";
import { getProcedure, getRequest } from "../request-surface/requests.ts";
import type { ServiceContainer, ServiceEntry } from "../shapes.ts";
import {
  type Age,
  ageOf,
  createdAtMs,
  isOf,
  type SearchedRequest,
  type SubjectSearch,
  searchProcedures,
  searchRequests,
  WRONG_CLOCK_MS,
} from "./search.ts";

/** What is looked for: what a call may have made. */
export interface MadeSearch extends SubjectSearch {
  readonly surface: Surface;
  /** What can't be it: what was there before the call, and what the order had before. */
  readonly knownIds: ReadonlySet<number>;
  /** When the call left at the earliest, by our clock. */
  readonly sentAfter: Date;
  /**
   * When it had left at the latest, by our clock. What was made outside of the two times, as far as it shows, is left out then, unless
   * it carries the mark. Undefined: nothing is left out for its time.
   */
  readonly madeBefore?: Date | undefined;
  /** The call's mark, where it is a storage that carries one. */
  readonly mark?: string | undefined;
  /** The labels of a storage: of what shows others, it isn't found out which marks it carries, unless it has to be from before a time. */
  readonly labels?: readonly string[] | undefined;
}

/** A request, or a procedure of the external surface, with what the service shows of its containers. */
export interface Made {
  readonly id: number;
  /** All marks in its descriptions. */
  readonly marks: readonly string[];
  /** By which labels each of its containers is known; undefined where the service doesn't show all of them. */
  readonly labels: readonly (readonly string[])[] | undefined;
  /** Ids of all its containers; undefined where the service doesn't show them. */
  readonly containerIds: readonly number[] | undefined;
  /** Whether it was made after the call had left at the earliest. */
  readonly age: Age;
  /** It is only listed when asked for by its status, so that a snapshot doesn't show whether it was there before. */
  readonly isHidden: boolean;
}

/** What the service has that a call may have made. */
export interface MadeThere {
  readonly made: readonly Made[];
  /** The subject's containers that carry the mark, where nothing that was made does: proof of an effect, though not of its place. */
  readonly traces: readonly number[];
}

/** Whether these are exactly the containers of these labels. */
export function hasSameLabels({ labels }: Pick<Made, "labels">, wanted: readonly string[]): boolean {
  if (labels?.length !== wanted.length) return false;
  return wanted.every((label) => labels.filter((known) => known.includes(label)).length === 1);
}

/**
 * All that a subject has of one type at a facility, in all statuses, with its containers from wherever the service shows them: the entry of
 * the list, itself by its id, its procedure, the list of the subject's containers. Reads only, and no more than is needed. Nothing
 * found means "not listed now": whether that is believed is the caller's rule, since lists can lag.
 *
 * @throws those of the lists and reads, but for single ones that are refused: what those would show stays unknown
 */
export async function listMade(
  context: ServiceContext,
  search: MadeSearch,
  signal: AbortSignal,
): Promise<MadeThere> {
  const { surface, subjectCode, mark } = search;
  const listed: ReadonlyMap<number, ServiceEntry> =
    surface === "external"
      ? await untilStable(() => searchProcedures(context, search, signal))
      : await searchRequests(context, search, signal);
  let containers: Promise<readonly ServiceContainer[]> | undefined;
  const containersOnce = () => {
    // A cross-check only: a list that this service has no use for, such as one without subjects, proves nothing.
    const list = () => listSubjectContainers(context, { surface, subjectCode }, signal);
    containers ??= unlessRefused(list).then((found) => found ?? []);
    return containers;
  };
  const made: Made[] = [];
  for (const entry of listed.values()) {
    if (search.knownIds.has(entry.id)) continue;
    const shown = factsOf(entry);
    const age = ageOf(context, search.sentAfter, entry);
    const isOurs = mark !== undefined && shown.marks.includes(mark);
    if (!isOurs && !isBetween(search, entry.createdAt)) continue;
    // Without a subject in the entries all of the facility's would have to be read; those from before can't be it.
    if (surface === "external" && entry.subjectCode === undefined && age === "older") continue;
    const facts = await complete(context, entry, { search, shown, containersOnce }, signal);
    if (facts === undefined) continue;
    const { createdAt = entry.createdAt, ...rest } = facts;
    const hasMark = mark !== undefined && rest.marks.includes(mark);
    if (!hasMark && !isBetween(search, createdAt)) continue;
    const isHidden = (entry as SearchedRequest).isHidden === true;
    made.push({ ...rest, id: entry.id, age: ageOf(context, search.sentAfter, { createdAt }), isHidden });
  }
  const isSeen = mark === undefined || made.some(({ marks }) => marks.includes(mark));
  if (surface !== "external" || isSeen) return { made, traces: [] };
  const carrying = (await containersOnce()).filter(({ description = "" }) =>
    findMarks(description).includes(mark),
  );
  return { made, traces: carrying.map(({ id }) => id) };
}

/** By any of the clocks that may have a say in it. */
function isBetween({ sentAfter, madeBefore }: MadeSearch, createdAt: string | undefined): boolean {
  const at = createdAtMs(createdAt);
  if (at === undefined || madeBefore === undefined) return true;
  return at >= sentAfter.getTime() - WRONG_CLOCK_MS && at <= madeBefore.getTime() + WRONG_CLOCK_MS;
}

/** What is known of the containers so far. */
interface Facts extends Pick<Made, "marks" | "labels" | "containerIds"> {
  readonly createdAt: string | undefined;
}

function factsOf({ containers, containerIds, createdAt }: ServiceEntry): Facts {
  const labels = containers?.flatMap(({ label }) => (label === undefined ? [] : [[label]]));
  const isWhole = labels !== undefined && labels.length > 0 && labels.length === containers?.length;
  return {
    marks: containers?.flatMap(({ description = "" }) => findMarks(description)) ?? [],
    labels: isWhole ? labels : undefined,
    containerIds: containerIds && containerIds.length > 0 ? containerIds : undefined,
    createdAt,
  };
}

/** What either of them shows. */
function join(a: Facts, b: Facts): Facts {
  return {
    marks: [...new Set([...a.marks, ...b.marks])],
    labels: a.labels ?? b.labels,
    containerIds: a.containerIds ?? b.containerIds,
    createdAt: b.createdAt ?? a.createdAt,
  };
}

function isEnough({ type, mark, labels: wanted, madeBefore }: MadeSearch, facts: Facts): boolean {
  if (type === "RETRIEVAL") return facts.containerIds !== undefined;
  if (facts.labels === undefined) return false;
  // Descriptions may be shown empty, or cut, where other places have them whole.
  if (mark === undefined || facts.marks.length > 0) return true;
  // What a ledger may have forgotten is told from what it knows by a mark, whatever its labels.
  if (madeBefore !== undefined) return false;
  return wanted !== undefined && !hasSameLabels(facts, wanted);
}

interface Sources {
  readonly search: MadeSearch;
  /** What the list shows. */
  readonly shown: Facts;
  readonly containersOnce: () => Promise<readonly ServiceContainer[]>;
}

/** Reads on until enough is known; undefined where it turns out to be of another subject, facility or type. */
async function complete(
  context: ServiceContext,
  listed: ServiceEntry & { readonly procedureId?: number | undefined },
  { search, shown, containersOnce }: Sources,
  signal: AbortSignal,
): Promise<Facts | undefined> {
  const isExternal = search.surface === "external";
  // Which patient's it is, its details say, where what a ledger may have forgotten is looked for.
  const isTheirs = !isExternal || listed.subjectCode !== undefined || search.madeBefore === undefined;
  if (isTheirs && isEnough(search, shown)) return shown;
  const entry = await unlessRefused<ServiceEntry & { readonly procedureId?: number | undefined }>(() =>
    isExternal
      ? getProcedure(context, "external", listed.id, signal)
      : getRequest(context, listed.id, signal),
  );
  if (entry && !isOf(entry, search)) return undefined;
  let facts = entry ? join(shown, factsOf(entry)) : shown;
  if (isEnough(search, facts)) return facts;
  const procedureId = entry?.procedureId ?? listed.procedureId;
  // The last source: an accepted request's procedure names containers, and the containers carry our descriptions.
  if (!isExternal && procedureId !== undefined) {
    const procedure = await unlessRefused(() => getProcedure(context, "request", procedureId, signal));
    if (procedure?.containerIds?.length) facts = { ...facts, containerIds: procedure.containerIds };
  }
  const { containerIds } = facts;
  if (search.type === "RETRIEVAL" || containerIds === undefined) return facts;
  const own = (await containersOnce()).filter(({ id }) => containerIds.includes(id));
  const marks = own.flatMap(({ description = "" }) => findMarks(description));
  const labels = own.length === containerIds.length ? own.map((each) => each.labels) : undefined;
  return join(facts, { marks, labels, containerIds, createdAt: undefined });
}
