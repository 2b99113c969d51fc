import type { ContainerLocation } from "../../core/outcome.ts";
import type { Phi } from "../../core/phi.ts";
import { serviceTimeMs } from "../../core/service-time.ts";
import type { Surface } from "../../core/surface.ts";
import type { LedgerContainer } from "../../ledger/orders/row.ts";
import type { ServiceCalls } from "../../service/client.ts";
import type { InventorySearch } from "../../service/inventory/find.ts";
import type { InventoryEntry } from "../../service/inventory/shape.ts";
import { type Agreement, compareLocations, fieldsOf, type Judged } from "../../service/inventory/worth.ts";
import type { ServiceContainer, ServiceSubject } from "../../service/shapes.ts";
import { whichContainers } from "../which-container.ts";
import type { Completed } from "./news.ts";

type Calls = Pick<ServiceCalls, "findSubject" | "listSubjectContainers" | "readContainers">;

/** Pages by ids that orders share may cost as many calls as half of them would cost by themselves. */
const ORDERS_A_PAGE = 2;

/**
 * What several orders of one round ask alike: orders of one subject share its containers, and who the subject is. Each of them
 * completed before the round began, so what is read within it is late enough for all. What failed is asked for again by the next
 * order that needs it.
 */
export class RoundReads {
  readonly #service: Calls;
  readonly #signal: AbortSignal;
  readonly #reads = new Map<string, Promise<unknown>>();
  /** Subject codes of more than one order; what one order alone asks for is not kept. */
  readonly #shared: ReadonlySet<string>;
  /** Orders whose containers are to be identified, by the ids that their procedures name. */
  #expected: readonly Completed[] = [];
  #named: Promise<ReadonlyMap<number, ServiceContainer>> | undefined;

  /** @param codes of the round's orders, one for each */
  constructor(codes: readonly Phi[], service: Calls, signal: AbortSignal) {
    this.#service = service;
    this.#signal = signal;
    const seen = new Set<string>();
    const twice = codes.map((code) => code.reveal()).filter((code) => seen.size === seen.add(code).size);
    this.#shared = new Set(twice);
  }

  /**
   * What a surface lists for a subject's code; somebody else's containers where another facility has the same code.
   *
   * @param ids the containers that are looked for, of which the list may end with the last; all when undefined
   */
  listContainers(surface: Surface, code: Phi, ids?: readonly number[]): Promise<readonly ServiceContainer[]> {
    const isShared = this.#isShared(code);
    const asked = { surface, subjectCode: code, ids: isShared ? undefined : ids };
    const list = () => this.#service.listSubjectContainers(asked, this.#signal);
    return this.#once(`containers ${surface}`, code, list);
  }

  /** The subject that has the code in a facility. */
  findSubject(facilityId: number, code: Phi): Promise<ServiceSubject | undefined> {
    const find = () => this.#service.findSubject(facilityId, code, this.#signal);
    return this.#once(`subject ${facilityId}`, code, find);
  }

  #isShared(code: Phi): boolean {
    return this.#shared.has(code.reveal());
  }

  /** Announces orders whose containers have no ids yet: read together, they cost less. */
  expect(orders: readonly Completed[]): void {
    this.#expected = orders;
  }

  /**
   * The containers that the procedure of an order names, from pages that it shares with the others that are expected. Undefined
   * where they don't show all of these, each as the subject's; its own list is to be asked then.
   */
  async listNamed(
    { subject, subjectId }: Completed["order"],
    named: readonly number[],
  ): Promise<readonly ServiceContainer[] | undefined> {
    if (this.#expected.length < ORDERS_A_PAGE || named.length === 0) return undefined;
    const found = await this.#readNamed();
    const isOurs = (each: ServiceContainer) =>
      each.subjectCode?.reveal() === subject.code.reveal() &&
      (each.subjectId === undefined || each.subjectId === subjectId);
    const shown = named.map((id) => found.get(id));
    return shown.every((each) => each !== undefined && isOurs(each))
      ? (shown as ServiceContainer[])
      : undefined;
  }

  #readNamed(): Promise<ReadonlyMap<number, ServiceContainer>> {
    this.#named ??= this.#service.readContainers(
      {
        ids: new Set(this.#expected.flatMap(({ procedure }) => procedure?.containerIds ?? [])),
        mostPages: Math.ceil(this.#expected.length / ORDERS_A_PAGE),
      },
      this.#signal,
    );
    return this.#named;
  }

  #once<T>(question: string, code: Phi, ask: () => Promise<T>): Promise<T> {
    if (!this.#isShared(code)) return ask();
    const key = `${question} ${code.reveal()}`;
    const known = this.#reads.get(key) as Promise<T> | undefined;
    if (known) return known;
    const read = ask();
    this.#reads.set(key, read);
    read.catch(() => this.#reads.delete(key));
    return read;
  }
}

/** A container of an order as an inventory shows it. */
interface ShownPlace {
  readonly containerId: number;
  readonly location: ContainerLocation;
}

/** An inventory that was read for this many containers at least; for one alone it has too much else in it. */
const FEWEST = 2;

/** What is to be read for completed orders, that with the most to find first. */
export function planInventories(completed: readonly Completed[]): InventorySearch[] {
  const searches = new Map<
    number,
    InventorySearch & { readonly ids: Set<number>; count: number; singleCalls: number }
  >();
  for (const { order, procedure } of completed) {
    const { storageId, containerIds = [] } = procedure ?? {};
    const open = order.containers.filter(({ location }) => location === undefined);
    if (!mayBeShown(order) || storageId === undefined || containerIds.length === 0 || open.length === 0)
      continue;
    const { facilityId } = order;
    const search = searches.get(storageId) ?? {
      storageId,
      facilityId,
      ids: new Set(),
      count: 0,
      singleCalls: 0,
    };
    searches.set(storageId, search);
    for (const id of containerIds) search.ids.add(id);
    search.count += open.length;
    // Those that have no id yet are identified by the list of the subject's containers.
    search.singleCalls += open.length + (open.some(({ containerId }) => containerId === undefined) ? 1 : 0);
  }
  return [...searches.values()]
    .filter(({ count }) => count >= FEWEST)
    .sort((a, b) => b.singleCalls - a.singleCalls);
}

/** Procedures of the external surface show the places themselves. */
function mayBeShown({ operation, surface }: Completed["order"]): boolean {
  return operation === "STORE" && surface !== "external";
}

/** Places that inventories showed in a round. */
export class InventoryPlaces {
  readonly #byStorage = new Map<number, ReadonlyMap<number, readonly InventoryEntry[]>>();

  /** Reads what is planned, one after the other, since each may be large, until the time is over. */
  static async read(
    searches: readonly InventorySearch[],
    service: Pick<ServiceCalls, "findInInventory">,
    isOver: () => boolean,
    signal: AbortSignal,
  ): Promise<InventoryPlaces> {
    const places = new InventoryPlaces();
    for (const search of searches) {
      if (isOver()) break;
      const entries = await service.findInInventory(search, signal);
      places.add(search.storageId, entries);
    }
    return places;
  }

  add(storageId: number, entries: readonly InventoryEntry[]): void {
    // Where others have a time, one without it would be less than the service knows.
    const isTimed = entries.some(({ location }) => location.storedAt !== undefined);
    const usable = isTimed ? entries.filter(({ location }) => location.storedAt !== undefined) : entries;
    this.#byStorage.set(
      storageId,
      Map.groupBy(usable, ({ id }) => id),
    );
  }

  /**
   * The places of an order's containers, by their positions. One is believed where a single entry has an id that the procedure
   * names and the container's label with it, or, without any label, the id that stood with the label before; where it names no
   * other subject, and where it is of this storing. Whatever contradicts is no place.
   *
   * @param containers with the ids that are known by now
   */
  of(
    { order, procedure }: Completed,
    containers: readonly Pick<LedgerContainer, "position" | "label" | "containerId" | "location">[],
  ): ReadonlyMap<number, ShownPlace> {
    const found = new Map<number, ShownPlace>();
    const inventory = this.#byStorage.get(procedure?.storageId ?? Number.NaN);
    if (inventory === undefined || !mayBeShown(order)) return found;
    const entries = [...new Set(procedure?.containerIds)].flatMap((id) => {
      const [entry, ...others] = inventory.get(id) ?? [];
      return entry === undefined || others.length > 0 ? [] : [entry];
    });
    const open = containers.filter(({ location }) => location === undefined);
    for (const [position, which] of whichContainers(open, entries.map(withoutSubject))) {
      if (which.kind !== "one") continue;
      const { entry } = which.shown;
      const known = open.find((each) => each.position === position)?.containerId;
      if (known !== undefined && known !== entry.id) continue;
      if (isAnothers(entry, order) || !isOfThisStoring(entry.location, procedure)) continue;
      found.set(position, { containerId: entry.id, location: entry.location });
    }
    return found;
  }
}

/** Whose an entry is, is asked of the one that is it alone: it may be told by the subject's code as well. */
function withoutSubject(entry: InventoryEntry) {
  return { id: entry.id, labels: entry.labels, entry };
}

function isAnothers(
  { subjectId, subjectCode }: InventoryEntry,
  { subject, subjectId: ours }: Completed["order"],
): boolean {
  const isOtherCode = subjectCode !== undefined && subjectCode.reveal() !== subject.code.reveal();
  return isOtherCode || (subjectId !== undefined && ours !== undefined && subjectId !== ours);
}

/**
 * Whether a place is of the storing that the procedure stands for: an inventory may lag behind, and show the place that a container had
 * before it was retrieved. Both times are the service's own.
 */
function isOfThisStoring({ storedAt }: ContainerLocation, procedure: Completed["procedure"]): boolean {
  if (storedAt === undefined) return true;
  const [storedMs, createdMs] = [serviceTimeMs(storedAt), serviceTimeMs(procedure?.createdAt)];
  return storedMs !== undefined && createdMs !== undefined && storedMs >= createdMs;
}

/**
 * How places of an inventory agree with those that were read singly of the same containers.
 * @returns undefined when none can be compared
 */
export function judgePlaces(
  shown: ReadonlyMap<number, ShownPlace>,
  single: readonly Pick<LedgerContainer, "position" | "containerId" | "location">[],
): Judged | undefined {
  const compared = single.flatMap(({ position, containerId, location }) => {
    const place = shown.get(position);
    if (place === undefined || location === undefined) return [];
    const agreement: Agreement =
      place.containerId === containerId ? compareLocations(place.location, location) : "other";
    return [{ agreement, fields: fieldsOf(location) }];
  });
  const worst = (["other", "less", "same"] as const).find((each) =>
    compared.some(({ agreement }) => agreement === each),
  );
  if (worst === undefined) return undefined;
  return { agreement: worst, fields: [...new Set(compared.flatMap(({ fields }) => fields))] };
}
