import type { Behaviour } from "../behaviour.ts";
import type { Container, StorageSolution } from "../world/rows.ts";
import { containerView, positionText } from "./request-rows.ts";

/** What is asked for of an inventory. */
interface InventoryAsked {
  readonly behaviour: Pick<Behaviour, "inventory" | "inventoryLagMs" | "maxPerPage">;
  readonly query: URLSearchParams;
  /** Monotonic ms. */
  readonly nowMs: number;
}

/** What is in a storage solution, in the form that the behaviour says: the specification leaves it open. */
export function inventoryView(
  { id, name }: StorageSolution,
  containers: readonly Container[],
  { behaviour, query, nowMs }: InventoryAsked,
): unknown {
  const newest = nowMs - behaviour.inventoryLagMs;
  const stored = containers.filter(({ slot, slotSince }) => slot?.storageId === id && slotSince <= newest);
  switch (behaviour.inventory) {
    case "count":
      return { storageId: id, count: stored.length };
    case "tree":
      return { id, name, canisters: canistersOf(stored) };
    case "pages": {
      const page = Number(query.get("page") ?? 1);
      const perPage = Math.min(behaviour.maxPerPage, Number(query.get("perPage") ?? 10));
      const entries = stored.slice((page - 1) * perPage, page * perPage).map(withParts);
      return { data: entries, meta: { page, perPage, total: stored.length } };
    }
    default: {
      const placed = stored.map((each) => ({ ...containerView(each), position: positionText(each) }));
      return { storageId: id, storageName: name, count: stored.length, sampleContainers: placed };
    }
  }
}

function withParts(container: Container) {
  const { slot } = container;
  return { ...containerView(container), canister: slot?.canister, cane: slot?.cane, slot: slot?.slot };
}

/** Levels without ids of their own. */
function canistersOf(stored: readonly Container[]) {
  const canisters = Map.groupBy(stored, ({ slot }) => slot?.canister);
  return [...canisters].map(([canister, inside]) => ({
    name: canister,
    canes: [...Map.groupBy(inside, ({ slot }) => slot?.cane)].map(([cane, held]) => ({
      name: cane,
      sampleContainers: held.map(({ id, name, slot, storedAt }) => ({
        id,
        name,
        slot: slot?.slot,
        storedAt,
      })),
    })),
  }));
}
