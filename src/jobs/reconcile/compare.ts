import type pg from "pg";
import { type AtService, asFailure, Failure, type FailureCode } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import type { FacilityWay, Surface } from "../../core/surface.ts";
import { formatId } from "../../ledger/ids.ts";
import type { OrderChange } from "../../ledger/orders/change.ts";
import type { LedgerOrder, ServiceLink } from "../../ledger/orders/row.ts";
import {
  findDueComparisons,
  findKnownMarks,
  findLinkedOf,
  postponeComparison,
  recordComparison,
} from "../../ledger/restored/comparisons.ts";
import { findRestored, type Restored } from "../../ledger/restored/restore.ts";
import type { ServiceCalls } from "../../service/client.ts";
import type { Made } from "../../service/reconcile/made.ts";
import { idsByLabelOf } from "../submit/guard.ts";
import { WORD, WORDS } from "./reconcile.ts";

export interface CompareDeps {
  readonly pool: pg.Pool;
  readonly service: ServiceCalls;
  readonly logger: Logger;
  readonly settings: {
    readonly correlation: "token" | "labels";
    readonly wayOf: (facilityId: number) => FacilityWay;
    readonly firstPollMs: number;
  };
}

/** Orders that are compared in one round. */
const MOST_AT_ONCE = 20;
/** Until a comparison that failed is tried again. */
const PAUSE_MS = 10_000;

/**
 * Compares open orders of a restored ledger with the service: what the service has of one is adopted, what can't be known is
 * parked, and the others are free to go.
 *
 * @returns how many orders were looked at
 */
export async function compareDue(deps: CompareDeps, signal: AbortSignal): Promise<number> {
  const due = await findDueComparisons(deps.pool, MOST_AT_ONCE);
  if (due.length === 0) return 0;
  const restored = await findRestored(deps.pool);
  if (!restored) return 0;
  for (const order of due) {
    try {
      await compare(order, restored, deps, signal);
    } catch (error) {
      const { code } = asFailure(error);
      deps.logger.warn(
        { order: formatId("o", order.id), connector: order.connector, code },
        "order of the restored ledger could not be compared with the service; it is tried again",
      );
      await postponeComparison(deps.pool, order.id, PAUSE_MS);
    }
  }
  const now = await findRestored(deps.pool);
  if (now?.uncompared === 0) {
    const { open: openOrders, adopted, parked, free } = now;
    deps.logger.info(
      { openOrders, adopted, parked, free },
      "the open orders of the restored ledger were compared with the service",
    );
  }
  return due.length;
}

async function compare(
  order: LedgerOrder,
  restored: Restored,
  deps: CompareDeps,
  signal: AbortSignal,
): Promise<void> {
  const surface = order.surface ?? deps.settings.wayOf(order.facilityId).surface;
  const decision = await lookForForgotten(order, { restored, surface, wasInCopy: true }, deps, signal);
  const record = (change: Omit<OrderChange, "orderId">, end: ForgottenDecision["kind"]) =>
    recordComparison(deps.pool, { ...change, orderId: order.id, from: [order.state] }, end);
  const change = toChange(order, decision, surface, deps);
  const isRecorded = await record(change, decision.kind).catch((error: unknown) => {
    if (decision.kind !== "adopt" || asFailure(error).code !== "REQUEST_CLAIMED") throw error;
    // A person has to find out whose it is; until then it must not hold up all others.
    const text = `${WORD[surface]} ${decision.id} at the service looks like this order's, but another order has it`;
    return record(parked(order, { code: "SUBMIT_UNCERTAIN", text }), "park");
  });
  // It has moved on meanwhile, by a person or the lab: as it stands now it is compared once more.
  if (!isRecorded) await postponeComparison(deps.pool, order.id, 0);
}

function toChange(
  order: LedgerOrder,
  decision: ForgottenDecision,
  surface: Surface,
  { settings }: CompareDeps,
): Omit<OrderChange, "orderId"> {
  switch (decision.kind) {
    case "free":
      return { event: { kind: "compared", detail: { found: "nothing" } } };
    case "adopt": {
      const { id } = decision;
      const request: ServiceLink =
        surface === "request" ? { surface, requestId: id } : { surface, procedureId: id };
      return {
        to: "submitted",
        failure: null,
        request,
        attempts: 0,
        nextInMs: 0,
        pollIntervalMs: settings.firstPollMs,
        isTakenBack: true,
        isIntentCleared: true,
        event: { kind: "adopted", detail: { ...request, isRestored: true } },
        isReported: true,
      };
    }
    case "park": {
      const { code, message: text, atService } = forgottenFailure(decision, surface);
      return parked(order, { code, text, atService });
    }
  }
}

function parked(
  order: LedgerOrder,
  {
    atService,
    ...reason
  }: { readonly code: FailureCode; readonly text: string; readonly atService?: AtService | undefined },
): Omit<OrderChange, "orderId"> {
  return {
    to: "parked",
    failure: reason,
    isTakenBack: true,
    event: { kind: "parked", detail: { ...reason, atService } },
    // One that is parked already was reported, and waits for the same person.
    isReported: order.state !== "parked",
  };
}

function forgottenFailure(
  { ids, isMarked }: Extract<ForgottenDecision, { kind: "park" }>,
  surface: Surface,
): Failure {
  const name = `${(ids.length === 1 ? WORD : WORDS)[surface]} ${ids.join(", ")}`;
  const why = isMarked ? ", by the order's mark in it" : "";
  return new Failure("SUBMIT_FORGOTTEN_REQUEST", {
    message: `the ledger was restored from an older copy; no order of it has ${name} at the service, made since that copy, which may be this order's${why}`,
    atService: { surface, ids },
  });
}

/** What decides where and when a forgotten request is looked for. */
interface ForgottenSearch {
  readonly restored: Restored;
  readonly surface: Surface;
  /** See `Forgetful` in `decide-forgotten.ts`. */
  readonly wasInCopy: boolean;
  /** The service's ids of a retrieval's containers, where the caller has looked them up. */
  readonly containerIds?: readonly number[] | undefined;
}

/** Looks at the service for a request that was made in the time which a restored ledger has forgotten. */
async function lookForForgotten(
  order: LedgerOrder,
  search: ForgottenSearch,
  deps: Pick<CompareDeps, "pool" | "service" | "settings">,
  signal: AbortSignal,
): Promise<ForgottenDecision> {
  const { restored, surface, wasInCopy } = search;
  const { operation } = order;
  if (operation !== "STORE" && operation !== "RETRIEVAL") return { kind: "free" };
  const linked = await findLinkedOf(deps.pool, order, surface);
  const made = await deps.service.listMade(
    {
      surface,
      facilityId: order.facilityId,
      subjectCode: order.subject.code,
      type: operation,
      knownIds: new Set([...linked, ...order.knownRequestIds, ...order.formerIds]),
      // A call that had left by then may have been carried out before the copy was made.
      madeBetween: [order.calledAt ?? restored.forgottenSince, restored.at],
      mark: order.mark,
    },
    signal,
  );
  if (made.length === 0) return { kind: "free" };
  const labels = order.containers.map(({ label }) => label);
  const containerIds =
    operation === "STORE"
      ? undefined
      : (search.containerIds ?? (await findIds(order, surface, deps, signal)));
  const ownerByMark = await findKnownMarks(
    deps.pool,
    made.flatMap(({ marks }) => marks),
  );
  const hasMarks = deps.settings.correlation === "token";
  const { id, mark } = order;
  return decideForgotten(
    { id, operation, mark, labels, containerIds, wasInCopy, hasMarks },
    made,
    ownerByMark,
  );
}

/** The service's ids of a retrieval's containers; undefined when one of them can't be known. */
async function findIds(
  order: LedgerOrder,
  surface: Surface,
  { service }: Pick<CompareDeps, "service">,
  signal: AbortSignal,
): Promise<readonly number[] | undefined> {
  const known = order.containers.flatMap(({ containerId }) => containerId ?? []);
  if (known.length === order.containers.length) return known;
  const calls = surface === "external" ? service.external : service;
  const labels = order.containers.map(({ label }) => label);
  try {
    const idsByLabel = idsByLabelOf(await calls.listSubjectContainers(order.subject.code, signal), labels);
    const ids = labels.map((label) => idsByLabel.get(label) ?? []);
    return ids.every((each) => each.length === 1) ? ids.flat() : undefined;
  } catch (error) {
    if (error instanceof Failure && error.class === "permanent") return undefined;
    throw error;
  }
}

/**
 * Before the first call of an order while a restore of the ledger is seen to: the lab may have sent again what the ledger has
 * forgotten, and the service may have it under a mark that nobody knows.
 *
 * @throws Failure SUBMIT_FORGOTTEN_REQUEST when the service has a request that may be the order's, naming it; those of the reads
 */
export async function guardForgotten(
  order: LedgerOrder,
  where: Pick<ForgottenSearch, "restored" | "surface" | "containerIds">,
  deps: Pick<CompareDeps, "pool" | "service" | "settings">,
  signal: AbortSignal,
): Promise<void> {
  const { surface } = where;
  const decision = await lookForForgotten(order, { ...where, wasInCopy: false }, deps, signal);
  // A mark of its own can't be there before its first call; whatever it is, a person looks at it.
  if (decision.kind === "adopt") {
    throw forgottenFailure({ kind: "park", ids: [decision.id], isMarked: true }, surface);
  }
  if (decision.kind === "park") throw forgottenFailure(decision, surface);
}

/**
 * The service has a container of a storage already. Where it also shows requests of just these labels for the subject that no
 * order has, such as one that was typed in there, or that a ledger has forgotten since it was restored, the container may
 * be the order's own: they are named, so that nobody has to discard what was stored.
 */
export async function nameUnclaimed(
  stored: Failure,
  order: LedgerOrder,
  surface: Surface,
  deps: Pick<CompareDeps, "pool" | "service">,
  signal: AbortSignal,
): Promise<Failure> {
  const { facilityId, subject, mark } = order;
  const linked = await findLinkedOf(deps.pool, order, surface);
  const search = {
    ...{ surface, facilityId, mark, subjectCode: subject.code, type: "STORE" as const },
    knownIds: new Set([...linked, ...order.formerIds]),
    madeBetween: [new Date(0), new Date(FAR_OFF_MS)] as const,
  };
  // Where such a list can't be read, now or ever, the order is parked for what is certain.
  const made = await deps.service.listMade(search, signal).catch((error: unknown) => {
    if (signal.aborted || asFailure(error).code === "SERVICE_STOPPED") throw error;
    return [];
  });
  const labels = order.containers.map(({ label }) => label);
  const ids = made.filter((each) => each.labels && isSameSet(each.labels, labels)).map(({ id }) => id);
  if (ids.length === 0) return stored;
  const [name, has] = ids.length === 1 ? [WORD[surface], "is"] : [WORDS[surface], "are"];
  return new Failure(stored.code, {
    message: `${stored.message}; ${name} ${ids.join(", ")} there ${has} for just these labels and no order's, so it may be this order's own`,
    atService: { surface, ids },
  });
}

/** Later than any clock says. */
const FAR_OFF_MS = 8_000_000_000_000;

/** An order whose request a restored ledger may have forgotten. */
export interface Forgetful {
  readonly id: number;
  readonly operation: "STORE" | "RETRIEVAL";
  readonly mark: string;
  readonly labels: readonly string[];
  /** Of a retrieval, as far as they are known; undefined where one of them isn't. */
  readonly containerIds: readonly number[] | undefined;
  /** It was in the copy that the ledger was restored from; else it came since, and can have no request by itself. */
  readonly wasInCopy: boolean;
  /** Whether descriptions carry marks at this site. */
  readonly hasMarks: boolean;
}

type ForgottenDecision =
  | { readonly kind: "adopt"; readonly id: number }
  | { readonly kind: "park"; readonly ids: readonly number[]; readonly isMarked: boolean }
  /** The service has nothing that could be the order's. */
  | { readonly kind: "free" };

/**
 * Decides whose a request may be that no order of a restored ledger has. Certain is a storage by the order's mark with
 * exactly its labels. For an order that was in the copy so is a retrieval of exactly its containers, and where no marks are
 * used a storage of exactly its labels. What shares a label or a
 * container with the order, or doesn't show its own, may be the order's; what carries the mark of another order is that one's.
 *
 * @param ownerByMark the orders of the ledger by the marks that they have or had
 */
export function decideForgotten(
  order: Forgetful,
  made: readonly Made[],
  ownerByMark: ReadonlyMap<string, number>,
): ForgottenDecision {
  const likes = made.map((each) => ({
    id: each.id,
    isMarked: each.marks.includes(order.mark),
    like: order.operation === "STORE" ? likeStore(order, each, ownerByMark) : likeRetrieval(order, each),
  }));
  const certain = likes.filter(({ like }) => like === "certain");
  const possible = likes.filter(({ like }) => like !== "none");
  const [only] = certain;
  if (only && possible.length === 1) return { kind: "adopt", id: only.id };
  if (possible.length === 0) return { kind: "free" };
  return {
    kind: "park",
    ids: possible.map(({ id }) => id),
    isMarked: possible.some(({ isMarked }) => isMarked),
  };
}

type Like = "certain" | "possible" | "none";

function likeStore(order: Forgetful, made: Made, ownerByMark: ReadonlyMap<string, number>): Like {
  const { labels, marks } = made;
  if (marks.includes(order.mark)) return labels && isSameSet(labels, order.labels) ? "certain" : "possible";
  if (marks.some((mark) => (ownerByMark.get(mark) ?? order.id) !== order.id)) return "none";
  if (labels === undefined) return "possible";
  if (!order.hasMarks && order.wasInCopy && isSameSet(labels, order.labels)) return "certain";
  return labels.some((label) => order.labels.includes(label)) ? "possible" : "none";
}

function likeRetrieval(order: Forgetful, { containerIds }: Made): Like {
  const wanted = order.containerIds;
  if (containerIds === undefined || wanted === undefined) return "possible";
  if (!containerIds.some((id) => wanted.includes(id))) return "none";
  return order.wasInCopy && isSameSet(containerIds, wanted) ? "certain" : "possible";
}

function isSameSet<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((each) => b.includes(each));
}
