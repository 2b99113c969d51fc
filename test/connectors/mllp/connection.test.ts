import { createServer, type Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { type ConnectionDeps, MllpConnection } from "../../../src/connectors/mllp/connection.ts";
import { BackPressure } from "../../../src/connectors/mllp/limits.ts";
import { FakeClock } from "../../service/fake-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { silent } from "../../support/with-ledger.ts";
import { framed, openRaw, type RawPeer } from "./with-listener.ts";

/** A peer with our end of its connection. */
interface Pair {
  readonly peer: RawPeer;
  readonly socket: Socket;
  readonly connection: MllpConnection;
}

interface World {
  readonly counts: ConnectionDeps["counts"];
  readonly backPressure: BackPressure;
  readonly clock: FakeClock;
  open(): Promise<Pair>;
}

/** Connections that share what those of a listener share; back-pressure is on from 1,000 bytes. */
async function withConnections(
  {
    take,
    limits,
  }: { readonly take: ConnectionDeps["take"]; readonly limits?: Partial<ConnectionDeps["limits"]> },
  run: (world: World) => Promise<void>,
): Promise<void> {
  const counts = {
    frames: 0,
    looseEnds: 0,
    unended: 0,
    tooLarge: 0,
    junkBytes: 0,
    timedOut: 0,
    openBytes: 0,
  };
  const backPressure = new BackPressure(1_000);
  const clock = new FakeClock();
  const deps: ConnectionDeps = {
    limits: {
      maxConnections: 10,
      maxBytes: 1_000_000,
      maxOpenBytes: 1_000_000,
      maxInFlight: 1_000,
      idleMs: 60_000,
      firstFrameMs: 60_000,
      maxConnectionsPerAddress: 100,
      frameMs: 60_000,
      ...limits,
    },
    clock,
    logger: silent,
    counts,
    backPressure,
    take,
    keepUnended: () => Promise.resolve(),
  };
  const ours: Pick<Pair, "socket" | "connection">[] = [];
  const theirs: Socket[] = [];
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    ours.push({ socket, connection: new MllpConnection(socket, deps) });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  try {
    await run({
      counts,
      backPressure,
      clock,
      open: async () => {
        const count = ours.length;
        const peer = await openRaw(port, theirs);
        return { peer, ...(await eventually(() => ours[count])) };
      },
    });
  } finally {
    for (const socket of [...theirs, ...ours.map(({ socket }) => socket)]) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** What a test lets become of messages: each waits until it is given its end. */
function manualTake() {
  const ends: { keep(): void; fail(): void }[] = [];
  const take = (frame: Buffer) =>
    new Promise<readonly Buffer[]>((resolve, reject) => {
      ends.push({ keep: () => resolve([frame]), fail: () => reject(new Error("no ledger")) });
    });
  return { ends, take };
}

const LARGE = framed("L".repeat(1_000));

describe("a connection whose listener has enough in hand", () => {
  test("is not closed over the time of a frame that it doesn't read on", () => {
    const { ends, take } = manualTake();
    return withConnections({ take, limits: { frameMs: 1_500 } }, async ({ open, counts, clock }) => {
      const [large, begun] = [await open(), await open()];
      begun.peer.write("\x0bbeg");
      await eventually(() => counts.openBytes === 3);
      large.peer.write(LARGE);
      await eventually(() => ends.length === 1);
      begun.peer.write("un");
      await eventually(() => begun.socket.isPaused());
      await clock.advance(2_000);
      expect(counts.timedOut).toBe(0);
      begun.peer.write("\x1c\r");
      ends[0]?.keep();
      await eventually(() => ends.length === 2);
    });
  });

  test("is closed over that time again once it reads on", () => {
    const { ends, take } = manualTake();
    return withConnections({ take, limits: { frameMs: 200 } }, async ({ open, counts, clock }) => {
      const [large, begun] = [await open(), await open()];
      large.peer.write(LARGE);
      await eventually(() => ends.length === 1);
      begun.peer.write("\x0bbegun");
      await eventually(() => begun.socket.isPaused());
      ends[0]?.keep();
      await eventually(() => !begun.socket.isPaused());
      await clock.advance(200);
      await eventually(() => begun.peer.isClosed);
      expect(counts.timedOut).toBe(1);
    });
  });

  test("reads on when what the others have in hand can't be kept, or their connections are gone", () => {
    const { ends, take } = manualTake();
    return withConnections({ take }, async ({ open, backPressure }) => {
      for (let round = 0; round < 2; round += 1) {
        const [large, small] = [await open(), await open()];
        const before = ends.length;
        large.peer.write(LARGE);
        await eventually(() => ends.length === before + 1);
        small.peer.write(framed("one"));
        await eventually(() => small.socket.isPaused());
        small.peer.write(framed("two"));
        if (round === 0) ends[before]?.fail();
        else {
          large.socket.destroy();
          ends[before]?.keep();
        }
        await eventually(() => ends.length === before + 3);
        for (const end of ends) end.keep();
        await eventually(() => small.peer.heard === framed("one") + framed("two"));
      }
      expect(backPressure.isOn).toBe(false);
    });
  });
});

test("a peer that doesn't read its answers is read no further until it does", () => {
  const answer = Buffer.alloc(500_000, "x");
  let taken = 0;
  const take = () => {
    taken += 1;
    return Promise.resolve([answer]);
  };
  return withConnections({ take }, async ({ open }) => {
    const { peer, socket } = await open();
    peer.socket.pause();
    // About one message a read.
    for (let n = 0; n < 100; n += 1) peer.write(framed("m".repeat(60_000)));
    await eventually(() => (socket.isPaused() && socket.writableNeedDrain) || taken === 100);
    expect(taken).toBeLessThan(100);
    peer.socket.resume();
    await eventually(() => taken === 100);
    await eventually(() => peer.heard.length === 100 * framed(answer.toString()).length);
  });
});

test("a connection that was closed over a message that can't be kept doesn't hold up the stop", () => {
  const { ends, take } = manualTake();
  return withConnections({ take }, async ({ open }) => {
    const { peer, connection } = await open();
    peer.write(framed("bad") + framed("never"));
    await eventually(() => ends.length === 2);
    ends[0]?.fail();
    await eventually(() => peer.isClosed);
    let isStopped = false;
    void connection.stop().then(() => {
      isStopped = true;
    });
    await eventually(() => isStopped);
  });
});
