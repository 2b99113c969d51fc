/** A byte order mark: what it says, and its length in bytes. */
interface ByteOrderMark {
  readonly encoding: "utf-8" | "utf-16le" | "utf-16be";
  readonly length: number;
}

/** The byte order mark at the beginning, if there is one. */
export function findByteOrderMark(bytes: Buffer): ByteOrderMark | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return { encoding: "utf-8", length: 3 };
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { encoding: "utf-16le", length: 2 };
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { encoding: "utf-16be", length: 2 };
  return undefined;
}
