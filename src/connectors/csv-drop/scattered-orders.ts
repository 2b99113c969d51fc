const FIRST_SLOTS = 4_096;
const FULLEST = 0.6;
const MOST_SCATTERED_ORDERS = 100_000;
const MOST_SCATTERED_BYTES = 16 * 1024 * 1024;

/** Which orders have rows that don't stand together, and with which row each of them is complete. */
export interface ScatteredOrders {
  /** Number of the last row (from 1) by the key's digest. */
  readonly lastRowByDigest: ReadonlyMap<number, number>;
  /** True when there are too many of them, or too long ones, to be gathered in memory. */
  readonly isTooMuch: boolean;
}

/**
 * Finds the orders whose rows are scattered over a file of any size: keeps 12 bytes for each order, not its number.
 * Two orders with the same digest would only both be gathered, by their real numbers, so nothing is mixed up.
 */
export class ScatterFinder {
  /** An open-addressed table: the digest of each order, 0 for a free slot, and the bytes of its first rows. */
  #digests = new Float64Array(FIRST_SLOTS);
  #bytes = new Uint32Array(FIRST_SLOTS);
  #used = 0;
  #row = 0;
  #scatteredBytes = 0;
  readonly #lastRowByDigest = new Map<number, number>();
  /** The order whose rows are coming. */
  #key = "";
  #slot = 0;

  /** Counts the next row. An empty key is an order of its own. */
  add(key: string, rowBytes: number): void {
    this.#row += 1;
    const isNext = key !== this.#key;
    this.#key = key;
    if (key === "") return;
    if (isNext) this.#begin(orderDigest(key));
    const digest = this.#digests[this.#slot] ?? 0;
    if (this.#lastRowByDigest.has(digest)) {
      this.#lastRowByDigest.set(digest, this.#row);
      this.#scatteredBytes += rowBytes;
    } else {
      this.#bytes[this.#slot] = Math.min((this.#bytes[this.#slot] ?? 0) + rowBytes, 0xffff_ffff);
    }
  }

  /** What was found in all rows so far. */
  result(): ScatteredOrders {
    const isTooMuch =
      this.#lastRowByDigest.size > MOST_SCATTERED_ORDERS || this.#scatteredBytes > MOST_SCATTERED_BYTES;
    return { lastRowByDigest: this.#lastRowByDigest, isTooMuch };
  }

  #begin(digest: number): void {
    if (this.#used > FULLEST * this.#digests.length) this.#grow();
    this.#slot = this.#find(digest);
    if (this.#digests[this.#slot] === 0) {
      this.#digests[this.#slot] = digest;
      this.#used += 1;
    } else if (!this.#lastRowByDigest.has(digest)) {
      // One more than the limit shows that there are too many; the others need not be remembered.
      if (this.#lastRowByDigest.size <= MOST_SCATTERED_ORDERS) this.#lastRowByDigest.set(digest, this.#row);
      this.#scatteredBytes += this.#bytes[this.#slot] ?? 0;
    }
  }

  #find(digest: number): number {
    const mask = this.#digests.length - 1;
    let slot = digest % this.#digests.length;
    while (this.#digests[slot] !== 0 && this.#digests[slot] !== digest) slot = (slot + 1) & mask;
    return slot;
  }

  #grow(): void {
    const [digests, bytes] = [this.#digests, this.#bytes];
    this.#digests = new Float64Array(digests.length * 2);
    this.#bytes = new Uint32Array(digests.length * 2);
    for (let old = 0; old < digests.length; old++) {
      const digest = digests[old] ?? 0;
      if (digest === 0) continue;
      const slot = this.#find(digest);
      this.#digests[slot] = digest;
      this.#bytes[slot] = bytes[old] ?? 0;
    }
  }
}

/**
 * The digest of an order's key, as {@link ScatteredOrders} names it: 53 bits that spread well and cost little; nobody's
 * safety hangs on them. Never 0.
 */
export function orderDigest(key: string): number {
  let low = 0x243f6a88;
  let high = 0x85a308d3;
  for (let i = 0; i < key.length; i++) {
    const unit = key.charCodeAt(i);
    low = Math.imul(low ^ unit, 0x9e3779b1);
    high = Math.imul(high ^ unit, 0x5f356495);
    low ^= high >>> 15;
    high ^= low >>> 13;
  }
  low = Math.imul(low ^ (low >>> 16), 0x2c1b3c6d) ^ (high >>> 11);
  high = Math.imul(high ^ (high >>> 16), 0x297a2d39) ^ (low >>> 9);
  return (high & 0x1f_ffff) * 2 ** 32 + (low >>> 0) || 1;
}
