import type { Surface } from "../../core/surface.ts";
import type { OrderChange } from "../../ledger/orders/change.ts";
import { type LedgerOrder, toLink } from "../../ledger/orders/row.ts";
import type { NewRequest, Created as ServiceCreated } from "../../service/new-request.ts";
import type { NamedContainer } from "../../service/shapes.ts";
import { byLabel, whichContainers } from "../which-container.ts";
import type { SubmitSettings } from "./deps.ts";

/** What the service made of an order, as the ledger is to know it. */
type Created = Pick<OrderChange, "request" | "procedureId" | "procedureCode" | "remoteStatus" | "containers">;

/** What the answer to the call that created something says of the order. */
export function createdOf(
  surface: Surface,
  order: Pick<LedgerOrder, "containers" | "operation">,
  { id, procedureId, code, status, containers = [] }: ServiceCreated,
): Created {
  const common = { request: toLink(surface, id), remoteStatus: status };
  if (surface === "request") return { ...common, procedureId };
  const named = order.operation === "STORE" ? containers : [];
  return { ...common, procedureCode: code, containers: identify(order.containers, named) };
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
