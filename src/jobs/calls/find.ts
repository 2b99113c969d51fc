import { asFailure, Failure } from "../../core/failures.ts";
import type { Surface } from "../../core/surface.ts";
import { callsForNow, findBody, formerIds, type OrderCall } from "../../ledger/orders/calls.ts";
import { isOfCopy } from "../../ledger/orders/forgotten-calls.ts";
import { findClaimed, findKnownMarks, findLinkedOf } from "../../ledger/orders/known-at-service.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import { unlessRefused } from "../../service/http/context.ts";
import { readRequestBody } from "../../service/new-request.ts";
import { hasSameLabels, type Made } from "../../service/reconcile/made.ts";
import { byLabel, whichContainers } from "../which-container.ts";
import type { FindDeps } from "./deps.ts";
import { type Finds, nameIds } from "./finds.ts";
import { type Asked, matchOf, type Suspicion } from "./match.ts";

/** Where a call went, or would have gone. */
export function surfaceOf(
  order: LedgerOrder,
  call: OrderCall | undefined,
  { settings }: Pick<FindDeps, "settings">,
): Surface {
  return call?.surface ?? order.surface ?? settings.wayOf(order.facilityId).surface;
}

/**
 * Looks at the service for what a call made to create an order's request, on the surface that it went to, whatever the
 * configuration says by now. Reads only: what a find means is decided in `decide.ts`.
 *
 * @throws those of the lists and reads
 */
export async function findMade(
  order: LedgerOrder,
  call: OrderCall,
  deps: FindDeps,
  signal: AbortSignal,
): Promise<Finds> {
  const { pool, service } = deps;
  const surface = surfaceOf(order, call, deps);
  const asked = await askedOf(order, call, surface, deps);
  const linked = call.isPresumed ? await findLinkedOf(pool, order, surface) : [];
  const { made, traces } = await service.listMade(
    {
      ...{ surface, facilityId: order.facilityId, subjectCode: order.subject.code, type: asked.type },
      knownIds: new Set([...call.knownIds, ...formerIds(order, surface), ...linked]),
      sentAfter: call.since,
      madeBefore: call.isPresumed ? call.leftBy : undefined,
      mark: asked.type === "STORE" ? asked.ref : undefined,
      labels: asked.type === "STORE" ? asked.containers.map(({ label }) => label) : undefined,
    },
    signal,
  );
  if (made.length === 0) return { ...NOTHING, traces };
  const [judged, suspicion] = call.isPresumed
    ? await forgottenBy(order, { asked, made, surface }, deps, signal)
    : [asked, { kind: "called", hasSnapshot: surface === "request" } as const];
  const likes = made.map((each) => ({ ...each, like: matchOf(each, judged, suspicion) }));
  const likeIds = likes.flatMap(({ id, like }) => (like === "none" ? [] : [id]));
  const claimed = await findClaimed(pool, surface, likeIds, order.id);
  const idsOf = (wanted: string) =>
    likes.flatMap(({ id, like }) => (like === wanted && !claimed.has(id) ? [id] : []));
  const isHidden = new Set(likes.flatMap(({ id, isHidden }) => (isHidden ? [id] : [])));
  const possible = idsOf("possible");
  return {
    certain: idsOf("certain"),
    taken: likes.flatMap(({ id, like }) => {
      const holder = like === "certain" ? claimed.get(id) : undefined;
      return holder === undefined ? [] : [{ id, holder }];
    }),
    marked: idsOf("marked"),
    possible,
    hidden: possible.filter((id) => isHidden.has(id)),
    other: idsOf("other"),
    traces,
  };
}

const NOTHING: Finds = {
  certain: [],
  taken: [],
  marked: [],
  possible: [],
  hidden: [],
  other: [],
  traces: [],
};

/** What the call asked for: as it was sent, or as the order has it where nobody knows what was. */
async function askedOf(
  { operation, containers }: LedgerOrder,
  call: OrderCall,
  surface: Surface,
  { pool, settings }: FindDeps,
): Promise<Asked> {
  const sent = call.isPresumed ? undefined : readRequestBody(await findBody(pool, call.id), surface);
  const ref = settings.correlation === "token" ? call.mark : undefined;
  if (sent?.type === "RETRIEVAL") return sent;
  if (sent) return { ...sent, ref };
  if (operation === "RETRIEVAL") {
    const ids = containers.flatMap(({ containerId }) => containerId ?? []);
    return { type: "RETRIEVAL", containerIds: ids.length === containers.length ? ids : undefined };
  }
  return { type: "STORE", containers, ref };
}

/** How what was made is judged where the ledger doesn't know whether a call left. */
async function forgottenBy(
  order: LedgerOrder,
  found: { readonly asked: Asked; readonly made: readonly Made[]; readonly surface: Surface },
  deps: FindDeps,
  signal: AbortSignal,
): Promise<readonly [Asked, Suspicion]> {
  const ownerByMark = await findKnownMarks(
    deps.pool,
    found.made.flatMap(({ marks }) => marks),
  );
  const isUnknown = found.asked.type === "RETRIEVAL" && found.asked.containerIds === undefined;
  const asked = isUnknown
    ? { type: "RETRIEVAL" as const, containerIds: await findIds(order, found.surface, deps, signal) }
    : found.asked;
  return [
    asked,
    {
      kind: "forgotten",
      // One that came since can have no call by itself: the lab has sent again what the ledger has forgotten.
      wasInCopy: await isOfCopy(deps.pool, order.id),
      isOthers: (mark) => (ownerByMark.get(mark) ?? order.id) !== order.id,
    },
  ];
}

/** The service's ids of a retrieval's containers; undefined when one of them can't be known. */
async function findIds(
  order: LedgerOrder,
  surface: Surface,
  { service }: Pick<FindDeps, "service">,
  signal: AbortSignal,
): Promise<readonly number[] | undefined> {
  const asked = { surface, subjectCode: order.subject.code };
  const listed = await unlessRefused(() => service.listSubjectContainers(asked, signal));
  if (listed === undefined) return undefined;
  const which = [...whichContainers(byLabel(order.containers), listed).values()];
  const ids = which.flatMap((each) => (each.kind === "one" ? [each.shown.id] : []));
  return ids.length === which.length ? ids : undefined;
}

/**
 * The service has a container of a storage already. Where it also shows requests of just these labels for the subject that no
 * order has, such as one that was typed in there, or that a ledger has forgotten since it was restored, the container may
 * be the order's own: they are named, so that nobody has to discard what was stored.
 */
export async function nameUnclaimed(
  stored: Failure,
  order: LedgerOrder,
  deps: FindDeps,
  signal: AbortSignal,
): Promise<Failure> {
  const surface = surfaceOf(order, callsForNow(order).at(-1), deps);
  const linked = await findLinkedOf(deps.pool, order, surface);
  const search = {
    ...{ surface, facilityId: order.facilityId, subjectCode: order.subject.code, type: "STORE" as const },
    ...{ knownIds: linked, sentAfter: new Date(0), mark: undefined },
  };
  // Where such a list can't be read, now or ever, the order is parked for what is certain.
  const { made } = await deps.service.listMade(search, signal).catch((error: unknown) => {
    if (signal.aborted || asFailure(error).code === "SERVICE_STOPPED") throw error;
    return { made: [] };
  });
  const labels = order.containers.map(({ label }) => label);
  const ids = made.filter((each) => hasSameLabels(each, labels)).map(({ id }) => id);
  if (ids.length === 0) return stored;
  const has = ids.length === 1 ? "is" : "are";
  return new Failure(stored.code, {
    message: `${stored.message}; ${nameIds(surface, ids)} there ${has} for just these labels and no order's, so it may be this order's own`,
    atService: { surface, ids },
  });
}
