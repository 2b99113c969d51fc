import type { NamedContainer, OrderType } from "./records.ts";
import type { NewOrder } from "./state.ts";

/** A procedure request, or a procedure of the external surface, that a call brought into being. */
export interface Creation {
  readonly surface: "request" | "external";
  /** Of the request surface; null on the external one. */
  readonly requestId: number | null;
  /** Of the external surface; null on the request one. */
  readonly procedureId: number | null;
  readonly type: OrderType;
  readonly facilityId: number;
  readonly subjectCode: string;
  /** STORE: the labels and descriptions as they were sent. */
  readonly sampleContainers: readonly NamedContainer[];
  /** RETRIEVAL: the ids as they were sent. */
  readonly sampleContainerIds: readonly number[];
  /** ISO 8601. */
  readonly at: string;
}

/** What came for one order: the same type, facility, subject and labels or ids. */
export interface OrderTally {
  /** `STORE 12 S-001 V1,V2`: type, facility, subject code, labels or ids in order of the alphabet. */
  readonly key: string;
  readonly type: OrderType;
  readonly facilityId: number;
  readonly subjectCode: string;
  /** Labels of a STORE, ids of a RETRIEVAL. */
  readonly containers: readonly string[];
  /** Calls that created something. More than one: the order was doubled. */
  readonly executed: number;
  /** Calls that the service's rules refused. */
  readonly refused: number;
  /** What was created, by id. */
  readonly requestIds: readonly number[];
  readonly procedureIds: readonly number[];
}

export interface RouteTally {
  /** Calls that arrived, whatever became of them. */
  readonly received: number;
  /** How many were answered with each status; calls that got no answer are missing here. */
  readonly answered: Readonly<Record<string, number>>;
}

/** What the simulator saw and did since it began or was reset. */
export interface Tally {
  /** By method and path pattern: `POST /api/procedure-requests`, `GET /api/subjects/:id`, `(unknown)`. */
  readonly routes: Readonly<Record<string, RouteTally>>;
  /** All calls but those of the control surface. */
  readonly received: number;
  readonly orders: readonly OrderTally[];
  /** The orders with more than one executed call. */
  readonly doubled: readonly OrderTally[];
  /** Every executed creation, in order. */
  readonly journal: readonly Creation[];
  readonly subjectsCreated: readonly {
    readonly subjectId: number;
    readonly facilityId: number;
    readonly code: string;
    readonly at: string;
  }[];
  /** How many calls each fault rule met. */
  readonly faults: Readonly<Record<string, number>>;
}

interface OpenOrder {
  key: string;
  type: OrderType;
  facilityId: number;
  subjectCode: string;
  containers: string[];
  executed: number;
  refused: number;
  requestIds: number[];
  procedureIds: number[];
}

/** Keeps the tally while calls come in. */
export class TallyKeeper {
  readonly #routes = new Map<string, { received: number; answered: Record<string, number> }>();
  readonly #orders = new Map<string, OpenOrder>();
  readonly #journal: Creation[] = [];
  readonly #subjects: Tally["subjectsCreated"][number][] = [];
  #received = 0;

  countReceived(route: string): void {
    this.#received += 1;
    this.#route(route).received += 1;
  }

  countAnswered(route: string, status: number): void {
    const { answered } = this.#route(route);
    answered[status] = (answered[status] ?? 0) + 1;
  }

  recordCreation(
    order: NewOrder,
    made: Pick<Creation, "surface" | "requestId" | "procedureId" | "at">,
  ): void {
    const { type, facilityId, subjectCode, containers, containerIds } = order;
    this.#journal.push({
      ...made,
      type,
      facilityId,
      subjectCode,
      sampleContainers: containers,
      sampleContainerIds: containerIds,
    });
    const entry = this.#order(order);
    entry.executed += 1;
    if (made.requestId !== null) entry.requestIds.push(made.requestId);
    if (made.procedureId !== null) entry.procedureIds.push(made.procedureId);
  }

  recordRefusal(order: NewOrder): void {
    this.#order(order).refused += 1;
  }

  recordSubject(subject: Tally["subjectsCreated"][number]): void {
    this.#subjects.push(subject);
  }

  /** The tally as it stands; later calls don't change what was given out. */
  read(faults: Readonly<Record<string, number>>): Tally {
    const orders = [...this.#orders.values()].map((order) => ({
      ...order,
      requestIds: [...order.requestIds],
      procedureIds: [...order.procedureIds],
    }));
    const routes = [...this.#routes].map(
      ([name, { received, answered }]) => [name, { received, answered: { ...answered } }] as const,
    );
    return {
      routes: Object.fromEntries(routes),
      received: this.#received,
      orders,
      doubled: orders.filter((order) => order.executed > 1),
      journal: [...this.#journal],
      subjectsCreated: [...this.#subjects],
      faults,
    };
  }

  #route(name: string): { received: number; answered: Record<string, number> } {
    let route = this.#routes.get(name);
    if (!route) {
      route = { received: 0, answered: {} };
      this.#routes.set(name, route);
    }
    return route;
  }

  #order(order: NewOrder): OpenOrder {
    const { type, facilityId, subjectCode } = order;
    const containers =
      type === "STORE"
        ? order.containers.map(({ name }) => name).sort()
        : order.containerIds.map(String).sort();
    const key = `${type} ${facilityId} ${subjectCode} ${containers.join(",")}`;
    let entry = this.#orders.get(key);
    if (!entry) {
      entry = {
        key,
        type,
        facilityId,
        subjectCode,
        containers,
        executed: 0,
        refused: 0,
        requestIds: [],
        procedureIds: [],
      };
      this.#orders.set(key, entry);
    }
    return entry;
  }
}
