import { LISTS } from "../core/service-catalogue.ts";
import type { NamedContainer, NewOrder, OrderType } from "./world/rows.ts";

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

interface OrderTally {
  /** `STORE 12 S-001 V1,V2`: type, facility, subject code, labels or ids in order of the alphabet. */
  readonly key: string;
  readonly type: OrderType;
  readonly facilityId: number;
  readonly subjectCode: string;
  /** Labels of a STORE, ids of a RETRIEVAL. */
  readonly containers: readonly string[];
  /** Calls that created something. More than one: it was ordered twice. */
  readonly executed: number;
  /** Calls that the service's rules refused. */
  readonly refused: number;
  /** What was created, by id. */
  readonly requestIds: readonly number[];
  readonly procedureIds: readonly number[];
  /**
   * Calls that were about this order alone, by route: its creation, and reads of its request, its procedure or its
   * containers' locations by id. Lists serve many orders and stand in {@link Tally.routes}.
   */
  readonly calls: Readonly<Record<string, number>>;
}

interface RouteTally {
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
  /** Calls for each order that was made, by route and in all, to two decimals; empty while there is none. */
  readonly callsPerOrder: Readonly<Record<string, number>>;
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

/** An order while calls for it still come. */
interface OpenOrder extends OrderTally {
  executed: number;
  refused: number;
  readonly requestIds: number[];
  readonly procedureIds: number[];
  readonly calls: Record<string, number>;
}

type FindOrderIds = (
  kind: "request" | "procedure" | "container",
  id: number,
) => { readonly requestId: number | null; readonly procedureId: number | null };

const CREATION = {
  request: `POST ${LISTS.requests.path}`,
  external: `POST ${LISTS.externalProcedures.path}`,
} as const;

/** Keeps the tally while calls come in. */
export class TallyKeeper {
  readonly #routes = new Map<string, { received: number; answered: Record<string, number> }>();
  readonly #orders = new Map<string, OpenOrder>();
  readonly #orderByRequestId = new Map<number, OpenOrder>();
  readonly #orderByProcedureId = new Map<number, OpenOrder>();
  readonly #findOrderIds: FindOrderIds;
  readonly #journal: Creation[] = [];
  readonly #subjects: Tally["subjectsCreated"][number][] = [];
  #received = 0;

  constructor(findOrderIds: FindOrderIds) {
    this.#findOrderIds = findOrderIds;
  }

  /** A call whose path names a row; counted for the order that the row belongs to, if there is one. */
  countAbout(route: string, kind: "request" | "procedure" | "container", id: number): void {
    const { requestId, procedureId } = this.#findOrderIds(kind, id);
    const order =
      this.#orderByRequestId.get(requestId ?? 0) ?? this.#orderByProcedureId.get(procedureId ?? 0);
    if (order) increase(order.calls, route);
  }

  countReceived(route: string): void {
    this.#received += 1;
    this.#route(route).received += 1;
  }

  countAnswered(route: string, status: number): void {
    increase(this.#route(route).answered, String(status));
  }

  recordCreation(
    order: NewOrder,
    made: Pick<Creation, "surface" | "requestId" | "procedureId" | "at">,
  ): void {
    const { type, facilityId, subjectCode, containers, containerIds } = order;
    const sent = { sampleContainers: containers, sampleContainerIds: containerIds };
    this.#journal.push({ ...made, type, facilityId, subjectCode, ...sent });
    const entry = this.#order(order);
    entry.executed += 1;
    increase(entry.calls, CREATION[made.surface]);
    if (made.requestId !== null) {
      entry.requestIds.push(made.requestId);
      this.#orderByRequestId.set(made.requestId, entry);
    }
    if (made.procedureId !== null) {
      entry.procedureIds.push(made.procedureId);
      this.#orderByProcedureId.set(made.procedureId, entry);
    }
  }

  recordRefusal(order: NewOrder, surface: Creation["surface"]): void {
    const entry = this.#order(order);
    entry.refused += 1;
    increase(entry.calls, CREATION[surface]);
  }

  recordSubject(subject: Tally["subjectsCreated"][number]): void {
    this.#subjects.push(subject);
  }

  /** The tally as it stands; later calls don't change what was given out. */
  read(faults: Readonly<Record<string, number>>): Tally {
    const orders = [...this.#orders.values()];
    return structuredClone({
      routes: Object.fromEntries(this.#routes),
      received: this.#received,
      callsPerOrder: this.#callsPerOrder(),
      orders,
      doubled: orders.filter((order) => order.executed > 1),
      journal: this.#journal,
      subjectsCreated: this.#subjects,
      faults,
    });
  }

  #callsPerOrder(): Record<string, number> {
    const made = [...this.#orders.values()].filter(({ executed }) => executed > 0).length;
    if (made === 0) return {};
    const share = (count: number) => Math.round((count / made) * 100) / 100;
    const byRoute = [...this.#routes].map(([name, { received }]) => [name, share(received)]);
    return { ...Object.fromEntries(byRoute), all: share(this.#received) };
  }

  #route(name: string): { received: number; answered: Record<string, number> } {
    const route = this.#routes.get(name) ?? { received: 0, answered: {} };
    this.#routes.set(name, route);
    return route;
  }

  #order(order: NewOrder): OpenOrder {
    const { type, facilityId, subjectCode } = order;
    const containers =
      type === "STORE"
        ? order.containers.map(({ name }) => name).sort()
        : order.containerIds.map(String).sort();
    const key = `${type} ${facilityId} ${subjectCode} ${containers.join(",")}`;
    const known = this.#orders.get(key);
    if (known) return known;
    const about = { key, type, facilityId, subjectCode, containers };
    const entry = { ...about, executed: 0, refused: 0, requestIds: [], procedureIds: [], calls: {} };
    this.#orders.set(key, entry);
    return entry;
  }
}

function increase(counts: Record<string, number>, name: string): void {
  counts[name] = (counts[name] ?? 0) + 1;
}
