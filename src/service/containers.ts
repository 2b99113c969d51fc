import { z } from "zod";
import { Failure } from "../core/failures.ts";
import type { ContainerLocation } from "../core/outcome.ts";
import type { Phi } from "../core/phi.ts";
import type { FilterFinding } from "./capabilities.ts";
import type { ServiceContext } from "./context.ts";
import { collect, fetchPage } from "./list.ts";
import { parseContainer, type ServiceContainer } from "./shapes.ts";
import { getOne } from "./single.ts";
import { isObject, linkedId, optional, type RawObject, textValue } from "./values.ts";

export const CONTAINERS = "/api/sample-containers";

/** A code that no subject has, to see whether a filter does anything. */
const IMPOSSIBLE_CODE = "cryobridge-probe-no-such-subject";

/**
 * All sample containers of a subject. Each is certainly the subject's: either the entry names it, or the service
 * was seen to honour the `subjectCode` filter.
 * @throws Failure SERVICE_FILTER_IGNORED when neither holds, and those of a list walk.
 */
export async function listSubjectContainers(
  context: ServiceContext,
  subjectCode: Phi,
  signal: AbortSignal,
): Promise<ServiceContainer[]> {
  const { capabilities, settings } = context;
  const wanted = subjectCode.reveal();
  const listing = {
    endpoint: CONTAINERS,
    query: { subjectCode: wanted },
    sensitive: [subjectCode],
    ends: "short",
  } as const;
  const found = await collect(
    context,
    listing,
    (raw) => {
      const container = parseContainer(raw, settings.containerLabelFields);
      if (!container?.subjectCode || container.subjectCode.reveal() === wanted) return container;
      capabilities.sawFilter(CONTAINERS, "subjectCode", "ignored");
      return undefined;
    },
    signal,
  );
  if (found.some((each) => !each.subjectCode) && !(await isFilteredBySubject(context, signal))) {
    throw new Failure(
      "SERVICE_FILTER_IGNORED",
      `GET ${CONTAINERS}: the entries name no subject and the subjectCode filter is ignored`,
    );
  }
  return found;
}

/**
 * The ids of a subject's containers that carry each label, compared exactly. A label with no id is unknown; one
 * with two or more must not be retrieved without a person.
 */
export async function findContainersByLabel(
  context: ServiceContext,
  subjectCode: Phi,
  labels: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, number[]>> {
  const containers = await listSubjectContainers(context, subjectCode, signal);
  return new Map(
    labels.map((label) => [
      label,
      containers.filter((each) => each.labels.includes(label)).map((each) => each.id),
    ]),
  );
}

const locationFields = z.looseObject({
  storageName: optional(textValue),
  canister: optional(textValue),
  cane: optional(textValue),
  position: optional(textValue),
  storedAt: optional(textValue),
});

/** Where a container is stored. @throws Failure SERVICE_NOT_FOUND when it has no location or doesn't exist. */
export function getLocation(
  context: ServiceContext,
  containerId: number,
  signal: AbortSignal,
): Promise<ContainerLocation> {
  const target = { route: "/api/sample-containers/{id}/location", id: containerId };
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

/** Reads a location of either surface: flat (`storageName`, `position`) or with a nested `storage` object. */
export function parseLocation(raw: RawObject): ContainerLocation {
  const inner = isObject(raw.location) ? raw.location : raw;
  const fields = locationFields.parse({ ...raw, ...inner });
  const storage = inner.storage;
  return {
    storageId: linkedId(inner, "storageId", "storage"),
    storageName:
      fields.storageName ??
      (isObject(storage) ? textValue.safeParse(storage.name).data : undefined) ??
      undefined,
    canister: fields.canister ?? undefined,
    cane: fields.cane ?? undefined,
    position: fields.position ?? undefined,
    storedAt: fields.storedAt ?? undefined,
  };
}

/** Asks once an hour for the containers of a subject that can't exist: a service that filters has none. */
async function isFilteredBySubject(context: ServiceContext, signal: AbortSignal): Promise<boolean> {
  const { capabilities } = context;
  const known = capabilities.filter(CONTAINERS, "subjectCode");
  if (known !== undefined) return known === "honoured";
  const listing = { endpoint: CONTAINERS, query: { subjectCode: IMPOSSIBLE_CODE }, sensitive: [] };
  const finding = await fetchPage(context, listing, { page: 1, perPage: 1 }, signal).then(
    (entries): FilterFinding => (entries.length === 0 ? "honoured" : "ignored"),
    (error: unknown): FilterFinding => {
      // "No such subject" shows as well that the parameter is looked at.
      if (
        error instanceof Failure &&
        error.class === "permanent" &&
        error.code !== "SERVICE_CREDENTIALS_REFUSED"
      ) {
        return "honoured";
      }
      throw error;
    },
  );
  capabilities.sawFilter(CONTAINERS, "subjectCode", finding);
  return finding === "honoured";
}
