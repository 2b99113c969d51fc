import { isTerminal } from "../core/order-state.ts";
import { findPausedQueues } from "../ledger/operator/queues.ts";
import { findLaneHolders } from "../ledger/orders/claiming.ts";
import type { LedgerOrder } from "../ledger/orders/row.ts";
import { findMovers } from "../ledger/orders/same-containers.ts";
import { isUncompared } from "../ledger/restored/restore.ts";
import { isWorkerThere } from "../ledger/workers/roster.ts";
import { findRush, findServicePause } from "../ledger/workers/service-pause.ts";
import type { ListPlace } from "./list.ts";
import type { SiteSettings } from "./place.ts";
import type { SiteStanding, Surroundings } from "./why-waiting.ts";

/** An order of a list, with what is around it; without that nothing is said of what it waits for. */
export interface ListedOrder extends LedgerOrder {
  readonly around?: Surroundings | undefined;
}

/** Where it is asked what orders wait for. */
export interface WaitingPlace extends Pick<ListPlace, "pool" | "nowMs"> {
  readonly config: Pick<SiteSettings, "lanes"> & Partial<Pick<SiteSettings, "tracing">>;
}

/** What holds orders up right now, whichever they are. */
async function findStanding({ pool, nowMs }: WaitingPlace): Promise<SiteStanding> {
  const [isDaemonThere, pausedQueues, isComparing, servicePause, rush] = await Promise.all([
    isWorkerThere(pool),
    findPausedQueues(pool),
    isUncompared(pool),
    findServicePause(pool),
    findRush(pool),
  ]);
  return { nowMs, isDaemonThere, pausedQueues, isComparing, servicePause, rush };
}

/** Orders with what is around each that says why it waits. */
export async function withSurroundings<Order extends LedgerOrder>(
  place: WaitingPlace,
  orders: readonly Order[],
): Promise<readonly (Order & Pick<ListedOrder, "around">)[]> {
  const { pool, config } = place;
  if (orders.every(({ state }) => isTerminal(state))) return orders;
  const waiting = orders.filter(({ state }) => state === "received").map(({ id }) => id);
  const [site, laneHolders, movers] = await Promise.all([
    findStanding(place),
    findLaneHolders(pool, waiting, config.lanes.parkedBlocks),
    findMovers(pool, waiting),
  ]);
  return orders.map((order) => ({
    ...order,
    around: { ...site, laneHolder: laneHolders.get(order.id), mover: movers.get(order.id) },
  }));
}
