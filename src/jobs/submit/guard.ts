import { Failure, type FailureCode } from "../../core/failures.ts";
import type { Operation } from "../../core/order.ts";
import { numberConflict } from "../../ledger/messages/known-orders.ts";
import type { LabelHolder } from "../../ledger/orders/label-subjects.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { type Matches, recordSharedNumber, type SameContainer } from "../../ledger/orders/same-containers.ts";
import type { ServiceContainer, ServiceSubject } from "../../service/shapes.ts";
import { ofSubject } from "../which-container.ts";
import type { SubmitDeps, SubmitSettings } from "./deps.ts";

/**
 * Stops an order that would do once more what was asked for before; see {@link decideDuplicate}. It is asked when the
 * order's turn in its lane has come, right before the first call: the lane has one order in hand at a time, so nobody
 * else can pass the same point with the same container meanwhile, whatever connector or batch the two came by.
 *
 * @param matches of the order, read since it was claimed, as `labelHolder`: an order of another subject with one of its labels
 * @returns "wait" when an earlier order still moves one of the containers the other way
 * @throws Failure ORDER_NUMBER_REUSED, ORDER_NUMBER_OTHER_AUTHORITY, ORDER_CONTAINER_IN_OPEN_ORDER,
 *   ORDER_CONTAINER_STORED_ALREADY, ORDER_CONTAINER_RETRIEVED_ALREADY or ORDER_LABEL_OF_OTHER_SUBJECT, naming the other
 *   order and never the patient
 */
export async function guardOrder(
  order: LedgerOrder,
  matches: Matches,
  labelHolder: LabelHolder | undefined,
  { pool, settings }: Pick<SubmitDeps, "pool" | "settings">,
): Promise<"pass" | "wait"> {
  if (matches.numberHolder !== undefined && !matches.overrides.has("number")) {
    const { code, text } = numberConflict(matches.numberHolder.authorities);
    throw new Failure(code, text);
  }
  const isGuarded = settings.sameContainer === "park" && !matches.overrides.has("containers");
  const decision = isGuarded ? decideDuplicate(order, matches.sameContainers) : undefined;
  if (decision?.kind === "park") {
    if (matches.sameContainers.some(({ hasSameNumber }) => hasSameNumber))
      await recordSharedNumber(pool, order);
    throw new Failure(decision.code, decision.text);
  }
  if (labelHolder && needsFreeLabels(order, matches, settings)) throw labelTaken(labelHolder);
  return decision?.kind === "wait" ? "wait" : "pass";
}

/** Whether the order's labels may be those of no other subject. */
export function needsFreeLabels(
  order: Pick<LedgerOrder, "containers">,
  { overrides }: Pick<Matches, "overrides">,
  { labelOfTwoSubjects }: Pick<SubmitSettings, "labelOfTwoSubjects">,
): boolean {
  return labelOfTwoSubjects === "park" && !overrides.has("label") && order.containers.length > 0;
}

/**
 * Why an order stops whose label belongs to a container of another subject of the facility: it may be for the wrong
 * patient. Subjects have lanes of their own, so two orders can pass the guard at one moment; the one whose call is
 * written down first, with the labels locked, goes on.
 */
export function labelTaken(holder: LabelHolder): Failure {
  const { label, otherName } = holder;
  return new Failure(
    "ORDER_LABEL_OF_OTHER_SUBJECT",
    holder.state === "completed"
      ? `label ${label} is that of another subject's container, which was stored by ${otherName} and has not been retrieved since`
      : `label ${label} is in ${otherName} of another subject too, which ${stoodInWords(holder)}`,
  );
}

/** The order's subject as it was found, or registered for it just now; undefined where nobody asks. */
export type SubjectAtService =
  | (Pick<ServiceSubject, "id"> & {
      /** Our own call made it. */
      readonly isNew?: boolean;
      /** What of it the service doesn't show, so that nobody compared it, in words. */
      readonly unshown?: readonly string[];
    })
  | undefined;

/** Refusals of the look itself: it can't be made there, so the ledger's word has to do. */
const UNLOOKABLE = [
  "SERVICE_FILTER_IGNORED",
  "SERVICE_LIST_TOO_LONG",
  "SERVICE_REFUSED",
  "SERVICE_NOT_FOUND",
];

/**
 * Stops a STORE of a label under which the subject has a container in storage already, though the ledger doesn't know
 * it: a second vial of one label could later be retrieved for the first. One that a retrieval of ours took out doesn't
 * count. A service that can't be asked about a subject's containers can't be looked at.
 *
 * @throws Failure ORDER_CONTAINER_STORED_ALREADY, and those of the reads
 */
export async function guardStored(
  order: LedgerOrder,
  subject: SubjectAtService,
  matches: Matches,
  deps: SubmitDeps,
  signal: AbortSignal,
): Promise<void> {
  if (order.operation !== "STORE" || subject?.isNew) return;
  if (matches.overrides.has("containers") || deps.settings.sameContainer === "allow") return;
  const { surface } = deps.settings.wayOf(order.facilityId);
  const asked = { surface, subjectCode: order.subject.code };
  const listed = await unlessUnlookable(() => deps.service.listSubjectContainers(asked, signal), []);
  const takenOut = new Set(
    matches.sameContainers.flatMap(({ operation, state, containerId }) =>
      operation === "RETRIEVAL" && state === "completed" && containerId !== undefined ? [containerId] : [],
    ),
  );
  for (const { label } of order.containers) {
    const same = ofSubject(listed, subject?.id).filter(
      ({ id, labels }) => labels.includes(label) && !takenOut.has(id),
    );
    for (const container of same) {
      const stands = await standingOf(container, surface, deps, signal);
      if (stands === "out") continue;
      const text =
        stands === "in"
          ? `the service has container ${label} in storage already, as container ${container.id}`
          : `the service lists container ${label} already, as container ${container.id}, and doesn't show whether it is in storage`;
      throw new Failure("ORDER_CONTAINER_STORED_ALREADY", text);
    }
  }
}

/**
 * Whether a listed container is in storage: lists also show those that are not yet, or not any more. `storedAt` distinguishes them,
 * which entries of the external surface have; where an entry of the request surface has none, its location does, and where the
 * service has no locations nothing does.
 */
async function standingOf(
  { id, storedAt }: ServiceContainer,
  surface: "request" | "external",
  { service }: SubmitDeps,
  signal: AbortSignal,
): Promise<"in" | "out" | "unknown"> {
  if (storedAt !== undefined || surface === "external") return typeof storedAt === "string" ? "in" : "out";
  if (!service.has("locations")) return "unknown";
  const location = await unlessUnlookable(() => service.getLocation(id, signal), undefined);
  return Object.values(location ?? {}).some((part) => part !== undefined) ? "in" : "out";
}

async function unlessUnlookable<T>(look: () => Promise<T>, otherwise: T): Promise<T> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof Failure && UNLOOKABLE.includes(error.code)) return otherwise;
    throw error;
  }
}

/** Whether an order would be done although the same was asked for before. */
type DuplicateDecision =
  | { readonly kind: "go" }
  /** An earlier order still moves one of its containers the other way. */
  | { readonly kind: "wait" }
  | { readonly kind: "park"; readonly code: FailureCode; readonly text: string };

/**
 * Decides by the ledger whether an order asks for the same as another one: the later of two open orders of the same kind
 * for one container, a STORE of what is stored already, a RETRIEVAL of what was retrieved already.
 *
 * Later is who has the higher id, unless the other one was faster: what the service has, or may have, comes first. So
 * of two that came at the same moment exactly one goes on, whichever is looked at first.
 *
 * @param same completed ones in the order in which they ended, then open ones
 */
export function decideDuplicate(
  order: { readonly id: number; readonly operation: Operation },
  same: readonly SameContainer[],
): DuplicateDecision {
  const { operation } = order;
  const isOpen = ({ state }: SameContainer) => state !== "completed";
  const isFirst = ({ otherId, isAtService }: SameContainer) => otherId < order.id || isAtService;
  const double = same.find((each) => each.operation === operation && isOpen(each) && isFirst(each));
  if (double) {
    const words = `${nameContainer(double)} is in ${double.otherName} of the same kind too, which ${stoodInWords(double)}`;
    return { kind: "park", code: "ORDER_CONTAINER_IN_OPEN_ORDER", text: words };
  }
  const ended = [
    ...Map.groupBy(
      same.filter((each) => !isOpen(each)),
      ({ position }) => position,
    ).values(),
  ];
  const repeated = ended
    .flatMap((moves) => moves.at(-1) ?? [])
    .filter((last) => last.operation === operation);
  const opposite = same.filter(
    (each) =>
      each.operation !== operation && isOpen(each) && each.state !== "parked" && each.otherId < order.id,
  );
  const isUndone = ({ position }: SameContainer) => opposite.some((each) => each.position === position);
  const last = repeated.find((each) => !isUndone(each));
  if (last) {
    return operation === "STORE"
      ? {
          kind: "park",
          code: "ORDER_CONTAINER_STORED_ALREADY",
          text: `${nameContainer(last)} was stored by ${last.otherName} and has not been retrieved since`,
        }
      : {
          kind: "park",
          code: "ORDER_CONTAINER_RETRIEVED_ALREADY",
          text: `${nameContainer(last)} was retrieved by ${last.otherName} and has not been stored since`,
        };
  }
  return opposite.length > 0 ? { kind: "wait" } : { kind: "go" };
}

function nameContainer({ label }: Pick<SameContainer, "label">): string {
  return `container ${label}`;
}

/** How another order stood, in texts that people read long after. */
function stoodInWords({ state }: Pick<SameContainer, "state">): string {
  return `was ${state === "received" ? "waiting" : state.replace("_", " ")} then`;
}
