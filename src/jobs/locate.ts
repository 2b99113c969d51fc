import { asFailure, type Failure } from "../core/failures.ts";
import type { Logger } from "../core/logger.ts";
import type { ContainerLocation } from "../core/outcome.ts";
import { serviceTimeMs } from "../core/service-time.ts";
import type { FacilityWay } from "../core/surface.ts";
import type { OrderChange } from "../ledger/change-orders.ts";
import { formatId } from "../ledger/ids.ts";
import type { LedgerContainer, LedgerOrder } from "../ledger/order-row.ts";
import type { ServiceClient } from "../service/client.ts";
import { isPlace } from "../service/location.ts";
import type { ProcedureContainer, ServiceContainer } from "../service/shapes.ts";
import { containersOf, idsByLabelOf, isOneSubjects } from "./guard.ts";
import type { RemoteProcedure } from "./tracked.ts";

type Containers = NonNullable<OrderChange["containers"]>;
type Known = Containers[number];

/** A completed order and its procedure. */
export interface Completed {
  readonly order: Pick<
    LedgerOrder,
    "id" | "operation" | "surface" | "facilityId" | "subject" | "containers" | "attempts" | "receivedAt"
  >;
  readonly procedure: Pick<RemoteProcedure, "containerIds" | "containers"> | undefined;
}

/** A container whose place the service did not tell, and why, in words for the timeline. */
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
   * - `tell`: everything is known, or was looked for often enough; the order is completed with what is known.
   * - `look_again`: the service had an answer, but not this one; it counts as one of the order's `attempts`.
   * - `wait`: the service could not be asked, which counts for nothing.
   */
  readonly next: "tell" | "look_again" | "wait";
}

export interface LocateDeps {
  readonly service: Pick<
    ServiceClient,
    "findSubject" | "listSubjectContainers" | "getLocation" | "external" | "clockSkewMs"
  >;
  /** How many orders are looked at at once. */
  readonly concurrency: number;
  readonly logger: Logger;
  /** How orders of a facility, by the service's id for it, go to the service. */
  readonly wayOf: (facilityId: number) => FacilityWay;
}

/**
 * Looks without a full answer after which an order is told as completed with what is known, rather than never. Lists
 * lag behind, a location may be written after the procedure's status, and credentials are mended: none of it is final.
 */
const MOST_LOOKS = 5;
/** Room for clocks that differ more than the `Date` header shows, for times without a zone, and for whole days. */
const CLOCK_MARGIN_MS = 48 * 3_600_000;

/**
 * Finds out where the containers of completed orders stand, as far as earlier looks left it open. Only stored ones
 * stand anywhere. An outage never ends the search; what the service does not tell does, after {@link MOST_LOOKS} looks.
 *
 * @returns a look by order id, for each order.
 */
export async function lookForLocations(
  completed: readonly Completed[],
  deps: LocateDeps,
  signal: AbortSignal,
): Promise<Map<number, LocationLook>> {
  const looks = new Map<number, LocationLook>();
  const queue = completed.values();
  const work = async () => {
    for (const item of queue) {
      signal.throwIfAborted();
      looks.set(item.order.id, await lookForOrder(item, deps, signal));
    }
  };
  await Promise.all(Array.from({ length: Math.max(1, deps.concurrency) }, work));
  return looks;
}

/** What the timeline says of an order that is told without some locations; undefined when none is missing. */
export function describeUnlocated(unlocated: readonly Unlocated[]): string | undefined {
  if (unlocated.length === 0) return undefined;
  const each = unlocated.map(({ position, text }) => `container ${position}: ${text}`);
  return `not every location is known (${each.join("; ")})`;
}

async function lookForOrder(
  { order, procedure }: Completed,
  deps: LocateDeps,
  signal: AbortSignal,
): Promise<LocationLook> {
  if (order.operation !== "STORE") return { containers: [], unlocated: [], next: "tell" };
  const look = new Look(order, deps, signal);
  look.take(procedure?.containers ?? []);
  await look.identify(procedure);
  await look.locate();
  return look.result();
}

/** One look for the containers of one order; what fails for one of them leaves the others alone. */
class Look {
  readonly #order: Completed["order"];
  readonly #deps: LocateDeps;
  readonly #signal: AbortSignal;
  readonly #known = new Map<number, Known>();
  readonly #unlocated = new Map<number, string>();
  readonly #failures: Failure[] = [];

  constructor(order: Completed["order"], deps: LocateDeps, signal: AbortSignal) {
    this.#order = order;
    this.#deps = deps;
    this.#signal = signal;
    for (const { position, containerId, location } of order.containers) {
      if (containerId !== undefined) this.#known.set(position, { position, containerId, location });
    }
  }

  /**
   * Takes what a procedure of the external surface itself tells of the order's containers, by id or else by label: a
   * completed one carries their locations (specification, External rule 3).
   */
  take(told: readonly ProcedureContainer[]): void {
    for (const { position, label, containerId } of this.#order.containers) {
      const [mine, ...others] =
        containerId === undefined
          ? told.filter((each) => each.label === label)
          : told.filter((each) => each.id === containerId);
      if (!mine || others.length > 0) continue;
      const location = this.#known.get(position)?.location ?? mine.location;
      if (mine.id !== undefined || location) {
        this.#known.set(position, { position, containerId: mine.id, location });
      }
    }
  }

  /** Finds the service's ids of containers that have none yet: by their labels, among those that the procedure names. */
  async identify(procedure: Completed["procedure"]): Promise<void> {
    const nameless = this.#order.containers.filter(({ position }) => !this.#known.has(position));
    const named = procedure?.containerIds ?? [];
    const [first] = nameless;
    const [only] = named;
    if (first === undefined) return;
    if (only !== undefined && named.length === 1 && this.#order.containers.length === 1) {
      this.#known.set(first.position, { position: first.position, containerId: only });
      return;
    }
    const labels = nameless.map(({ label }) => label);
    const listed = await this.#try(nameless, () => this.#listOwn(labels));
    if (!listed) return;
    if (!isOneSubjects(listed)) {
      const text = "the service lists containers of several subjects with the order's subject code";
      for (const { position } of nameless) this.#unlocated.set(position, text);
      return;
    }
    const idsByLabel = idsByLabelOf(listed, labels);
    for (const { position, label } of nameless) {
      const ids = idsByLabel.get(label) ?? [];
      const candidates = named.length > 0 ? ids.filter((id) => named.includes(id)) : ids;
      const [containerId] = candidates;
      if (containerId !== undefined && candidates.length === 1) {
        this.#known.set(position, { position, containerId });
      } else {
        const many = candidates.length > 1 ? "several containers" : "no container";
        this.#unlocated.set(position, `the service lists ${many} with its label`);
      }
    }
  }

  /**
   * The containers that can be the subject's. A list is asked by the subject's code, which somebody else may have at
   * another facility; where its entries tell whose they are, the subject is looked up to know which are ours.
   */
  async #listOwn(labels: readonly string[]): Promise<readonly ServiceContainer[]> {
    const { facilityId, subject } = this.#order;
    const calls = this.#isExternal ? this.#deps.service.external : this.#deps.service;
    const listed = await calls.listSubjectContainers(subject.code, this.#signal);
    const isTold = listed.some(
      (each) => each.subjectId !== undefined && each.labels.some((label) => labels.includes(label)),
    );
    if (!isTold || this.#deps.wayOf(facilityId).subjects === "none") return listed;
    const known = await this.#deps.service.findSubject(facilityId, subject.code, this.#signal);
    return known ? containersOf(known, listed) : [];
  }

  /** Reads the locations that are not known yet. */
  async locate(): Promise<void> {
    for (const { position } of this.#order.containers) {
      const { containerId, location } = this.#known.get(position) ?? {};
      if (containerId === undefined || location !== undefined) continue;
      if (!this.#mayAskForLocations) {
        this.#unlocated.set(position, "the procedure doesn't tell its location");
        continue;
      }
      const found = await this.#try([{ position }], () =>
        this.#deps.service.getLocation(containerId, this.#signal),
      );
      if (found) this.#takeLocation(position, containerId, found);
    }
  }

  /**
   * A location without a place will get one. A container that was stored, retrieved and stored again may for a moment
   * have that of the first time; where it stays the only one it is told, with a word about it.
   */
  #takeLocation(position: number, containerId: number, location: ContainerLocation): void {
    const isLastLook = this.#order.attempts + 1 >= MOST_LOOKS;
    if (!isPlace(location)) {
      this.#unlocated.set(position, "the service tells no place of it");
      return;
    }
    const isOld = this.#isFromBefore(location);
    if (isOld) this.#unlocated.set(position, "the service tells a place from before the order");
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
   * Locations are read on the request surface. An order of the external one asks there only when its procedure, read
   * once more, still tells none, and when the site's credentials are good for that surface.
   */
  get #mayAskForLocations(): boolean {
    if (!this.#isExternal) return true;
    return this.#order.attempts > 0 && this.#deps.wayOf(this.#order.facilityId).subjects !== "none";
  }

  result(): LocationLook {
    const unlocated = [...this.#unlocated]
      .map(([position, text]) => ({ position, text }))
      .sort((a, b) => a.position - b.position);
    const containers = [...this.#known.values()].sort((a, b) => a.position - b.position);
    const next = this.#next();
    if (unlocated.length > 0) {
      this.#deps.logger.warn(
        { orderId: formatId("o", this.#order.id), unlocated: unlocated.length, next, err: this.#failures[0] },
        "the location of a stored container can't be told",
      );
    }
    return { containers, unlocated, next };
  }

  #next(): LocationLook["next"] {
    if (this.#unlocated.size === 0) return "tell";
    if (this.#failures.some(isOutage)) return "wait";
    return this.#order.attempts + 1 >= MOST_LOOKS ? "tell" : "look_again";
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

/** An answer of a shape that nobody knows is an answer: waiting for another one could take for ever. */
function isOutage(failure: Failure): boolean {
  return failure.class === "transient" && failure.code !== "SERVICE_SHAPE_UNKNOWN";
}

function wordsFor(failure: Failure): string {
  return failure.code === "SERVICE_NOT_FOUND"
    ? "the service knows no location of it"
    : `its location can't be read (${failure.code})`;
}
