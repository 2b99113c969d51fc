import { asFailure } from "../../core/failures.ts";
import { hasPath, RECORDS } from "../../core/service-catalogue.ts";
import { OF_THE_SERVICE, type ServiceContext, unlessRefused } from "../http/context.ts";
import type { Query } from "../http/transport.ts";
import { DEFAULT_PER_PAGE } from "../lists/capabilities.ts";
import { listTanks } from "../refills.ts";
import { type InventoryEntry, type InventoryPage, type InventoryQuestion, readInventory } from "./shape.ts";
import { fieldsOf, type InventoryTrust, type Judged, type LocationField } from "./worth.ts";

/** Containers whose places are looked for in one storage solution. */
export interface InventorySearch {
  readonly storageId: number;
  readonly facilityId: number;
  /** The service's ids of the containers. */
  readonly ids: ReadonlySet<number>;
  /** How many calls their places take without the inventory. */
  readonly singleCalls: number;
}

/**
 * What the inventory of a storage solution shows of containers, where reading it can be expected to take fewer calls than asking for
 * each of them. Whatever is not shown has to be asked for singly. Never throws for the service's sake.
 */
export async function findInInventory(
  context: ServiceContext,
  search: InventorySearch,
  signal: AbortSignal,
): Promise<readonly InventoryEntry[]> {
  const { inventories, logger } = context;
  const { storageId, ids } = search;
  if (inventoryTrust(context) === "none") return [];
  const mostCalls = inventories.callsFor(storageId, search.singleCalls);
  if (mostCalls < 1) return [];
  try {
    const { entries, calls, size, isUnknown } = await readPages(context, search, mostCalls, signal);
    if (isUnknown) {
      inventories.sawUnknownForm(storageId);
      return [];
    }
    const found = new Set(entries.map(({ id }) => id));
    inventories.sawReading(storageId, { calls, size, share: found.size / ids.size });
    const whole = await withStorageName(context, search, entries, signal);
    return whole.filter(({ location }) => saysEnough(context, fieldsOf(location)));
  } catch (error) {
    signal.throwIfAborted();
    const failure = asFailure(error);
    if (OF_THE_SERVICE.has(failure.code))
      logger.debug({ storageId, err: failure }, "an inventory is not read now");
    else inventories.sawFailure(storageId, failure);
    return [];
  }
}

/** Whether places of inventories are taken, by the configuration and what was found out. */
export function inventoryTrust({ settings, inventories }: ServiceContext): InventoryTrust {
  const { inventory, paths } = settings;
  if (inventory.use === "none" || !hasPath(paths, "inventory")) return "none";
  if (inventory.use === "always") return "trusted";
  // Without any single location there is nothing to compare with.
  if (!hasPath(paths, "locations")) return "none";
  const { agreement } = inventories;
  if (agreement === undefined) return "untried";
  return agreement === "same" ? "trusted" : "none";
}

/**
 * Whether a place says as much as the one that agreed with the container's own location. Without a time it may be that of an
 * earlier storing.
 */
function saysEnough({ settings, inventories }: ServiceContext, fields: readonly LocationField[]): boolean {
  if (settings.inventory.use === "always") return true;
  return fields.includes("storedAt") && inventories.agreedFields.every((field) => fields.includes(field));
}

/** Takes down how a place of an inventory agreed with that container's own location; undefined when it has none yet. */
export function judgeInventory({ inventories }: ServiceContext, judged: Judged | undefined): void {
  inventories.sawTrial(judged);
}

interface Pages {
  readonly entries: readonly InventoryEntry[];
  /** Calls that the whole takes, as far as that can be told. */
  readonly calls: number;
  /** Containers in the whole, likewise. */
  readonly size: number;
  readonly isUnknown: boolean;
}

/**
 * Reads an inventory as the specification has it; by pages only where the answer may be one: it names more than it shows, or shows
 * just as many as a page has by default. Pages are read until all is found, or until the calls are up.
 */
async function readPages(
  context: ServiceContext,
  search: InventorySearch,
  mostCalls: number,
  signal: AbortSignal,
): Promise<Pages> {
  const { inventories, settings } = context;
  const { storageId, ids } = search;
  const wanted = { storageId, isWanted: (id: number) => ids.has(id) };
  const read = (query: Query) => readInventoryPage(context, wanted, query, signal);
  if (inventories.isPaged === true) return walk(read, context, search, mostCalls);
  const whole = await read({});
  const asWhole = { ...whole, calls: 1, size: whole.shown };
  if (whole.isPage) inventories.sawPaged(true);
  const mayBeCut = whole.total === undefined ? whole.shown === DEFAULT_PER_PAGE : whole.total > whole.shown;
  if (!mayBeCut || inventories.isPaged === false || mostCalls < 2) return asWhole;
  try {
    const first = await read({ page: 1, perPage: settings.perPage });
    const isPaged = first.shown > whole.shown || (first.total ?? 0) > first.shown;
    inventories.sawPaged(isPaged);
    return isPaged ? await walk(read, context, search, mostCalls, first) : asWhole;
  } catch (error) {
    // One that takes no parameters has shown what there is.
    if (asFailure(error).code !== "SERVICE_REFUSED") throw error;
    inventories.sawPaged(false);
    return asWhole;
  }
}

async function walk(
  read: (query: Query) => Promise<InventoryPage>,
  { inventories, settings }: ServiceContext,
  { ids }: InventorySearch,
  mostCalls: number,
  first?: InventoryPage,
): Promise<Pages> {
  const { perPage } = settings;
  // Each entry once, however pages shift while they are read.
  const found = new Map<string, InventoryEntry>();
  let previous: InventoryPage | undefined;
  let size = 0;
  for (let page = 1; ; page += 1) {
    const shown = page === 1 && first !== undefined ? first : await read({ page, perPage });
    const isRepeated = previous !== undefined && shown.firstId === previous.firstId;
    if (isRepeated) inventories.sawPaged(false);
    for (const entry of shown.entries) found.set(keyOf(entry), entry);
    size += isRepeated ? 0 : shown.shown;
    const { total } = shown;
    const calls = isRepeated
      ? 1
      : Math.max(page, Math.ceil((total ?? 0) / Math.max(1, (previous ?? shown).shown)));
    const isEnd =
      isRepeated || (total === undefined ? shown.shown < perPage : size >= total || shown.shown === 0);
    const isAllFound = new Set([...found.values()].map(({ id }) => id)).size >= ids.size;
    const isTooMuch = page === 1 ? calls > mostCalls : page >= mostCalls;
    if (isEnd || isAllFound || isTooMuch) {
      return {
        entries: [...found.values()],
        calls,
        size: total ?? size,
        isUnknown: shown.isUnknown && size === 0,
      };
    }
    previous = shown;
  }
}

function keyOf({ id, labels, location }: InventoryEntry): string {
  return JSON.stringify([id, labels, location]);
}

/** One answer of an inventory. @throws Failure those of `Transport.call` */
export function readInventoryPage(
  { settings, transport }: ServiceContext,
  wanted: Pick<InventoryQuestion, "storageId" | "isWanted">,
  query: Query,
  signal: AbortSignal,
): Promise<InventoryPage> {
  const { containerLabelFields: labelFields, inventory } = settings;
  const question = { ...wanted, labelFields, fields: inventory.fields };
  return transport.call(
    {
      method: "GET",
      route: RECORDS.inventory,
      id: wanted.storageId,
      query,
      read: ({ json }) => readInventory(json, question),
    },
    signal,
  );
}

/** The name of the storage solution, which single reads show, from the list of them where the inventory doesn't have it. */
async function withStorageName(
  context: ServiceContext,
  { storageId, facilityId }: InventorySearch,
  entries: readonly InventoryEntry[],
  signal: AbortSignal,
): Promise<readonly InventoryEntry[]> {
  if (entries.every(({ location }) => location.storageName !== undefined)) return entries;
  // A list that is refused names none.
  const list = async () => (await unlessRefused(() => listTanks(context, facilityId, signal))) ?? [];
  const name = await context.inventories.nameOf(storageId, list);
  return entries.map((entry) => {
    const { storageName = name, ...location } = entry.location;
    return { ...entry, location: { ...location, storageName } };
  });
}
