import { asFailure } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";
import type { OrderChange } from "../ledger/change-orders.ts";
import { formatId } from "../ledger/ids.ts";
import type { LedgerContainer, LedgerOrder } from "../ledger/order-row.ts";
import type { ServiceClient } from "../service/client.ts";
import type { RemoteProcedure } from "./tracked.ts";

type Containers = NonNullable<OrderChange["containers"]>;

/** A completed order and its procedure. */
interface Completed {
  readonly order: LedgerOrder;
  readonly procedure: RemoteProcedure | undefined;
}

/** Failed looks after which an order is reported as completed without a location rather than not at all. */
const MOST_LOOKS = 20;

/**
 * Finds out where the containers of completed orders stand. Only stored ones stand anywhere.
 *
 * @returns containers by order id; an order whose containers couldn't be looked up right now is left out, to be tried
 * again with its next poll.
 */
export async function locateContainers(
  completed: readonly Completed[],
  deps: { readonly service: ServiceClient; readonly concurrency: number; readonly logger: Logger },
  signal: AbortSignal,
): Promise<Map<number, Containers>> {
  const located = new Map<number, Containers>();
  const queue = completed.values();
  const work = async () => {
    for (const item of queue) {
      signal.throwIfAborted();
      const containers = await locateOrder(item, deps, signal);
      if (containers) located.set(item.order.id, containers);
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, deps.concurrency) }, work));
  return located;
}

async function locateOrder(
  { order, procedure }: Completed,
  deps: { readonly service: ServiceClient; readonly logger: Logger },
  signal: AbortSignal,
): Promise<Containers | undefined> {
  if (order.operation !== "STORE") return [];
  try {
    const ids = await containerIds(order, procedure, deps.service, signal);
    const located = [];
    for (const { position, containerId } of ids) {
      const location = await deps.service.getLocation(containerId, signal);
      located.push({ position, containerId, location });
    }
    return located;
  } catch (error) {
    signal.throwIfAborted();
    const failure = asFailure(error);
    deps.logger.warn(
      { orderId: formatId("o", order.id), err: failure },
      "the location of a stored container can't be read",
    );
    return failure.class === "permanent" || order.attempts >= MOST_LOOKS ? [] : undefined;
  }
}

/** The service's ids of the order's containers: by their labels, among those that the procedure names. */
async function containerIds(
  order: LedgerOrder,
  procedure: RemoteProcedure | undefined,
  service: ServiceClient,
  signal: AbortSignal,
): Promise<{ position: number; containerId: number }[]> {
  const named = procedure?.containerIds;
  const [container] = order.containers;
  const [only] = named ?? [];
  if (container && only !== undefined && order.containers.length === 1 && named?.length === 1) {
    return [{ position: container.position, containerId: only }];
  }
  const labels = order.containers.map(({ label }) => label);
  const idsByLabel = await service.findContainersByLabel(order.subject.code, labels, signal);
  return order.containers.flatMap(({ position, label }: LedgerContainer) => {
    const ids = idsByLabel.get(label) ?? [];
    const candidates = named && named.length > 0 ? ids.filter((id) => named.includes(id)) : ids;
    const [containerId] = candidates;
    return containerId !== undefined && candidates.length === 1 ? [{ position, containerId }] : [];
  });
}
