import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Systems take the ports of outgoing connections from above these. */
const [FROM, TO] = [20_000, 32_000];
/** Test files run at once, each in a process of its own, in so many places. */
const PLACES = 8;
const given = new Set<number>();

/**
 * A port on 127.0.0.1 that was free a moment ago, for a server that is to have the same one after each start. None that
 * an outgoing connection may be given while the server is away, nor another test of the run.
 */
export async function findPort(): Promise<number> {
  const place = Number(process.env.VITEST_POOL_ID ?? 0) % PLACES;
  for (;;) {
    const drawn = randomInt(FROM, TO);
    const port = drawn - (drawn % PLACES) + place;
    if (given.has(port)) continue;
    given.add(port);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
