import type { Surface } from "../core/surface.ts";
import type { LedgerOrder } from "../ledger/order-row.ts";
import type { ServiceClient } from "../service/client.ts";
import type { SettleFindings } from "../service/settle.ts";
import { toNewRequest } from "./new-request.ts";

/** What each surface makes of an order. */
export const WORD = { request: "request", external: "procedure" } as const satisfies Record<Surface, string>;
export const WORDS = { request: "requests", external: "procedures" } as const satisfies Record<
  Surface,
  string
>;

/** Looks at the service for what the calls of an order made since the first of them, on the surface that they went to. */
export async function findCreated(
  surface: Surface,
  order: LedgerOrder,
  {
    service,
    settings,
  }: { readonly service: ServiceClient; readonly settings: { readonly correlation: "token" | "labels" } },
  signal: AbortSignal,
): Promise<SettleFindings> {
  const containerIds = order.containers.flatMap((container) => container.containerId ?? []);
  const lost = {
    ...toNewRequest(order, containerIds, { settings }),
    sentAfter: order.calledAt ?? order.intentAt ?? order.receivedAt,
    knownIds: new Set([...order.knownRequestIds, ...order.formerIds]),
  };
  return surface === "request"
    ? service.findCreatedRequest(lost, signal)
    : service.external.findCreatedProcedure(lost, signal);
}
