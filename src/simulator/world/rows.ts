/** The simulated service's own rows. Times are ISO 8601 in UTC; ids are unique across all kinds of rows. */

/** What every row carries for lists: `insertedAt` is monotonic ms, for a list that shows writes late. */
interface Row {
  readonly id: number;
  readonly facilityId: number;
  readonly insertedAt: number;
}

export interface Facility {
  readonly id: number;
  readonly name: string;
  readonly organizationId: number;
}

export interface Subject extends Row {
  readonly code: string;
  readonly firstName: string | undefined;
  readonly lastName: string | undefined;
  readonly dateOfBirth: string | undefined;
  readonly createdAt: string;
}

/** A place in a storage solution. */
export interface Slot {
  readonly storageId: number;
  readonly canister: string;
  readonly cane: string;
  readonly slot: number;
}

/** A vial or straw. It has a slot and `storedAt` while it is in storage. */
export interface Container extends Row {
  /** The lab's label: `sampleContainerId` of a request, `name` elsewhere. */
  readonly name: string;
  readonly description: string;
  readonly subjectId: number;
  readonly subjectCode: string;
  slot: Slot | undefined;
  /** Since when it has its slot, monotonic ms. */
  slotSince: number;
  storedAt: string | undefined;
}

export interface StorageSolution extends Row {
  readonly name: string;
}

/** One container as a STORE request names it. */
export interface NamedContainer {
  readonly name: string;
  readonly description: string;
}

export type OrderType = "STORE" | "RETRIEVAL";

/** An integration and web-app users order the first two, and devices refills. */
type ProcedureType = OrderType | "REFILL";

/** An order as it comes in, by either surface or by a web-app user. */
export interface NewOrder {
  readonly type: OrderType;
  readonly facilityId: number;
  readonly subjectCode: string;
  /** STORE only. */
  readonly containers: readonly NamedContainer[];
  /** RETRIEVAL only. */
  readonly containerIds: readonly number[];
}

export interface ProcedureRequest extends Row {
  readonly type: OrderType;
  readonly subjectId: number;
  readonly subjectCode: string;
  /** STORE only. */
  readonly containers: readonly NamedContainer[];
  /** RETRIEVAL only. */
  readonly containerIds: readonly number[];
  readonly createdAt: string;
  /** PENDING, ACCEPTED, REJECTED, CANCELLED, or what a test put there. */
  status: string;
  procedureId: number | null;
  acceptedAt: string | undefined;
  acceptedBy: string | undefined;
}

export interface Procedure extends Row {
  readonly code: string;
  readonly type: ProcedureType;
  readonly storageId: number;
  /** The subject and its containers; absent and empty for REFILL. */
  readonly subjectId: number | undefined;
  readonly subjectCode: string | undefined;
  readonly containerIds: readonly number[];
  /** The procedure request it came from; null when an integration, a web-app user or a device created it. */
  readonly requestId: number | null;
  readonly createdAt: string;
  /** PENDING, CREATED, IN_PROGRESS, COMPLETED, CANCELLED, FAILED, or what a test put there. */
  status: string;
  performedBy: string | undefined;
  startedAt: string | undefined;
  completedAt: string | undefined;
  error: string | null;
}

/** Statuses that a procedure never leaves. */
export const ENDED_PROCEDURE: readonly string[] = ["COMPLETED", "CANCELLED", "FAILED"];

/**
 * Rows of one kind in order of their ids, found by id and by one second key without looking at the others.
 * Rows are added with growing ids only, which is what lets an id range be found by halving.
 */
export class Table<Row extends { readonly id: number }> {
  readonly #rows: Row[] = [];
  readonly #byId = new Map<number, Row>();
  readonly #byKey = new Map<string, Row[]>();
  readonly #keyOf: (row: Row) => string | undefined;

  /** `keyOf` gives the second key, such as the subject code; rows without one are found by id only. */
  constructor(keyOf: (row: Row) => string | undefined = () => undefined) {
    this.#keyOf = keyOf;
  }

  add(row: Row): Row {
    this.#rows.push(row);
    this.#byId.set(row.id, row);
    const key = this.#keyOf(row);
    if (key !== undefined) {
      const same = this.#byKey.get(key);
      if (same) same.push(row);
      else this.#byKey.set(key, [row]);
    }
    return row;
  }

  /** Takes a row out, as a service that lost it would. Looks through all rows. */
  remove(id: number): void {
    const row = this.#byId.get(id);
    if (!row) return;
    this.#byId.delete(id);
    this.#rows.splice(this.#rows.indexOf(row), 1);
    const same = this.#byKey.get(this.#keyOf(row) ?? "");
    same?.splice(same.indexOf(row), 1);
  }

  find(id: number): Row | undefined {
    return this.#byId.get(id);
  }

  /** Every row, lowest id first. */
  all(): readonly Row[] {
    return this.#rows;
  }

  withKey(key: string): readonly Row[] {
    return this.#byKey.get(key) ?? [];
  }

  /** Rows whose id lies in the range, both ends included. */
  between(from: number, to: number): readonly Row[] {
    return this.#rows.slice(this.#firstAtLeast(from), this.#firstAtLeast(to + 1));
  }

  get size(): number {
    return this.#rows.length;
  }

  #firstAtLeast(id: number): number {
    let low = 0;
    let high = this.#rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#rows[middle]?.id ?? 0) < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
