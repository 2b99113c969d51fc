const FIRST_SLOTS = 4_096;
const FULLEST = 0.6;
const MOST_SCATTERED_ORDERS = 100_000;
const MOST_SCATTERED_BYTES = 16 * 1024 * 1024;

/** Which orders have rows that don't stand together, and with which row each of them is complete. */
export interface ScatteredOrders {
  /** Number of the last row (from 1) by the key's digest. */
  readonly lastRowByDigest: ReadonlyMap<string, number>;
  /** True when there are too many of them, or too long ones, to be gathered in memory. */
  readonly isTooMuch: boolean;
}

/**
 * Finds the orders whose rows are scattered over a file of any size: keeps 13 bytes for each order, not its number.
 * Two orders with the same 64-bit digest would only both be gathered, by their real numbers, so nothing is mixed up.
 */
export class OrderSurvey {
  #low = new Uint32Array(FIRST_SLOTS);
  #high = new Uint32Array(FIRST_SLOTS);
  #bytes = new Uint32Array(FIRST_SLOTS);
  /** 1 where a row of the order could be read. */
  #readable = new Uint8Array(FIRST_SLOTS);
  #used = 0;
  #row = 0;
  #scatteredBytes = 0;
  readonly #lastRowByDigest = new Map<string, number>();
  #run: { key: string; low: number; high: number; bytes: number; isReadable: boolean } | undefined;

  /** Counts the next row. An empty key is an order of its own. */
  add(key: string, rowBytes: number, isReadable = true): void {
    this.#row += 1;
    if (this.#run?.key !== key || key === "") {
      this.#endRun();
      this.#run = key === "" ? undefined : { key, ...digestOf(key), bytes: 0, isReadable: false };
      if (this.#run) this.#beginRun(this.#run);
    }
    if (!this.#run) return;
    this.#run.bytes += rowBytes;
    this.#run.isReadable ||= isReadable;
    const digest = digestText(this.#run);
    if (!this.#lastRowByDigest.has(digest)) return;
    this.#lastRowByDigest.set(digest, this.#row);
    this.#scatteredBytes += rowBytes;
  }

  /** Whether a row with that key could be read. */
  has(key: string): boolean {
    if (key === "") return false;
    if (this.#run?.key === key && this.#run.isReadable) return true;
    const { low, high } = digestOf(key);
    return this.#readable[this.#find(low, high)] === 1;
  }

  /** What was found in all rows so far. */
  result(): ScatteredOrders {
    const isTooMuch =
      this.#lastRowByDigest.size > MOST_SCATTERED_ORDERS || this.#scatteredBytes > MOST_SCATTERED_BYTES;
    return { lastRowByDigest: this.#lastRowByDigest, isTooMuch };
  }

  #beginRun(run: { low: number; high: number }): void {
    const slot = this.#find(run.low, run.high);
    const isKnown = this.#low[slot] !== 0 || this.#high[slot] !== 0;
    const digest = digestText(run);
    if (!isKnown || this.#lastRowByDigest.has(digest)) return;
    // One more than the limit tells that there are too many; the others need not be remembered.
    if (this.#lastRowByDigest.size <= MOST_SCATTERED_ORDERS) this.#lastRowByDigest.set(digest, this.#row);
    this.#scatteredBytes += this.#bytes[slot] ?? 0;
  }

  #endRun(): void {
    if (!this.#run) return;
    const { low, high, bytes, isReadable } = this.#run;
    const slot = this.#find(low, high);
    if (isReadable) this.#readable[slot] = 1;
    if (this.#low[slot] === 0 && this.#high[slot] === 0) {
      this.#low[slot] = low;
      this.#high[slot] = high;
      this.#bytes[slot] = Math.min(bytes, 0xffff_ffff);
      this.#used += 1;
      if (this.#used > FULLEST * this.#low.length) this.#grow();
    }
  }

  #find(low: number, high: number): number {
    const mask = this.#low.length - 1;
    let slot = low & mask;
    while (
      (this.#low[slot] !== 0 || this.#high[slot] !== 0) &&
      (this.#low[slot] !== low || this.#high[slot] !== high)
    ) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  #grow(): void {
    const [low, high, bytes, readable] = [this.#low, this.#high, this.#bytes, this.#readable];
    this.#low = new Uint32Array(low.length * 2);
    this.#high = new Uint32Array(low.length * 2);
    this.#bytes = new Uint32Array(low.length * 2);
    this.#readable = new Uint8Array(low.length * 2);
    for (let old = 0; old < low.length; old++) {
      if (low[old] === 0 && high[old] === 0) continue;
      const slot = this.#find(low[old] ?? 0, high[old] ?? 0);
      this.#low[slot] = low[old] ?? 0;
      this.#high[slot] = high[old] ?? 0;
      this.#bytes[slot] = bytes[old] ?? 0;
      this.#readable[slot] = readable[old] ?? 0;
    }
  }
}

/** The digest of an order's key, as {@link ScatteredOrders} names it. */
export function orderDigest(key: string): string {
  return digestText(digestOf(key));
}

function digestText({ low, high }: { low: number; high: number }): string {
  return `${high.toString(36)}.${low.toString(36)}`;
}

/** 64 bits that spread well and cost little; nobody's safety hangs on them. Never 0, which marks a free slot. */
function digestOf(text: string): { low: number; high: number } {
  let low = 0x243f6a88;
  let high = 0x85a308d3;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    low = Math.imul(low ^ unit, 0x9e3779b1);
    high = Math.imul(high ^ unit, 0x5f356495);
    low ^= high >>> 15;
    high ^= low >>> 13;
  }
  low = Math.imul(low ^ (low >>> 16), 0x2c1b3c6d) ^ (high >>> 11);
  high = Math.imul(high ^ (high >>> 16), 0x297a2d39) ^ (low >>> 9);
  return { low: low >>> 0 || 1, high: high >>> 0 };
}
