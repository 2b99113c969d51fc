import { type NewRequest, withRef } from "./correlation.ts";
import type { ResolvedSettings } from "./settings.ts";

/** Body of `POST /api/procedure-requests` as the specification lists its fields. */
export function requestBody(
  request: NewRequest,
  correlation: ResolvedSettings["correlation"],
): Readonly<Record<string, unknown>> {
  const common = {
    type: request.type,
    facilityId: request.facilityId,
    subjectCode: request.subjectCode.reveal(),
  };
  if (request.type === "RETRIEVAL") return { ...common, sampleContainerIds: request.containerIds };
  const ref = correlation === "token" ? request.ref : undefined;
  return {
    ...common,
    sampleContainers: request.containers.map((each) => ({
      sampleContainerId: each.label,
      description: ref === undefined ? each.description : withRef(each.description, ref),
    })),
  };
}
