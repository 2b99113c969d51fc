import type { OrderContainer } from "../core/order.ts";
import type { Surface } from "../core/surface.ts";
import { type NewRequest, withRef } from "./correlation.ts";
import type { ResolvedSettings } from "./settings.ts";

/** What each surface calls the label of a container that is to be stored. */
const LABEL_FIELD = { request: "sampleContainerId", external: "name" } as const;

/** Body of the call that creates a procedure request, or on the external surface a procedure, as the specification lists its fields. */
export function requestBody(
  request: NewRequest,
  correlation: ResolvedSettings["correlation"],
  surface: Surface = "request",
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
      [LABEL_FIELD[surface]]: each.label,
      description: ref === undefined ? describe(each) : withRef(each.description, ref),
    })),
  };
}

/** Which fields a service insists on is not shown by the specification, so no description is left empty. */
function describe({ description, label }: OrderContainer): string {
  return description.trim() === "" ? label : description;
}
