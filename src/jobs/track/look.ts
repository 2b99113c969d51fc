import { asFailure, type Failure, LASTING } from "../../core/failures.ts";
import type { Logger } from "../../core/logger.ts";
import type { ContainerLocation } from "../../core/outcome.ts";
import { serviceTimeMs } from "../../core/service-time.ts";
import type { FacilityWay, Surface } from "../../core/surface.ts";
import { formatId } from "../../ledger/ids.ts";
import type { OrderChange } from "../../ledger/orders/change.ts";
import type { LedgerContainer } from "../../ledger/orders/row.ts";
import type { ServiceCalls } from "../../service/client.ts";
import { isPlace, type NamedContainer, type ServiceContainer } from "../../service/shapes.ts";
import { byLabel, ofSubject, type Which, whichContainers } from "../which-container.ts";
import type { Completed } from "./news.ts";
import type { InventoryPlaces, RoundReads } from "./round-reads.ts";

type Containers = NonNullable<OrderChange["containers"]>;
type Known = Containers[number];

/** A container whose place the service did not show, and why, in words for the timeline. */
export interface Unlocated {
  readonly position: number;
  readonly text: string;
}

/** What a look for the containers of one order found. */
export interface LocationLook {
  /** All that is known of them by now, to be kept whatever follows. */
  readonly containers: Containers;
  readonly unlocated: readonly Unlocated[];
  /**
   * - `report`: everything is known, or was looked for often enough; the order is completed with what is known.
   * - `look_again`: the service had an answer, but not this one; it counts as one of the order's `attempts`.
   * - `wait`: the service could not be asked, which counts for nothing.
   * - `go_on`: the round's time was over before every location was asked for; the next round goes on with this look.
   */
  readonly next: "report" | "look_again" | "wait" | "go_on";
}

export interface LookDeps {
  readonly service: Pick<ServiceCalls, "getLocation" | "has" | "locationSurface" | "clockSkewMs">;
  readonly logger: Logger;
  /** How orders of a facility, by the service's id for it, go to the service. */
  readonly wayOf: (facilityId: number) => FacilityWay;
}

/**
 * Looks without a full answer after which an order is reported as completed with what is known, rather than never. Lists
 * lag behind, a location may be written after the procedure's status, and credentials are corrected: none of it is final.
 */
const MOST_LOOKS = 5;
/** Room for clocks that differ more than the `Date` header shows, for times without a zone, and for whole days. */
const CLOCK_MARGIN_MS = 48 * 3_600_000;

/**
 * One look for the containers of one order; what fails for one of them leaves the others alone. A container's id and
 * location are taken only where the service shows them together with its label: an id alone may be another container's,
 * however many there are.
 */
export class Look {
  readonly #order: Completed["order"];
  readonly #deps: LookDeps;
  readonly #reads: RoundReads;
  readonly #signal: AbortSignal;
  readonly #known = new Map<number, Known>();
  readonly #unlocated = new Map<number, string>();
  /** What contradicts itself: nothing more is asked about it in this look, and what was known of it is forgotten. */
  readonly #doubtful = new Set<number>();
  /** Whose location no further look will show. */
  readonly #withoutPlace = new Set<number>();
  /** Whose location was asked for in this look. */
  readonly #asked = new Set<number>();
  readonly #failures: Failure[] = [];
  /** The ids by which locations are asked for; undefined until the containers are identified. */
  #askedIds: ReadonlyMap<number, number> | undefined;

  constructor(order: Completed["order"], deps: LookDeps, reads: RoundReads, signal: AbortSignal) {
    this.#order = order;
    this.#deps = deps;
    this.#reads = reads;
    this.#signal = signal;
    for (const { position, containerId, location } of order.containers) {
      if (containerId === undefined && location === undefined) continue;
      this.#known.set(position, { position, containerId, location });
    }
  }

  /**
   * Looks, or goes on with a look that was cut short.
   * @param places of inventories that are to be believed
   * @returns false when the time was over first
   */
  async go(
    procedure: Completed["procedure"],
    isOver: () => boolean,
    places?: InventoryPlaces,
  ): Promise<boolean> {
    if (this.#order.operation !== "STORE") return true;
    if (this.#askedIds === undefined) {
      this.#take(procedure?.containers ?? []);
      this.#forgetUnnamed(procedure?.containerIds ?? []);
      this.#takePlaces(procedure, places);
      await this.#identify(procedure?.containerIds ?? []);
      this.#doubtShared();
      this.#askedIds = await this.#findAskedIds();
    }
    return this.#locate(this.#askedIds, isOver);
  }

  /**
   * Takes what a procedure of the external surface itself shows of the order's containers, by their labels: a completed
   * one carries their locations (specification, External rule 3). An entry without a label is known by an id that was
   * seen with the label before.
   */
  #take(shown: readonly NamedContainer[]): void {
    const wanted = this.#order.containers.map(({ position, label }) => ({
      ...{ position, label, containerId: this.#known.get(position)?.containerId },
    }));
    const entries = shown.map((each) => ({ ...each, labels: each.label === undefined ? [] : [each.label] }));
    for (const [position, which] of whichContainers(wanted, entries)) {
      if (which.kind === "contradicted")
        this.#doubt(position, "the procedure shows its container with another label");
      if (which.kind !== "one") continue;
      const known = this.#known.get(position);
      const containerId = which.shown.id ?? known?.containerId;
      const isSame = containerId === known?.containerId;
      const location = (isSame ? known?.location : undefined) ?? which.shown.location;
      if (containerId !== undefined || location)
        this.#known.set(position, { position, containerId, location });
    }
  }

  /** An id that the procedure doesn't name is none of what it stored. */
  #forgetUnnamed(named: readonly number[]): void {
    if (named.length === 0) return;
    for (const { position, containerId } of [...this.#known.values()]) {
      if (containerId !== undefined && !named.includes(containerId)) this.#known.delete(position);
    }
  }

  /** Takes what an inventory shows; whatever it doesn't is asked for singly. */
  #takePlaces(procedure: Completed["procedure"], places: InventoryPlaces | undefined): void {
    if (places === undefined) return;
    const open = this.#order.containers.flatMap(({ position, label }) =>
      this.#doubtful.has(position) ? [] : [{ label, ...(this.#known.get(position) ?? { position }) }],
    );
    for (const [position, shown] of places.of({ order: this.#order, procedure }, open)) {
      this.#known.set(position, { position, ...shown });
    }
  }

  /** Finds the service's ids of containers that have none yet: by their labels, among those that the procedure names. */
  async #identify(named: readonly number[]): Promise<void> {
    const nameless = this.#order.containers.filter(
      ({ position }) => !this.#known.has(position) && !this.#doubtful.has(position),
    );
    if (nameless.length === 0) return;
    const { surface = "request" } = this.#order;
    const shared = surface === "request" ? await this.#reads.listNamed(this.#order, named) : undefined;
    // The ids that the procedure names are all that count: what else has one of the labels is another container.
    const ids = named.length > 0 ? named : undefined;
    const labels = nameless.map(({ label }) => label);
    const listed = shared ?? (await this.#try(nameless, () => this.#listOwn(labels, surface, ids)));
    if (!listed) return;
    for (const [position, which] of whichContainers(byLabel(nameless), listed, { named })) {
      if (which.kind === "one") this.#known.set(position, { position, containerId: which.shown.id });
      else if (which.kind === "shared") this.#doubt(position, SHARED);
      else this.#unlocated.set(position, wordsForWhich(which, listed));
    }
  }

  /** One container has one label: where two labels of the order lead to one id, neither is believed. */
  #doubtShared(): void {
    for (const same of Map.groupBy(this.#known.values(), ({ containerId }) => containerId).values()) {
      if (same.length < 2 || same[0]?.containerId === undefined) continue;
      for (const { position } of same) {
        this.#doubt(position, SHARED);
      }
    }
  }

  #doubt(position: number, text: string): void {
    this.#known.delete(position);
    this.#doubtful.add(position);
    this.#unlocated.set(position, text);
  }

  /**
   * By which ids locations are asked for: by default those of the request surface. What the external one calls a container may
   * be another one's id there, so the labels are looked up once more.
   */
  async #findAskedIds(): Promise<ReadonlyMap<number, number>> {
    const askedIds = new Map<number, number>();
    const open = this.#order.containers.filter(({ position }) => {
      const known = this.#known.get(position);
      return known !== undefined && known.location === undefined;
    });
    if (open.length === 0) return askedIds;
    if (!this.#mayAskForLocations) {
      for (const { position } of open) {
        this.#unlocated.set(
          position,
          this.#isExternal ? "the procedure doesn't show its location" : NO_PLACES,
        );
        if (!this.#isExternal) this.#withoutPlace.add(position);
      }
      return askedIds;
    }
    if (!this.#isExternal || this.#deps.service.locationSurface === "external") {
      for (const { position } of open) {
        const id = this.#known.get(position)?.containerId;
        if (id !== undefined) askedIds.set(position, id);
      }
      return askedIds;
    }
    const labels = open.map(({ label }) => label);
    const listed = await this.#try(open, () => this.#listOwn(labels, "request"));
    if (!listed) return askedIds;
    for (const [position, which] of whichContainers(byLabel(open), listed)) {
      if (which.kind === "one") askedIds.set(position, which.shown.id);
      else this.#unlocated.set(position, wordsForWhich(which, listed));
    }
    return askedIds;
  }

  /**
   * The containers that can be the subject's. A list is asked by the subject's code, which somebody else may have at
   * another facility; where its entries show whose they are, those of the subject are taken that was found before the order
   * was sent. It is looked up again where that one has none of the labels, since subjects are merged.
   */
  async #listOwn(
    labels: readonly string[],
    surface: Surface,
    ids?: readonly number[],
  ): Promise<readonly ServiceContainer[]> {
    const { facilityId, subject, subjectId } = this.#order;
    const listed = await this.#reads.listContainers(surface, subject.code, ids);
    const owners = listed.flatMap((each) =>
      each.labels.some((label) => labels.includes(label)) ? (each.subjectId ?? []) : [],
    );
    if (owners.length === 0 || this.#deps.wayOf(facilityId).subjects === "none") return listed;
    if (subjectId !== undefined && owners.includes(subjectId)) return ofSubject(listed, subjectId);
    const known = await this.#reads.findSubject(facilityId, subject.code);
    return known ? ofSubject(listed, known.id) : [];
  }

  /** Reads the locations that are not known yet, until the time is over. */
  async #locate(ids: ReadonlyMap<number, number>, isOver: () => boolean): Promise<boolean> {
    for (const [position, id] of ids) {
      if (this.#asked.has(position)) continue;
      if (isOver()) return false;
      const found = await this.#try([{ position }], () => this.#deps.service.getLocation(id, this.#signal));
      this.#asked.add(position);
      if (found) this.#takeLocation(position, found);
    }
    return true;
  }

  /**
   * A location without a place will get one. A container that was stored, retrieved and stored again may for a moment
   * have that of the first time; where it stays the only one it is reported, with a word about it.
   */
  #takeLocation(position: number, location: ContainerLocation): void {
    const isLastLook = this.#order.attempts + 1 >= MOST_LOOKS;
    if (!isPlace(location)) {
      this.#unlocated.set(position, "the service shows no place for it");
      return;
    }
    const isOld = this.#isFromBefore(location);
    if (isOld) this.#unlocated.set(position, "the service shows a place from before the order");
    const containerId = this.#known.get(position)?.containerId;
    if (!isOld || isLastLook) this.#known.set(position, { position, containerId, location });
  }

  #isFromBefore({ storedAt }: ContainerLocation): boolean {
    const storedMs = serviceTimeMs(storedAt);
    const receivedMs = this.#order.receivedAt.getTime() + (this.#deps.service.clockSkewMs ?? 0);
    return storedMs !== undefined && storedMs < receivedMs - CLOCK_MARGIN_MS;
  }

  get #isExternal(): boolean {
    return this.#order.surface === "external";
  }

  /**
   * Locations are described for the request surface. An order of the external one asks for them only when its procedure,
   * read once more, still shows none, and where the site's credentials are good for that surface, unless its own shows them.
   */
  get #mayAskForLocations(): boolean {
    const { service, wayOf } = this.#deps;
    if (!service.has("locations")) return false;
    if (!this.#isExternal) return true;
    if (this.#order.attempts === 0) return false;
    return service.locationSurface === "external" || wayOf(this.#order.facilityId).subjects !== "none";
  }

  /** What is known by now; a look that was cut short says nothing of what is still to be asked for. */
  result(isWhole: boolean): LocationLook {
    if (this.#order.operation !== "STORE") return { containers: [], unlocated: [], next: "report" };
    const unlocated = [...this.#unlocated]
      .map(([position, text]) => ({ position, text }))
      .sort((a, b) => a.position - b.position);
    const forgotten = this.#order.containers.flatMap(({ position, containerId, location }) => {
      const wasKnown = containerId !== undefined || location !== undefined;
      return wasKnown && !this.#known.has(position) ? [{ position, isForgotten: true }] : [];
    });
    const containers = [...this.#known.values(), ...forgotten].sort((a, b) => a.position - b.position);
    if (!isWhole) return { containers, unlocated, next: "go_on" };
    const next = this.#next();
    if (unlocated.length > 0) {
      this.#deps.logger.warn(
        {
          order: formatId("o", this.#order.id),
          connector: this.#order.connector,
          unlocated: unlocated.length,
          next,
          err: this.#failures[0],
        },
        "order's containers have no known location",
      );
    }
    return { containers, unlocated, next };
  }

  #next(): LocationLook["next"] {
    if ([...this.#unlocated.keys()].every((position) => this.#withoutPlace.has(position))) return "report";
    if (this.#failures.some(isOutage)) return "wait";
    return this.#order.attempts + 1 >= MOST_LOOKS ? "report" : "look_again";
  }

  /** What a call gives; when it fails, the reason is noted for the containers that it was for. */
  async #try<T>(
    containers: readonly Pick<LedgerContainer, "position">[],
    call: () => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await call();
    } catch (error) {
      this.#signal.throwIfAborted();
      const failure = asFailure(error);
      this.#failures.push(failure);
      for (const { position } of containers) this.#unlocated.set(position, wordsFor(failure));
      return undefined;
    }
  }
}

/** An answer that can't be understood, or that refuses this read alone, is one: waiting for another could take for ever. */
const NO_OUTAGE: ReadonlySet<string> = new Set([...LASTING, "SERVICE_SHAPE_UNKNOWN"]);

function isOutage(failure: Failure): boolean {
  return failure.class === "transient" && !NO_OUTAGE.has(failure.code);
}

/** A procedure of the external surface may still show where its containers stand; of the request surface nothing else does. */
const NO_PLACES = "the service doesn't show where containers are";

const SHARED = "the service has one container for several labels of the order";

function wordsForWhich({ kind }: Which<unknown>, listed: readonly ServiceContainer[]): string {
  if (kind === "subjects")
    return "the service lists containers of several subjects with the order's subject code";
  if (kind === "shared") return SHARED;
  if (kind === "several") return "the service lists several containers with its label";
  const isUnlabelled = listed.length > 0 && listed.every(({ labels }) => labels.length === 0);
  return isUnlabelled
    ? "the service lists containers without any of the fields of service.containerLabelFields"
    : "the service lists no container with its label";
}

function wordsFor(failure: Failure): string {
  return failure.code === "SERVICE_NOT_FOUND"
    ? "the service knows no location of it"
    : `its location can't be read (${failure.code})`;
}
