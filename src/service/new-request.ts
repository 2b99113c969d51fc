import { z } from "zod";
import type { OrderContainer } from "../core/order.ts";
import { type Phi, phi } from "../core/phi.ts";
import type { Surface } from "../core/surface.ts";
import type { ResolvedSettings } from "./settings.ts";

/** A procedure request to be created; containers of a retrieval are already resolved to the service's ids. */
export type NewRequest =
  | {
      readonly type: "STORE";
      readonly facilityId: number;
      readonly subjectCode: Phi;
      readonly containers: readonly OrderContainer[];
      /** The mark of the order; used when `correlation` is `token`. */
      readonly ref?: string | undefined;
    }
  | {
      readonly type: "RETRIEVAL";
      readonly facilityId: number;
      readonly subjectCode: Phi;
      readonly containerIds: readonly number[];
      readonly ref?: undefined;
    };

/**
 * A container's description with the order's mark at its end, as staff see it: `2 straws [ref 7K3M-ZQ0VX9TB4D]`. Four
 * characters of the ledger and ten of the order, in Crockford's base 32 (no I, L, O, U), so that a person can read it out.
 * A description that has it already stays as it is.
 */
export function withRef(description: string, ref: string): string {
  if (hasRef(description, ref)) return description;
  return `${description} [ref ${ref}]`.trimStart();
}

/** Whether a description carries that mark. */
export function hasRef(description: string, ref: string): boolean {
  return description.includes(`[ref ${ref}]`);
}

/** The marks that a description carries, of this order or another, this ledger or another. */
export function findMarks(description: string): string[] {
  return [...description.matchAll(MARKS)].map((match) => match[1] as string);
}

const MARKS = /\[ref ([0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{10})\]/g;

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

/** What a body of {@link requestBody} asks for; undefined for anything else. */
export function parseRequestBody(body: unknown, surface: Surface): NewRequest | undefined {
  const parsed = bodyShape.safeParse(body);
  if (!parsed.success) return undefined;
  const { type, facilityId, subjectCode, sampleContainerIds, sampleContainers } = parsed.data;
  const common = { facilityId, subjectCode: phi(subjectCode) };
  if (type === "RETRIEVAL") return { ...common, type, containerIds: sampleContainerIds };
  const containers = sampleContainers.map((each) => ({
    label: each[LABEL_FIELD[surface]] ?? "",
    description: each.description,
  }));
  return { ...common, type, containers, ref: findMarks(containers[0]?.description ?? "").at(-1) };
}

const bodyShape = z.object({
  type: z.enum(["STORE", "RETRIEVAL"]),
  facilityId: z.number(),
  subjectCode: z.string(),
  sampleContainerIds: z.array(z.number()).default([]),
  sampleContainers: z
    .array(
      z.object({
        sampleContainerId: z.string().optional(),
        name: z.string().optional(),
        description: z.string(),
      }),
    )
    .default([]),
});

/** Which fields a service insists on is not shown by the specification, so no description is left empty. */
function describe({ description, label }: OrderContainer): string {
  return description.trim() === "" ? label : description;
}
