import type { Clock } from "../../core/clock.ts";
import type { ServiceCalls } from "../../service/client.ts";
import { type LocationLook, Look, type LookDeps, type Unlocated } from "./look.ts";
import type { Completed } from "./news.ts";
import { InventoryPlaces, judgePlaces, planInventories, RoundReads } from "./round-reads.ts";

export interface LocateDeps extends LookDeps {
  readonly service: LookDeps["service"] &
    Pick<
      ServiceCalls,
      | "findSubject"
      | "listSubjectContainers"
      | "readContainers"
      | "findInInventory"
      | "inventoryTrust"
      | "judgeInventory"
    >;
  /** How many orders are looked at at once. */
  readonly concurrency: number;
  readonly clock: Pick<Clock, "monotonic">;
}

interface LocateRound<T extends Completed> {
  /** For how long calls are begun, ms; the news of other orders wait for the end of the round. */
  readonly forMs: number;
  /** Looks that the round before left unfinished, by order id; afterwards those of this round. */
  readonly unfinished: Map<number, Look>;
  /** Takes each look as soon as it is over, or the round's time is; the next order's begins when it has. */
  readonly record: (item: T, look: LocationLook) => Promise<void>;
}

/**
 * Finds out where the containers of completed orders stand, as far as earlier looks left it open. Only stored ones
 * stand anywhere. An outage never ends the search; what the service does not show does, after some looks.
 * An order with many containers takes no more than the round's time from the others.
 *
 * @returns whether each order was looked at to the end; the others are for the next round
 */
export async function lookForLocations<T extends Completed>(
  completed: readonly T[],
  { forMs, unfinished, record }: LocateRound<T>,
  deps: LocateDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const before = new Map(unfinished);
  unfinished.clear();
  const endsAt = deps.clock.monotonic() + forMs;
  const codes = completed.map(({ order }) => order.subject.code);
  const reads = new RoundReads(codes, deps.service, signal);
  const isOver = () => deps.clock.monotonic() >= endsAt;
  const fresh = completed.filter(({ order }) => !before.has(order.id));
  const places = await InventoryPlaces.read(planInventories(fresh), deps.service, isOver, signal);
  const lookAt = async (item: T, shown: InventoryPlaces | undefined) => {
    signal.throwIfAborted();
    const { id } = item.order;
    const look = before.get(id) ?? new Look(item.order, deps, reads, signal);
    const isWhole = await look.go(item.procedure, isOver, shown);
    if (!isWhole) unfinished.set(id, look);
    const result = look.result(isWhole);
    await record(item, result);
    return result;
  };
  const tried = deps.service.inventoryTrust() === "untried" ? findTrial(fresh, places) : undefined;
  if (tried !== undefined) {
    // Asked for singly, to see whether the inventory shows the same.
    const { containers } = await lookAt(tried, undefined);
    deps.service.judgeInventory(judgePlaces(places.of(tried, tried.order.containers), containers));
  }
  const shown = deps.service.inventoryTrust() === "trusted" ? places : undefined;
  reads.expect(fresh.filter((item) => item !== tried && hasUnidentified(item, shown)));
  const queue = completed.filter((item) => item !== tried).values();
  let isSomeLeft = false;
  const work = async () => {
    let hasBegun = false;
    for (const item of queue) {
      // The others are left to the next round, which begins with those that are due for longest. What an inventory has shown takes
      // no call any more, and would have to be read again.
      if (hasBegun && isOver() && !isShown(item, shown)) {
        isSomeLeft = true;
        continue;
      }
      hasBegun = true;
      await lookAt(item, shown);
    }
  };
  const ended = await Promise.allSettled(Array.from({ length: Math.max(1, deps.concurrency) }, work));
  for (const each of ended) if (each.status === "rejected") throw each.reason;
  return unfinished.size === 0 && !isSomeLeft;
}

/** Whether inventories have shown every place of an order that is not known yet. */
function isShown(item: Completed, shown: InventoryPlaces | undefined): boolean {
  const open = item.order.containers.filter(({ location }) => location === undefined);
  return shown !== undefined && shown.of(item, open).size === open.length;
}

/** Whether the service's ids of some containers are to be found among those that the procedure names. */
function hasUnidentified({ order, procedure }: Completed, places: InventoryPlaces | undefined): boolean {
  if (order.operation !== "STORE" || order.surface === "external" || !procedure?.containerIds?.length)
    return false;
  const shown = places?.of({ order, procedure }, order.containers);
  return order.containers.some(
    ({ position, containerId }) => containerId === undefined && !shown?.has(position),
  );
}

/** The order with the fewest containers of which an inventory shows some. */
function findTrial<T extends Completed>(completed: readonly T[], places: InventoryPlaces): T | undefined {
  const shown = completed.filter((item) => places.of(item, item.order.containers).size > 0);
  return shown.sort((a, b) => a.order.containers.length - b.order.containers.length)[0];
}

/** What the timeline says of an order that is reported without some locations; undefined when none is missing. */
export function describeUnlocated(unlocated: readonly Unlocated[]): string | undefined {
  if (unlocated.length === 0) return undefined;
  const each = unlocated.map(({ position, text }) => `container ${position}: ${text}`);
  return `not every location is known (${each.join("; ")})`;
}
