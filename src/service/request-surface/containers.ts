import { asFailure, Failure } from "../../core/failures.ts";
import type { ContainerLocation } from "../../core/outcome.ts";
import type { Phi } from "../../core/phi.ts";
import { LISTS_OF, RECORDS } from "../../core/service-catalogue.ts";
import type { Surface } from "../../core/surface.ts";
import { getOne, type ServiceContext, unlessRefused } from "../http/context.ts";
import { fetchPage, walkPages } from "../lists/list.ts";
import { hasRanges, readRanges } from "../lists/ranges.ts";
import { parseContainer, parseLocation, type ServiceContainer } from "../shapes.ts";
import { linkedId, type RawObject } from "../values.ts";

interface SubjectOnSurface {
  readonly surface: Surface;
  readonly subjectCode: Phi;
  /** Those of its containers that are looked for; all when absent. */
  readonly ids?: readonly number[] | undefined;
}

/** A code that no subject has, to see whether a filter does anything. */
export const NOBODY = "cryobridge-probe-no-such-subject";

/**
 * All sample containers of a subject; where only some are looked for, the list is read until these have been on it. Each is certainly the subject's: either the entry names it, or the service
 * was seen to honour the `subjectCode` filter.
 * @throws Failure SERVICE_FILTER_IGNORED when neither holds, and those of a list walk.
 */
export async function listSubjectContainers(
  context: ServiceContext,
  { surface, subjectCode, ids }: SubjectOnSurface,
  signal: AbortSignal,
): Promise<ServiceContainer[]> {
  const { capabilities, settings } = context;
  const endpoint = LISTS_OF.containers[surface].path;
  const wanted = subjectCode.reveal();
  const listing = {
    endpoint,
    query: { subjectCode: wanted },
    ends: "whole",
  } as const;
  const found: ServiceContainer[] = [];
  const missing = new Set(ids);
  for await (const page of walkPages(context, listing, signal)) {
    for (const raw of page) {
      const container = parseContainer(raw, settings.containerLabelFields);
      if (container?.subjectCode && container.subjectCode.reveal() !== wanted) {
        capabilities.sawFilter(endpoint, "subjectCode", "ignored");
      } else if (container) {
        found.push(container);
        missing.delete(container.id);
      }
    }
    if (ids !== undefined && missing.size === 0) break;
  }
  if (found.some((each) => !each.subjectCode) && !(await isFilteredBySubject(context, endpoint, signal))) {
    capabilities.doubt(endpoint);
    throw new Failure(
      "SERVICE_FILTER_IGNORED",
      `GET ${endpoint}: the entries name no subject and the subjectCode filter is ignored`,
    );
  }
  return found;
}

/**
 * Containers of the request surface by their ids, whoever's they are, as far as pages of the list show them: those that were stored
 * lately stand together, so one page serves many. Nothing shows whose one is but the subject that its entry names. What is missing
 * is to be looked for in its subject's own list; so is all, where the list takes no ranges of ids. Never fails unless aborted.
 *
 * @param mostPages calls that this may cost
 */
export async function readContainers(
  context: ServiceContext,
  { ids, mostPages }: { readonly ids: ReadonlySet<number>; readonly mostPages: number },
  signal: AbortSignal,
): Promise<ReadonlyMap<number, ServiceContainer>> {
  const { capabilities, settings } = context;
  const endpoint = LISTS_OF.containers.request.path;
  const found = new Map<number, ServiceContainer>();
  if (!hasRanges(context, endpoint)) return found;
  const take = (page: readonly RawObject[]) => {
    for (const raw of page) {
      const container = parseContainer(raw, settings.containerLabelFields);
      if (container && ids.has(container.id)) found.set(container.id, container);
    }
  };
  const listing = { endpoint, query: {} };
  try {
    await readRanges(context, { listing, ids, take, mostPages }, signal);
  } catch (error) {
    signal.throwIfAborted();
    // A service may list containers by subject only.
    if (asFailure(error).class === "permanent") capabilities.sawFilter(endpoint, "id", "ignored");
  }
  return found;
}

/** Where a container is stored. @throws Failure SERVICE_NOT_FOUND when it has no location or doesn't exist. */
export function getLocation(
  context: ServiceContext,
  containerId: number,
  signal: AbortSignal,
): Promise<ContainerLocation> {
  const target = { route: RECORDS.location, id: containerId };
  const parse = (raw: RawObject) => {
    const named = linkedId(raw, "sampleContainerId", "sampleContainer");
    if (named !== undefined && named !== containerId) {
      throw new Failure(
        "SERVICE_SHAPE_UNKNOWN",
        `GET ${target.route}: the answer is about another container`,
      );
    }
    return parseLocation(raw);
  };
  return getOne(context, target, parse, signal);
}

/** Asks once an hour for the containers of a subject that can't exist: a service that filters has none. */
async function isFilteredBySubject(
  context: ServiceContext,
  endpoint: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { capabilities } = context;
  const known = capabilities.filter(endpoint, "subjectCode");
  if (known !== undefined) return known === "honoured";
  const listing = { endpoint, query: { subjectCode: NOBODY } };
  const entries = await unlessRefused(() => fetchPage(context, listing, { page: 1, perPage: 1 }, signal));
  // "No such subject" shows as well that the parameter is looked at.
  const finding = (entries ?? []).length === 0 ? "honoured" : "ignored";
  capabilities.sawFilter(endpoint, "subjectCode", finding);
  return finding === "honoured";
}
