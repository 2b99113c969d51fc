import { describe, expect, it } from "vitest";
import { FakeClock } from "../../service/fake-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { framed, type ListenerWorld, type RawPeer, withListener } from "./with-listener.ts";

/** Opens peers one after the other, each known to the listener before the next one comes. */
async function openEach({ open, listener }: ListenerWorld, count: number): Promise<RawPeer[]> {
  const peers: RawPeer[] = [];
  for (let n = 0; n < count; n += 1) {
    peers.push(await open());
    await eventually(() => listener.status.connections === n + 1);
  }
  return peers;
}

const closedOf = (peers: readonly RawPeer[]) => peers.map(({ isClosed }) => isClosed);

describe("when all places of a listener are taken", () => {
  it("a new connection takes that of the one that has been idle for longest", () =>
    withListener({ maxConnections: 3 }, async (world) => {
      const [first, second, third] = (await openEach(world, 3)) as [RawPeer, RawPeer, RawPeer];
      // It is the oldest, and the last that did something.
      first.write(framed("1"));
      await eventually(() => first.heard !== "");
      expect(world.listener.status.isFull).toBe(true);
      const fourth = await world.open();
      fourth.write(framed("4"));
      await eventually(() => fourth.heard === framed("ok 4"));
      await eventually(() => second.isClosed);
      expect(closedOf([first, third])).toEqual([false, false]);
      expect(world.listener.status).toMatchObject({ gaveWay: 1, turnedAway: 0, connections: 3 });
    }));

  it("none gives way that has a message in hand or one that is coming, and a new one is turned away", () => {
    const kept = Promise.withResolvers<string>();
    return withListener(
      { maxConnections: 2 },
      async (world) => {
        const [holding, sending] = (await openEach(world, 2)) as [RawPeer, RawPeer];
        holding.write(framed("1"));
        sending.write("\x0bhalf of ");
        await eventually(() => world.taken.length === 1 && world.listener.status.openBytes === 8);
        const further = await world.open();
        await eventually(() => further.isClosed);
        expect(world.listener.status).toMatchObject({ gaveWay: 0, turnedAway: 1 });
        kept.resolve("ok");
        sending.write("it\x1c\r");
        await eventually(() => holding.heard === framed("ok") && sending.heard === framed("ok"));
      },
      () => kept.promise,
    );
  });

  it("hundreds that say nothing keep nobody out who sends", () =>
    withListener({ maxConnections: 20, maxConnectionsPerAddress: 20 }, async (world) => {
      const silent = await Promise.all(Array.from({ length: 120 }, () => world.open()));
      const sender = await world.open();
      sender.write(framed("order"));
      await eventually(() => sender.heard === framed("ok order"));
      await eventually(() => silent.filter(({ isClosed }) => isClosed).length >= 100);
      expect(world.listener.status.connections).toBeLessThanOrEqual(20);
    }));
});

describe("one address", () => {
  it("has no more connections than are its due: its own oldest idle one gives way", () =>
    withListener({ maxConnections: 100, maxConnectionsPerAddress: 2 }, async (world) => {
      const [first, second] = (await openEach(world, 2)) as [RawPeer, RawPeer];
      expect(world.listener.status.isFull).toBe(false);
      const third = await world.open();
      third.write(framed("3"));
      await eventually(() => third.heard !== "" && first.isClosed);
      expect(second.isClosed).toBe(false);
      expect(world.listener.status).toMatchObject({ gaveWay: 1, connections: 2 });
    }));

  it("is turned away where all that it has are at work", () => {
    const kept = Promise.withResolvers<string>();
    return withListener(
      { maxConnections: 100, maxConnectionsPerAddress: 1 },
      async (world) => {
        const [first] = (await openEach(world, 1)) as [RawPeer];
        first.write(framed("1"));
        await eventually(() => world.taken.length === 1);
        const second = await world.open();
        await eventually(() => second.isClosed);
        kept.resolve("ok");
        await eventually(() => first.heard === framed("ok"));
      },
      () => kept.promise,
    );
  });
});

describe("a connection that brings no whole message in time", () => {
  const settings = { firstFrameMs: 400, frameMs: 60_000, idleMs: 60_000 };

  it.each([
    ["says nothing", () => undefined],
    ["sends bytes of no frame", (peer: RawPeer) => peer.write("x")],
    ["sends a frame byte by byte", (peer: RawPeer) => peer.write("\x0b")],
    ["begins frame after frame", (peer: RawPeer) => peer.write("\x0ba\x0bb")],
  ])("is closed when it %s", (_, write) => {
    const clock = new FakeClock();
    return withListener(
      settings,
      async ({ open, listener }) => {
        const peer = await open();
        await eventually(async () => {
          write(peer);
          await clock.advance(20);
          return peer.isClosed;
        });
        expect(listener.status.timedOut).toBe(1);
      },
      undefined,
      clock,
    );
  });

  it("has the usual time once it has brought one", () => {
    const clock = new FakeClock();
    return withListener(
      settings,
      async ({ open, listener }) => {
        const peer = await open();
        peer.write(framed("1"));
        await eventually(() => peer.heard === framed("ok 1"));
        // One that comes only now has had its time.
        const silent = await open();
        await eventually(async () => {
          await clock.advance(20);
          return silent.isClosed;
        });
        peer.write(framed("2"));
        await eventually(() => peer.heard === framed("ok 1") + framed("ok 2"));
        expect(listener.status.timedOut).toBe(1);
      },
      undefined,
      clock,
    );
  });
});
