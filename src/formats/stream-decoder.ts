import { decodeBytes, type Encoding } from "./encoding.ts";

/** What one call decoded; `badOffset` is the 0-based offset in the whole stream of the first byte that does not fit. */
interface DecodedChunk {
  /** Text up to the bad byte, if there is one. */
  readonly text: string;
  readonly badOffset?: number;
}

/** No encoding needs more than a few bytes to be carried over; a stream that does is not in that encoding. */
const MAX_CARRIED_BYTES = 1_048_576;

/** Decodes a stream of bytes strictly, whatever the chunks it comes in. After a bad byte it gives nothing more. */
export class StreamDecoder {
  readonly #encoding: Encoding;
  #carried: Buffer = Buffer.alloc(0);
  /** Offset in the stream of the first carried byte. */
  #offset: number;
  #isBroken = false;

  /** `offset` is where in the stream the first byte stands, such as 3 after a byte order mark. */
  constructor(encoding: Encoding, offset = 0) {
    this.#encoding = encoding;
    this.#offset = offset;
  }

  write(chunk: Buffer): DecodedChunk {
    const bytes = this.#carried.length === 0 ? chunk : Buffer.concat([this.#carried, chunk]);
    const cut = completeLength(bytes, this.#encoding);
    this.#carried = bytes.subarray(cut);
    if (this.#carried.length > MAX_CARRIED_BYTES) return this.#decode(bytes);
    return this.#decode(bytes.subarray(0, cut));
  }

  end(): DecodedChunk {
    const rest = this.#carried;
    this.#carried = Buffer.alloc(0);
    return this.#decode(rest);
  }

  #decode(bytes: Buffer): DecodedChunk {
    if (this.#isBroken) return { text: "" };
    const decoded = decodeBytes(bytes, this.#encoding);
    if (decoded.ok) {
      this.#offset += bytes.length;
      return { text: decoded.text };
    }
    this.#isBroken = true;
    const before = decodeBytes(bytes.subarray(0, decoded.offset), this.#encoding);
    return { text: before.ok ? before.text : "", badOffset: this.#offset + decoded.offset };
  }
}

/** How many of the bytes can be decoded without knowing what follows. */
function completeLength(bytes: Buffer, encoding: Encoding): number {
  switch (encoding) {
    case "utf-8":
      return completeUtf8Length(bytes);
    case "utf-16le":
    case "utf-16be":
      return completeUtf16Length(bytes, encoding === "utf-16le" ? 1 : 0);
    case "gb18030":
    case "big5":
    case "shift_jis":
    case "euc-jp":
    case "euc-kr":
      return completeMultiByteLength(bytes);
    default:
      return bytes.length;
  }
}

function completeUtf8Length(bytes: Buffer): number {
  // A sequence has at most three bytes after its first.
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] ?? 0;
    if (byte < 0x80) break;
    if (byte < 0xc0) continue;
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
    return length > back ? bytes.length - back : bytes.length;
  }
  return bytes.length;
}

function completeUtf16Length(bytes: Buffer, highByte: 0 | 1): number {
  const even = bytes.length - (bytes.length % 2);
  const last = bytes[even - 2 + highByte] ?? 0;
  const isHighSurrogate = even >= 2 && last >= 0xd8 && last <= 0xdb;
  return isHighSurrogate ? even - 2 : even;
}

/** In none of these encodings is a byte below 0x30 part of a longer character, so after one is a safe cut. */
function completeMultiByteLength(bytes: Buffer): number {
  for (let length = bytes.length; length > 0; length--) {
    if ((bytes[length - 1] ?? 0xff) < 0x30) return length;
  }
  return 0;
}
