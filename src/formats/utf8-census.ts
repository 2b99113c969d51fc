import { isAscii } from "node:buffer";
import { utf8Length } from "./encoding.ts";

/** Counts, over a stream of bytes, what tells UTF-8 from Windows-1252. */
export class Utf8Census {
  /** Bytes taken so far. */
  offset = 0;
  /** Where in the stream the first byte stands that is not UTF-8. */
  firstBadOffset: number | undefined;
  /** Well-formed characters of two bytes or more. */
  multiByteCount = 0;
  /** Whether Windows-1252 has every byte so far: it leaves five of them undefined. */
  isWindows1252 = true;
  #carried: Buffer = Buffer.alloc(0);

  push(block: Buffer): void {
    const bytes = this.#carried.length === 0 ? block : Buffer.concat([this.#carried, block]);
    const start = this.offset - this.#carried.length;
    this.offset += block.length;
    this.#carried = Buffer.alloc(0);
    if (isAscii(bytes)) return;
    let i = 0;
    while (i < bytes.length && !isCutAt(bytes, i)) i = this.#take(bytes, i, start);
    this.#carried = bytes.subarray(i);
  }

  end(): void {
    const start = this.offset - this.#carried.length;
    for (let i = 0; i < this.#carried.length; ) i = this.#take(this.#carried, i, start);
    this.#carried = Buffer.alloc(0);
  }

  /** Counts the character at `i`; the position behind it. */
  #take(bytes: Buffer, i: number, start: number): number {
    const length = utf8Length(bytes, i);
    if (length > 1) this.multiByteCount++;
    if (length === 0) this.firstBadOffset ??= start + i;
    const end = i + Math.max(length, 1);
    for (let k = i; k < end; k++) {
      if (UNDEFINED_IN_1252.has(bytes[k] ?? 0)) this.isWindows1252 = false;
    }
    return end;
  }
}

/** Whether the bytes end within a character that begins at `i` and is well-formed so far as its shape goes. */
function isCutAt(bytes: Buffer, i: number): boolean {
  const first = bytes[i] ?? 0;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 1;
  if (i + length <= bytes.length) return false;
  return bytes.subarray(i + 1).every((byte) => byte >= 0x80 && byte <= 0xbf);
}

const UNDEFINED_IN_1252 = new Set([0x81, 0x8d, 0x8f, 0x90, 0x9d]);
