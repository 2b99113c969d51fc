import { setImmediate as nextTurn } from "node:timers/promises";
import { findByteOrderMark } from "../encoding.ts";

/** Small enough that parsing one block takes a few milliseconds. */
const BLOCK_BYTES = 65_536;

/**
 * A source in blocks of at most 64 KiB, the event loop getting its turn after each, however large the chunks and
 * however fast they come.
 */
export async function* blocksOf(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    for (let from = 0; from < chunk.length; from += BLOCK_BYTES) {
      yield chunk.subarray(from, from + BLOCK_BYTES);
      await nextTurn();
    }
  }
}

/** Takes the byte order mark off the beginning of a source, even when it comes byte by byte. */
export async function* withoutByteOrderMark(
  source: AsyncIterable<Buffer>,
  found: (mark: ReturnType<typeof findByteOrderMark>) => void,
): AsyncGenerator<Buffer> {
  let head: Buffer | undefined = Buffer.alloc(0);
  for await (const chunk of source) {
    if (head === undefined) {
      yield chunk;
      continue;
    }
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
    if (head.length < 3) continue;
    yield openingOf(head, found);
    head = undefined;
  }
  if (head !== undefined) yield openingOf(head, found);
}

function openingOf(head: Buffer, found: (mark: ReturnType<typeof findByteOrderMark>) => void): Buffer {
  const mark = findByteOrderMark(head);
  found(mark);
  return head.subarray(mark?.length ?? 0);
}
