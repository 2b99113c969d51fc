import { z } from "zod";
import type { ContainerLocation } from "../core/outcome.ts";
import { isObject, linkedId, optional, type RawObject, textValue } from "./values.ts";

const fields = z.looseObject({
  storageName: optional(textValue),
  canister: optional(textValue),
  cane: optional(textValue),
  position: optional(textValue),
  storedAt: optional(textValue),
});

/** Reads a location of either surface: flat (`storageName`, `position`) or with a nested `storage` object. */
export function parseLocation(raw: RawObject): ContainerLocation {
  const inner = isObject(raw.location) ? raw.location : raw;
  const told = fields.parse({ ...raw, ...inner });
  const storage = inner.storage;
  return {
    storageId: linkedId(inner, "storageId", "storage"),
    storageName:
      told.storageName ??
      (isObject(storage) ? textValue.safeParse(storage.name).data : undefined) ??
      undefined,
    canister: told.canister ?? undefined,
    cane: told.cane ?? undefined,
    position: told.position ?? undefined,
    storedAt: told.storedAt ?? undefined,
  };
}

/** The location that an entry carries; undefined when it tells no place, since a time alone is none. */
export function findLocation(raw: RawObject): ContainerLocation | undefined {
  const location = parseLocation(raw);
  return isPlace(location) ? location : undefined;
}

/** Whether a location says where; an answer of nothing but empty fields, or with a time alone, doesn't. */
export function isPlace({ storedAt: _storedAt, ...place }: ContainerLocation): boolean {
  return Object.values(place).some((part) => part !== undefined && part !== "");
}
