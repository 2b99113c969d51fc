import type pg from "pg";
import { type Config, wayOfFacility } from "../../config/config.ts";
import { Failure, type FailureCode } from "../../core/failures.ts";
import { movesContainers } from "../../core/order.ts";
import { isTerminal } from "../../core/order-state.ts";
import { SURFACES, type Surface } from "../../core/surface.ts";
import { formatId } from "../../ledger/ids.ts";
import type { Act } from "../../ledger/operator/audit.ts";
import { findLinkedOrder } from "../../ledger/operator/views.ts";
import {
  type ActResult,
  discardOrder,
  overrideOrder,
  releaseOrder,
  resolveOrder,
  retryOrder,
} from "../../ledger/orders/acts.ts";
import type { OrderCall } from "../../ledger/orders/calls.ts";
import { type CancelResult, cancelOrder } from "../../ledger/orders/cancellations.ts";
import { endReconciling, lostCallOf } from "../../ledger/orders/end-reconciling.ts";
import { type LedgerOrder, linkOf, type ServiceLink } from "../../ledger/orders/row.ts";
import type { Acted, FoundAtService } from "../../operator/acts.ts";
import { localTime, roundToUnit } from "../../operator/times.ts";
import { nameOf } from "../../operator/why-waiting.ts";
import type { ServiceClient } from "../../service/client.ts";
import { differences } from "../../service/new-request.ts";
import { actedAndSent, type SentToSite } from "./sent-to.ts";

/** What acts on orders work with. */
export interface ActSite extends SentToSite {
  readonly pool: pg.Pool;
  /** Gives the client of the service for the time of the work. */
  withService<T>(work: (service: ServiceClient) => Promise<T>): Promise<T>;
}

const SERVICE_WITHIN_MS = 60_000;

/** Has an order tried now. */
export async function retry({ pool, config }: ActSite, order: LedgerOrder, act: Act): Promise<Acted> {
  const lost = lostCallOf(order);
  const words = lost
    ? searchWords(order, lost, config)
    : order.missingSince === undefined
      ? "will be tried again"
      : `is asked about at the service now, which has not known it since ${localTime(order.missingSince)}. ${goneWords(order)}`;
  return actedOf(order, await retryOrder(pool, order, act), words);
}

/** Decides that an order is not carried out. */
export async function discard(site: ActSite, order: LedgerOrder, act: Act): Promise<Acted> {
  // A profile that can't be loaded is to stop it before it is done.
  await site.profiles();
  const result = await discardOrder(site.pool, order, act);
  return result === "done" ? endedAs("discarded", order, site) : actedOf(order, result, "");
}

/** Lets an order go on that the lab put on hold. */
export async function release({ pool }: ActSite, order: LedgerOrder, act: Act): Promise<Acted> {
  return actedOf(order, await releaseOrder(pool, order, act), "is on hold no more and goes on");
}

/** Lets an order go on that is parked because it matches another one. */
export async function override({ pool }: ActSite, order: LedgerOrder, act: Act): Promise<Acted> {
  const result = await overrideOrder(pool, order, act);
  return result === "not applicable"
    ? [false, "is not parked because it matches another order; nothing was done"]
    : actedOf(order, result, "goes past the other order and will be tried again");
}

/** Cancels an order: at once where nothing was sent of it, at the service where its cancel call is configured. */
export async function cancel(site: ActSite, order: LedgerOrder, act: Act): Promise<Acted> {
  await site.profiles();
  const result = await cancelOrder(site.pool, order.id, act, cancelOfferedBy(site.config));
  if (result.kind === "cancelled") return endedAs("cancelled", order, site);
  return [result.kind !== "unable", cancelWords(result)];
}

/** Whether an order can be cancelled: see `decideControl`. */
export function mayCancel({ config }: Pick<ActSite, "config">, order: LedgerOrder): boolean {
  const link = linkOf(order);
  if (isTerminal(order.state)) return false;
  return link === undefined || order.state === "parked" || cancelOfferedBy(config).has(link.surface);
}

/** The surfaces for which the service's cancel call is configured. */
function cancelOfferedBy({ service }: Config): Set<Surface> {
  return new Set(SURFACES.filter((surface) => service.cancel[surface] !== undefined));
}

/** What a person decided of an order for good, and whether the lab hears it. */
function endedAs(state: "cancelled" | "discarded", order: LedgerOrder, site: ActSite): Promise<Acted> {
  const words = `is ${state}`;
  // Nothing is said under a number that another order has but that this one is refused.
  const isRefused = order.sharesNumber && order.surface === undefined;
  const told = isRefused ? "refused" : state;
  return actedAndSent(site, order.connector, { state: told, words, sent: "it will be reported to the lab" });
}

function cancelWords(result: Exclude<CancelResult, { readonly kind: "cancelled" }>): string {
  switch (result.kind) {
    case "asked":
      return "is at the storage service, which is asked to cancel it; its timeline has the outcome";
    case "waits":
      return "has a call under way or needs a person first; it is cancelled as soon as it is known what the service has of it";
    case "unable":
      return `can't be cancelled: ${result.refusal.text} (${result.refusal.code})`;
  }
}

/**
 * Links an order to what a person found at the service.
 *
 * @throws Failure CLI_USAGE when it was named as something that its surface doesn't make of orders, REQUEST_CLAIMED when
 *   another order has it, CLI_NOT_APPLICABLE when the service doesn't have it under the order's subject, and those of the
 *   service
 */
export async function resolve(
  site: ActSite,
  order: LedgerOrder,
  found: FoundAtService,
  act: Act,
): Promise<Acted> {
  const link = toLink(order, found, site.config);
  if (order.state !== "parked" && order.missingSince === undefined)
    return actedOf(order, "not applicable", "");
  await requireUnclaimed(order, link, site);
  if (found.isUnchecked !== true) await requireLinkOf(order, link, site);
  const result = await resolveOrder(site.pool, order, link, act);
  return actedOf(order, result, "is linked to what was found at the service and followed from there");
}

/** Ends the search for a lost call, after a last look at the service. */
export async function sendAgain(site: ActSite, order: LedgerOrder, act: Act): Promise<Acted> {
  const { pool } = site;
  const { service } = site.config;
  const id = formatId("o", order.id);
  const call = lostCallOf(order);
  if (call === undefined) {
    return [false, `has no call of which the effect is unknown; it is ${order.state}, and nothing was done`];
  }
  if (call.ageMs < service.timeoutMs) {
    const ago = roundToUnit(call.ageMs);
    return [false, `was sent only ${ago} ago, so its call may be under way still; nothing was done`];
  }
  const found = await site.withService((client) => lookOnce(order, call, site, client));
  if (found !== undefined) {
    const link = call.surface === "external" ? "--procedure-id N" : "--request-id N";
    const remedy =
      call.kind === "subject"
        ? `\`cryobridge orders retry ${id}\` goes on with it`
        : `it goes on by itself where that is proved to be its own; once it is parked: \`cryobridge orders resolve ${id} ${link}\`, or \`cryobridge orders retry ${id}\``;
    return [false, `may be at the service: a last check found ${found} there. Nothing was done; ${remedy}`];
  }
  const result = await endReconciling(pool, order, act, service.reconcile.recheckMs);
  if (result === "done") return [true, "is sent again; a last check found nothing of it at the service"];
  if (result === "still on hold")
    return [
      true,
      `is sent again once it is released: it stays on hold (\`cryobridge orders release ${id}\`)`,
    ];
  return [false, "is in a worker's hands right now, or has moved on; nothing was done, see its timeline"];
}

/** Looks once for what a call made; in words what there is, also what nothing proves to be its own. */
async function lookOnce(
  order: LedgerOrder,
  call: OrderCall,
  { pool, config }: ActSite,
  client: ServiceClient,
): Promise<string | undefined> {
  const signal = AbortSignal.timeout(SERVICE_WITHIN_MS);
  if (call.kind === "subject") {
    const known = await client.findSubject(order.facilityId, order.subject.code, signal);
    return known === undefined ? undefined : "the subject";
  }
  const { findMade, surfaceOf } = await import("../../jobs/calls/find.ts");
  const { nameFinds } = await import("../../jobs/calls/finds.ts");
  const wayOf = (facilityId: number) => wayOfFacility(config, facilityId);
  const deps = { pool, service: client, settings: { correlation: config.service.correlation, wayOf } };
  return nameFinds(surfaceOf(order, call, deps), await findMade(order, call, deps, signal));
}

/** What else a person can do about an order that the service has forgotten. */
function goneWords({ id }: LedgerOrder): string {
  const order = formatId("o", id);
  return `If it stays unknown: \`cryobridge orders resolve ${order} --request-id N\` (external surface: \`--procedure-id N\`), or \`cryobridge orders discard ${order} --reason TEXT\``;
}

/** What trying an order now means whose call was not answered. */
function searchWords({ id }: LedgerOrder, { kind }: OrderCall, { service }: Config): string {
  const what = kind === "subject" ? "the registration of its subject" : "it";
  const until = roundToUnit(service.reconcile.giveUpAfterMs);
  return `may have reached the service: the service is searched for ${what} now, and the order is sent again only when nothing shows up until ${until} after its call. If you have looked there yourself: \`cryobridge orders retry ${formatId("o", id)} --not-at-service --reason TEXT\``;
}

const PRUNED = "CLI_SUBJECT_PRUNED" satisfies FailureCode;

function actedOf(order: LedgerOrder, result: ActResult, doneWords: string): Acted {
  const words = {
    done: doneWords,
    "still on hold": `${doneWords} once it is released: it stays on hold (\`cryobridge orders release ${formatId("o", order.id)}\`)`,
    "not applicable":
      order.state === "submitting"
        ? "is in a worker's hands right now, and tried already; see its timeline"
        : `can't be changed that way: it is ${order.state}${order.heldAt ? " and on hold" : ""}`,
    pruned: `can't be sent again: the name and birth date of its subject were deleted when their retention ended, so that nobody could compare them (${PRUNED}). Have the lab send it as a new order`,
    "reason wanted": "may be at the storage service, so discarding it wants a reason (--reason)",
  };
  return [result === "done" || result === "still on hold", words[result]];
}

/** The surface that the order's call went to decides, or before any call the one of its facility. */
function toLink(order: LedgerOrder, found: FoundAtService, config: Config): ServiceLink {
  const surface = order.surface ?? wayOfFacility(config, order.facilityId).surface;
  const { requestId = found.id, procedureId = found.id } = found;
  if (surface === "request" && requestId !== undefined) return { surface, requestId };
  if (surface === "external" && procedureId !== undefined) return { surface, procedureId };
  const words =
    surface === "external"
      ? "goes by the external surface, where an order becomes a procedure: name that one with --procedure-id N"
      : "goes by the request surface, where an order becomes a procedure request: name that one with --request-id N";
  throw new Failure("CLI_USAGE", `${nameOf(order)} ${words}; nothing was done`);
}

/** `request 1001`, or `procedure 2002`. */
function inWords(link: ServiceLink): string {
  return link.surface === "request" ? `request ${link.requestId}` : `procedure ${link.procedureId}`;
}

/** What another order is followed by is not this one's as well. */
async function requireUnclaimed(order: LedgerOrder, link: ServiceLink, { pool }: ActSite): Promise<void> {
  const other = await findLinkedOrder(pool, link);
  if (other === undefined || other.id === order.id) return;
  const id = formatId("o", other.id);
  throw new Failure("REQUEST_CLAIMED", {
    message: `order ${nameOf(other)} has ${inWords(link)} of the service already; nothing was done`,
    hint: `Check the number; \`cryobridge orders show ${id}\` shows the other order. If that one has a wrong one, the facility knows which is whose.`,
  });
}

/**
 * A mistyped number would report another patient's outcome to the lab: the service must have the request or procedure
 * under the order's subject, facility and operation.
 */
async function requireLinkOf(order: LedgerOrder, link: ServiceLink, site: ActSite): Promise<void> {
  const { facilityId, subject, operation } = order;
  if (!movesContainers(operation)) return;
  const signal = AbortSignal.timeout(SERVICE_WITHIN_MS);
  const isTheirs = await site.withService(async (service) => {
    if (link.surface === "external") return isProcedureOf(order, link.procedureId, service, signal);
    const search = { facilityId, subjectCode: subject.code, type: operation };
    const ids = await service.searchRequestIds(search, signal);
    return ids.includes(link.requestId);
  });
  if (isTheirs) return;
  const isExternal = link.surface === "external";
  const same = isExternal
    ? "subject, facility and containers, as far as they are known"
    : "subject and facility";
  const words = `the service shows no ${operation} ${inWords(link)} for the order's ${same}`;
  const list = isExternal
    ? "`cryobridge service procedures --subject CODE`"
    : "`cryobridge service requests --subject CODE`";
  const hint = `${list} shows what it has. Only where the facility has confirmed that this one is the order's: add \`--unchecked\`, which links it without asking the service.`;
  throw new Failure("CLI_NOT_APPLICABLE", { message: `${words}; nothing was done`, hint });
}

async function isProcedureOf(
  { facilityId, subject, operation, containers }: LedgerOrder,
  procedureId: number,
  service: ServiceClient,
  signal: AbortSignal,
): Promise<boolean> {
  const procedure = await service.getProcedure("external", procedureId, signal).catch((error: unknown) => {
    if (error instanceof Failure && error.code === "SERVICE_NOT_FOUND") return undefined;
    throw error;
  });
  // Without a subject it could be anybody's.
  if (procedure?.subjectCode === undefined) return false;
  const common = { facilityId, subjectCode: subject.code };
  const containerIds = containers.flatMap((each) => each.containerId ?? []);
  const asked =
    operation === "RETRIEVAL"
      ? ({ ...common, type: "RETRIEVAL", containerIds } as const)
      : ({ ...common, type: "STORE", containers } as const);
  // Before the labels of a retrieval were looked up, its containers have no ids to compare.
  const isComparable = operation === "STORE" || containerIds.length === containers.length;
  const found = isComparable ? procedure : { ...procedure, containerIds: undefined };
  return differences(asked, found).length === 0;
}
