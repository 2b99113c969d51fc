import type { Writable } from "node:stream";

/**
 * Resolves when all that was written to a stream is on its way, or when nobody reads it any more. A stream tells that it
 * has drained only when it had refused to buffer more, so a write of nothing is waited for instead.
 */
export function flush(stream: Writable): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0 || stream.destroyed || stream.errored) {
      resolve();
      return;
    }
    stream.once("close", resolve);
    stream.write("", () => {
      stream.off("close", resolve);
      resolve();
    });
  });
}
