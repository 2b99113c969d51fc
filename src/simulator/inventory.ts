import type { Container, StorageSolution } from "./records.ts";
import { containerView, position } from "./request-views.ts";

/**
 * The shapes that the simulator has for an inventory, whose answer the specification leaves open.
 * - `containers`: `{ storageId, storageName, count, sampleContainers }`
 * - `tree`: `{ storage, canisters: [{ canister, canes: [{ cane, sampleContainers }] }] }`
 */
export const INVENTORY_SHAPES = ["containers", "tree"] as const;
export type InventoryShape = (typeof INVENTORY_SHAPES)[number];

/** What is in a storage solution, in the chosen shape; `stored` are its containers. */
export function inventoryView(
  { id, name }: StorageSolution,
  stored: readonly Container[],
  shape: InventoryShape,
): unknown {
  const placed = (container: Container) => ({ ...containerView(container), position: position(container) });
  switch (shape) {
    case "containers":
      return { storageId: id, storageName: name, count: stored.length, sampleContainers: stored.map(placed) };
    case "tree":
      return { storage: { id, name }, canisters: canistersOf(stored) };
  }
}

function canistersOf(stored: readonly Container[]) {
  const byCanister = Map.groupBy(stored, ({ slot }) => slot?.canister ?? "");
  return [...byCanister].map(([canister, within]) => ({
    canister,
    canes: [...Map.groupBy(within, ({ slot }) => slot?.cane ?? "")].map(([cane, held]) => ({
      cane,
      sampleContainers: held.map(({ id, name, slot }) => ({ id, name, slot: slot?.slot })),
    })),
  }));
}
