import type { Phi } from "../../core/phi.ts";
import type { Surface } from "../../core/surface.ts";
import type { OrderChange } from "../../ledger/orders/change.ts";
import type { LedgerOrder } from "../../ledger/orders/row.ts";
import type { NewRequest } from "../../service/new-request.ts";
import type { NamedContainer } from "../../service/shapes.ts";
import { byLabel, whichContainers } from "../which-container.ts";
import type { SubmitDeps, SubmitSettings } from "./deps.ts";

/** What the service made of an order, as the ledger is to know it. */
export type Created = Pick<
  OrderChange,
  "request" | "procedureId" | "procedureCode" | "remoteStatus" | "containers"
>;

/** The one call that must not be made twice. */
export interface Creation {
  readonly surface: Surface;
  readonly order: Pick<LedgerOrder, "containers">;
  readonly request: NewRequest;
  /** Runs right before the first byte leaves; when it throws, nothing is sent. */
  readonly beforeSend: () => void;
  readonly sensitive: readonly Phi[];
}

/**
 * Has the service create the procedure request, or on the external surface the procedure, of an order.
 *
 * @throws Failure by what is known of the effect: see `createRequest` and `createProcedure` in `src/service`.
 */
export async function create(
  { surface, order, request, beforeSend, sensitive }: Creation,
  { service }: Pick<SubmitDeps, "service">,
  signal: AbortSignal,
): Promise<Created> {
  const options = { beforeSend, sensitive };
  if (surface === "request") {
    const { requestId, procedureId, status } = await service.createRequest(request, signal, options);
    return { request: { surface, requestId }, procedureId, remoteStatus: status };
  }
  const made = await service.external.createProcedure(request, signal, options);
  return {
    request: { surface, procedureId: made.procedureId },
    procedureCode: made.code,
    remoteStatus: made.status,
    containers: identify(order.containers, made.containers),
  };
}

/** The ids that a STORE answer gives the order's containers, by their labels. */
export function identify(
  ours: LedgerOrder["containers"],
  theirs: readonly NamedContainer[],
): NonNullable<OrderChange["containers"]> {
  const shown = theirs.map(({ id, label }) => ({ id, labels: label === undefined ? [] : [label] }));
  return [...whichContainers(byLabel(ours), shown)].flatMap(([position, which]) =>
    which.kind === "one" && which.shown.id !== undefined ? [{ position, containerId: which.shown.id }] : [],
  );
}

/** The procedure request that an order becomes. The same order gives the same request, its mark included. */
export function toNewRequest(
  order: LedgerOrder,
  containerIds: readonly number[],
  deps: { readonly settings: Pick<SubmitSettings, "correlation"> },
): NewRequest {
  const common = { facilityId: order.facilityId, subjectCode: order.subject.code };
  if (order.operation === "RETRIEVAL") return { ...common, type: "RETRIEVAL", containerIds };
  const ref = deps.settings.correlation === "token" ? order.mark : undefined;
  const containers = order.containers.map(({ label, description }) => ({ label, description }));
  return { ...common, type: "STORE", containers, ref };
}
