import { afterAll, beforeAll } from "vitest";

/** Gives the tests of a file, or of a block, one of what `make` makes, lends to `use` and takes away. */
export function shared<T>(make: (use: (made: T) => Promise<void>) => Promise<void>): () => T {
  const over = Promise.withResolvers<void>();
  let made: { readonly value: T } | undefined;
  let ended: Promise<void> = Promise.resolve();
  beforeAll(async () => {
    const begun = Promise.withResolvers<{ readonly value: T }>();
    ended = make((value) => {
      begun.resolve({ value });
      return over.promise;
    });
    made = await Promise.race([begun.promise, ended.then(() => undefined)]);
  });
  afterAll(async () => {
    over.resolve();
    await ended;
  });
  return () => {
    if (!made) throw new Error("it is there while tests run");
    return made.value;
  };
}
