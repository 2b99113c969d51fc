import { z } from "zod";
import { Failure } from "../core/failures.ts";
import type { OrderContainer } from "../core/order.ts";
import type { Phi } from "../core/phi.ts";
import { MADE_AT } from "../core/service-catalogue.ts";
import type { Surface } from "../core/surface.ts";
import { type Answer, unwrapObject } from "./http/answer.ts";
import type { ServiceContext } from "./http/context.ts";
import { isTooLarge } from "./lists/list-query.ts";
import type { CallSettings } from "./settings.ts";
import { NO_STATUS, parseProcedure, parseRequest, type ServiceEntry } from "./shapes.ts";
import { isOtherType } from "./values.ts";

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
  correlation: CallSettings["correlation"],
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

/** What a call asked for, as its body says. */
export type SentRequest =
  | { readonly type: "STORE"; readonly containers: readonly OrderContainer[] }
  | { readonly type: "RETRIEVAL"; readonly containerIds: readonly number[] };

/**
 * What a body of {@link requestBody} that was kept asks for; undefined for anything else. What left is all that a call can have made,
 * whatever the order asks for by now.
 */
export function readRequestBody(body: unknown, surface: Surface): SentRequest | undefined {
  const parsed = bodyShape.safeParse(body);
  if (!parsed.success) return undefined;
  const { type, sampleContainerIds, sampleContainers } = parsed.data;
  if (type === "RETRIEVAL") return { type, containerIds: sampleContainerIds };
  const containers = sampleContainers.map((each) => ({
    label: each[LABEL_FIELD[surface]] ?? "",
    description: each.description,
  }));
  return { type, containers };
}

const bodyShape = z.object({
  type: z.enum(["STORE", "RETRIEVAL"]),
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

/** Options of the one call that must not be made twice. */
interface CreateOptions {
  /** What leaves, as {@link requestBody} made it and the ledger has it; without a ledger it is made here. */
  readonly body?: Readonly<Record<string, unknown>> | undefined;
  /** Runs right before the first byte leaves, after all waiting; when it throws, nothing is sent. */
  readonly beforeSend?: (() => void | Promise<void>) | undefined;
}

/** What the service has certainly created. */
export interface Created extends ServiceEntry {
  /** Set when a request was accepted at once. */
  readonly procedureId?: number | undefined;
  /** Of a procedure, where the surface has one. */
  readonly code?: string | undefined;
}

/**
 * Creates what an order asks for, a procedure request, or on the external surface a procedure: sent once, and never again by anything in
 * this folder. It counts as created only when the answer is JSON with an integer id and contradicts nothing of what was sent; a
 * status that it doesn't show is `PENDING`.
 *
 * @throws Failure SERVICE_NO_ANSWER or SERVICE_ANSWER_DIFFERS when it may have been created, SERVICE_REFUSED and
 * CONTAINER_OF_OTHER_SUBJECT when it was not and won't be, a transient one when nothing was done.
 */
export function create(
  { settings, transport }: ServiceContext,
  surface: Surface,
  request: NewRequest,
  signal: AbortSignal,
  { beforeSend, body = requestBody(request, settings.correlation, surface) }: CreateOptions = {},
): Promise<Created> {
  const route = MADE_AT[surface].path;
  const parse = surface === "external" ? parseProcedure : parseRequest;
  const read = ({ json }: Answer): Created => {
    const created = parse(unwrapObject(json), settings.words);
    if (!created) {
      const isOver = isTooLarge(unwrapObject(json)?.id);
      const what = isOver
        ? "the answer's id is above 2^53 - 1 and can't be read exactly"
        : "the answer holds no id";
      throw new Failure("SERVICE_NO_ANSWER", `POST ${route}: ${what}`);
    }
    const differing = differences(request, created);
    if (differing.length === 0) {
      return { ...created, status: created.status === NO_STATUS ? "PENDING" : created.status };
    }
    const what = `the answer (id ${created.id}) has another ${differing.join(", ")}`;
    throw new Failure("SERVICE_ANSWER_DIFFERS", `POST ${route}: ${what}`);
  };
  return transport.call({ method: "POST", route, creates: request.type, body, beforeSend, read }, signal);
}

/** What an answer shows of a request, or of a procedure of the external surface. */
type Shown = Pick<ServiceEntry, "type" | "facilityId" | "subjectCode" | "containers" | "containerIds">;

/** Names of the fields in which an answer contradicts what was sent; a field that is missing contradicts nothing. */
export function differences(request: NewRequest, shown: Shown): string[] {
  const names: string[] = [];
  if (isOtherType(shown.type, request.type)) names.push("type");
  if (shown.facilityId !== undefined && shown.facilityId !== request.facilityId) names.push("facilityId");
  if (shown.subjectCode && shown.subjectCode.reveal() !== request.subjectCode.reveal())
    names.push("subjectCode");
  if (request.type === "STORE" && hasSameLabels(request, shown) === false) names.push("sampleContainers");
  if (request.type === "RETRIEVAL" && hasSameContainerIds(request, shown.containerIds) === false) {
    names.push("sampleContainerIds");
  }
  return names;
}

/** Whether exactly the labels that were sent are named; undefined when the entry names none or not all. */
function hasSameLabels(
  request: Extract<NewRequest, { type: "STORE" }>,
  shown: Pick<ServiceEntry, "containers">,
): boolean | undefined {
  if (!shown.containers || shown.containers.length === 0) return undefined;
  const labels = shown.containers.map((each) => each.label);
  if (labels.includes(undefined)) return undefined;
  return isSameSet(
    labels,
    request.containers.map((each) => each.label),
  );
}

/** Whether exactly the containers that were asked for are named; undefined when none are. */
function hasSameContainerIds(
  request: Extract<NewRequest, { type: "RETRIEVAL" }>,
  ids: readonly number[] | undefined,
): boolean | undefined {
  return ids && ids.length > 0 ? isSameSet(ids, request.containerIds) : undefined;
}

/** Whether two lists of different values hold the same ones. */
export function isSameSet<T>(a: readonly T[], b: readonly T[]): boolean {
  const left = new Set(a);
  const right = new Set(b);
  return a.length === b.length && left.size === right.size && [...left].every((each) => right.has(each));
}
