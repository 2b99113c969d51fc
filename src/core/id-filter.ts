/** A power of two; 4 KiB, which is all that a small set takes. */
const FIRST_SLOTS = 1_024;

/** More texts than that are not kept unless another bound is given: 32 MiB, and 48 MiB for the moment of growing. */
const MOST_TEXTS = 4_000_000;

/**
 * A set of texts of which only a hash of 32 bits each is kept. It says "surely not" or "maybe" of a text: "surely not"
 * is never wrong, and "maybe" is said of one in 43,000 texts that were not added when it holds 100,000, and of one in
 * 1,100 when it holds 4 million.
 *
 * An open-addressed table that is at most half full, with linear probing, so that a question touches one or two lines of
 * memory. A text's place in it are the upper bits of its hash: when the table doubles, each hash moves to about twice
 * its place, one behind the other, so that even the last doubling, that of 2 million texts, blocks the event loop for
 * some tens of ms only.
 */
export class IdFilter {
  readonly #most: number;
  /** Hashes; 0 where there is none. */
  #slots = new Uint32Array(FIRST_SLOTS);
  /** How far a hash is shifted to give its first slot. */
  #shift = shiftFor(FIRST_SLOTS);
  #size = 0;
  #isFull = false;

  /** @param most once more texts than that were added, "maybe" is said of everything, and the memory is given back */
  constructor(most = MOST_TEXTS) {
    this.#most = most;
  }

  /** How many texts are kept; those with the same hash count once, and none is kept when it is full. */
  get size(): number {
    return this.#size;
  }

  /** Whether there were more texts than it may keep. */
  get isFull(): boolean {
    return this.#isFull;
  }

  add(text: string): void {
    if (this.#isFull) return;
    const hash = hashOf(text);
    if (this.#slots[this.#slotOf(hash)] === hash) return;
    if (this.#size >= this.#most) {
      this.#giveUp();
      return;
    }
    if ((this.#size + 1) * 2 > this.#slots.length) this.#grow();
    this.#slots[this.#slotOf(hash)] = hash;
    this.#size += 1;
  }

  /** False when the text was surely not added. */
  mayHave(text: string): boolean {
    if (this.#isFull) return true;
    const hash = hashOf(text);
    return this.#slots[this.#slotOf(hash)] === hash;
  }

  /** Where the hash is, or else the free slot where it belongs. There always is one: half of them are free. */
  #slotOf(hash: number): number {
    const slots = this.#slots;
    const last = slots.length - 1;
    let slot = hash >>> this.#shift;
    for (;;) {
      const kept = slots[slot];
      if (kept === hash || kept === 0) return slot;
      slot = (slot + 1) & last;
    }
  }

  #grow(): void {
    const hashes = this.#slots;
    this.#slots = new Uint32Array(hashes.length * 2);
    this.#shift = shiftFor(this.#slots.length);
    for (let n = 0; n < hashes.length; n += 1) {
      const hash = hashes[n] as number;
      if (hash !== 0) this.#slots[this.#slotOf(hash)] = hash;
    }
  }

  #giveUp(): void {
    this.#isFull = true;
    this.#size = 0;
    this.#slots = new Uint32Array(0);
  }
}

const shiftFor = (slots: number) => 32 - Math.log2(slots);

/**
 * MurmurHash3 (x86, 32 bits) with one UTF-16 code unit a block: control ids that count up in a few digits are spread like
 * random ones, which a plain multiply-and-xor doesn't do. Never 0.
 */
function hashOf(text: string): number {
  let hash = 0;
  for (let n = 0; n < text.length; n += 1) {
    const unit = Math.imul(text.charCodeAt(n), 0xcc9e2d51);
    hash ^= Math.imul((unit << 15) | (unit >>> 17), 0x1b873593);
    hash = (Math.imul((hash << 13) | (hash >>> 19), 5) + 0xe6546b64) | 0;
  }
  hash ^= text.length;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0 || 1;
}
