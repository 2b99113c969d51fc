import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { flush } from "../../src/cli/io.ts";

/** A stream whose reader takes what was written when `take` is called. */
function slowStream() {
  const taken: string[] = [];
  let take = () => {};
  const stream = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      take = () => {
        taken.push(chunk.toString());
        done();
      };
    },
  });
  return { stream, taken, take: () => take() };
}

describe("flushing a stream", () => {
  it("waits for the little that is under way in a stream that never asked to wait", async () => {
    const { stream, taken, take } = slowStream();
    stream.write("the end");
    const flushed = flush(stream);
    take();
    await Promise.race([flushed, new Promise((resolve) => setImmediate(() => setImmediate(resolve)))]);
    take();
    await flushed;
    expect(taken[0]).toBe("the end");
  });

  it("ends when the reader goes away", async () => {
    const { stream } = slowStream();
    stream.write("the end");
    const flushed = flush(stream);
    stream.destroy();
    await expect(flushed).resolves.toBeUndefined();
  });

  it("waits for nothing where nothing was written", async () => {
    await expect(flush(slowStream().stream)).resolves.toBeUndefined();
  });
});
