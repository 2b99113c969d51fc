import { type Config, wayOfFacility } from "../../config/config.ts";
import { Failure } from "../../core/failures.ts";
import { movesContainers } from "../../core/order.ts";
import type { LedgerOrder, ServiceLink } from "../../ledger/order-row.ts";
import type { ServiceClient } from "../../service/client.ts";
import { differences } from "../../service/requests.ts";
import { withService } from "../open.ts";
import { nameOf } from "../output/why-waiting.ts";
import type { Session } from "../session.ts";

/** The options of `orders resolve` that name what was found at the service. */
export interface LinkOptions {
  readonly requestId?: number;
  readonly procedureId?: number;
}

const SERVICE_WITHIN_MS = 60_000;

/**
 * Whether exactly one of the two options is there.
 * @throws Failure CLI_USAGE
 */
export function requireOneLink({ requestId, procedureId }: LinkOptions): void {
  if ((requestId === undefined) !== (procedureId === undefined)) return;
  throw new Failure(
    "CLI_USAGE",
    "orders resolve: name what you found at the service, with --request-id N or, for a facility of the external surface, with --procedure-id N",
  );
}

/**
 * What a person found at the service for an order. The surface that the order's call went to decides, or before any
 * call the one of its facility.
 * @throws Failure CLI_USAGE when it was named as something that this surface doesn't make of orders.
 */
export function toLink(
  order: LedgerOrder,
  { requestId, procedureId }: LinkOptions,
  config: Config,
): ServiceLink {
  const surface = order.surface ?? wayOfFacility(config, order.facilityId).surface;
  if (surface === "request" && requestId !== undefined) return { surface, requestId };
  if (surface === "external" && procedureId !== undefined) return { surface, procedureId };
  const words =
    surface === "external"
      ? "goes by the external surface, where an order becomes a procedure: name that one with --procedure-id N"
      : "goes by the request surface, where an order becomes a procedure request: name that one with --request-id N";
  throw new Failure("CLI_USAGE", `${nameOf(order)} ${words}; nothing was done`);
}

/**
 * A mistyped number would report another patient's outcome to the lab: the service must have the request or procedure
 * under the order's subject, facility and operation.
 * @throws Failure CLI_NOT_APPLICABLE when it hasn't, and those of the service.
 */
export async function requireLinkOf(
  order: LedgerOrder,
  link: ServiceLink,
  config: Config,
  session: Session,
): Promise<void> {
  if (!movesContainers(order.operation)) return;
  const signal = AbortSignal.timeout(SERVICE_WITHIN_MS);
  const isTheirs = await withService(session, config, (service) =>
    link.surface === "request"
      ? isRequestOf(order, link.requestId, service, signal)
      : isProcedureOf(order, link.procedureId, service, signal),
  );
  if (isTheirs) return;
  const what = link.surface === "request" ? `request ${link.requestId}` : `procedure ${link.procedureId}`;
  const words = `the service lists no ${order.operation} ${what} for the order's subject and facility`;
  throw new Failure("CLI_NOT_APPLICABLE", `${words}; nothing was done (--unchecked links it without asking)`);
}

async function isRequestOf(
  { facilityId, subject, operation }: LedgerOrder,
  requestId: number,
  service: ServiceClient,
  signal: AbortSignal,
): Promise<boolean> {
  if (!movesContainers(operation)) return false;
  const ids = await service.snapshotRequestIds(facilityId, subject.code, operation, signal);
  return ids.includes(requestId);
}

async function isProcedureOf(
  { facilityId, subject, operation, containers }: LedgerOrder,
  procedureId: number,
  service: ServiceClient,
  signal: AbortSignal,
): Promise<boolean> {
  const procedure = await service.external.getProcedure(procedureId, signal).catch((error: unknown) => {
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
  const told = isComparable ? procedure : { ...procedure, containerIds: undefined };
  return differences(asked, told).length === 0;
}
