interface Keyed {
  readonly id: number;
}

/**
 * Rows of one kind in order of their ids, found by id and by one second key without looking at the others.
 * Rows are added with growing ids only, which is what lets an id range be found by halving.
 */
export class Table<Row extends Keyed> {
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
