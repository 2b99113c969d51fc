import type { Control } from "./control.ts";

/** What the page shows: the newest rows, counts by status, and the settings. */
export function overview(control: Control, limit: number) {
  const requests = control.requests();
  const procedures = control.procedures();
  const containers = control.containers();
  const containerById = new Map(containers.map((row) => [row.id, row]));
  const facilities = control.facilities().map(({ id, name }) => ({ id, name }));
  const facilityNameById = new Map(facilities.map(({ id, name }) => [id, name]));
  const storages = control.storages();
  const storageNameById = new Map(storages.map(({ id, name }) => [id, name]));
  const labelsOf = (ids: readonly number[]) => ids.map((id) => containerById.get(id)?.name ?? String(id));
  const newest = <T>(rows: readonly T[]) => rows.slice(-limit).reverse();
  return {
    settings: control.settings(),
    faults: control.faults(),
    counts: {
      requests: countByStatus(requests),
      procedures: countByStatus(procedures),
      subjects: control.subjects().length,
      stored: containers.filter(({ slot }) => slot !== undefined).length,
    },
    facilities,
    storages: storages.map(({ id, name, facilityId, isRegistered }) => ({
      id,
      name,
      facilityId,
      isRegistered,
    })),
    requests: newest(requests).map((row) => ({
      ...row,
      facility: facilityNameById.get(row.facilityId),
      labels: row.type === "STORE" ? row.containers.map(({ name }) => name) : labelsOf(row.containerIds),
    })),
    procedures: newest(procedures).map((row) => ({
      ...row,
      facility: facilityNameById.get(row.facilityId),
      storage: storageNameById.get(row.storageId),
      labels: labelsOf(row.containerIds),
      containers: row.containerIds.map((id) => ({
        id,
        name: containerById.get(id)?.name,
        rfidTag: containerById.get(id)?.rfidTag,
      })),
    })),
    stored: newest(containers.filter(({ slot }) => slot !== undefined)).map((row) => ({
      ...row,
      storage: storageNameById.get(row.slot?.storageId ?? 0),
    })),
  };
}

function countByStatus(rows: readonly { readonly status: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status } of rows) counts[status] = (counts[status] ?? 0) + 1;
  return counts;
}
