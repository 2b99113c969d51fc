import { describe, expect, it } from "vitest";
import { FakeClock } from "../../service/fake-clock.ts";
import { eventually } from "../../support/eventually.ts";
import { framed, withListener } from "./with-listener.ts";

/** A promise that a test ends. */
function gate(): { readonly opened: Promise<void>; open: () => void } {
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open };
}

describe("an MLLP listener", () => {
  it("answers a stream that is cut at any of its bytes", () =>
    withListener({}, async ({ open }) => {
      const stream = `${framed("MSH|one\r")}${framed("MSH|two\r")}`;
      const answers = `${framed("ok MSH|one\r")}${framed("ok MSH|two\r")}`;
      for (let at = 1; at < stream.length; at += 1) {
        const peer = await open();
        peer.write(stream.slice(0, at));
        await new Promise((resolve) => setImmediate(resolve));
        peer.write(stream.slice(at));
        await eventually(() => peer.heard === answers, { what: `the answers when cut at ${at}` });
        peer.socket.destroy();
      }
    }));

  it("answers a thousand messages of one write, in their order", () =>
    withListener({}, async ({ open }) => {
      const peer = await open();
      const texts = Array.from({ length: 1_000 }, (_, n) => `message ${n}`);
      peer.write(texts.map(framed).join(""));
      const expected = texts.map((text) => framed(`ok ${text}`)).join("");
      await eventually(() => peer.heard.length >= expected.length, { what: "all answers" });
      expect(peer.heard).toBe(expected);
    }));

  it("answers in the order of arrival, whichever is committed first", () => {
    const first = gate();
    return withListener(
      {},
      async ({ open, taken }) => {
        const peer = await open();
        peer.write(framed("slow") + framed("quick"));
        await eventually(() => taken.length === 2, { what: "both messages" });
        expect(peer.heard).toBe("");
        first.open();
        await eventually(() => peer.heard === framed("ok slow") + framed("ok quick"));
      },
      async (text) => {
        if (text === "slow") await first.opened;
        return `ok ${text}`;
      },
    );
  });

  it("reads nothing more of anybody while 32 MB are in hand, and calls none of them idle", () => {
    const disk = gate();
    const clock = new FakeClock();
    return withListener(
      { maxBytes: 10_000_000, idleMs: 2_000, frameMs: 2_000 },
      async ({ open, taken, listener }) => {
        const large = await open();
        large.write(framed("L".repeat(8_500_000)).repeat(6));
        await eventually(() => taken.length === 4, { what: "what there is room for" });
        const [small, begun] = [await open(), await open()];
        small.write(framed("small").repeat(2));
        begun.write("\x0bbeg");
        await eventually(() => listener.status.connections === 3);
        await clock.advance(2_500);
        expect(taken).toHaveLength(4);
        expect(listener.status.timedOut).toBe(0);
        small.write(framed("small"));
        begun.write("un\x1c\r");
        disk.open();
        await eventually(() => taken.length === 10, { what: "all messages" });
        await eventually(() => small.heard === framed("ok").repeat(3) && begun.heard === framed("ok"));
      },
      async () => {
        await disk.opened;
        return "ok";
      },
      clock,
    );
  });

  it("answers nothing where nothing is to be answered, and goes on", () =>
    withListener(
      {},
      async ({ open }) => {
        const peer = await open();
        peer.write(framed("silent") + framed("loud"));
        await eventually(() => peer.heard === framed("loud"));
      },
      (text) => Promise.resolve(text === "silent" ? undefined : text),
    ));

  it("closes the connection without an answer when a message can't be committed, nor to those after it", () =>
    withListener(
      {},
      async ({ open, taken }) => {
        const peer = await open();
        peer.write(framed("good") + framed("bad") + framed("after"));
        await eventually(() => peer.isClosed, { what: "the end of the connection" });
        expect(peer.heard).toBe(framed("ok good"));
        expect(taken).toContain("after");
      },
      (text) => (text === "bad" ? Promise.reject(new Error("no ledger")) : Promise.resolve(`ok ${text}`)),
    ));

  it("answers a peer that has closed its own half before the answer was ready", () => {
    const committed = gate();
    return withListener(
      {},
      async ({ open, taken }) => {
        const peer = await open();
        peer.write(framed("last"));
        peer.socket.end();
        await eventually(() => taken.length === 1);
        committed.open();
        await eventually(() => peer.heard === framed("ok last"));
      },
      async (text) => {
        await committed.opened;
        return `ok ${text}`;
      },
    );
  });

  it("skips and counts bytes between frames", () =>
    withListener({}, async ({ open, listener }) => {
      const peer = await open();
      peer.write(`GET / HTTP/1.1\r\n${framed("a")}`);
      await eventually(() => peer.heard === framed("ok a"));
      expect(listener.status).toMatchObject({ frames: 1, junkBytes: 14 });
    }));

  it("keeps a frame that never ended, and takes the next one", () =>
    withListener({}, async ({ open, unended, listener }) => {
      const peer = await open();
      peer.write(`\x0bhalf a message${framed("whole")}`);
      await eventually(() => peer.heard === framed("ok whole"));
      expect(unended).toEqual(["half a message"]);
      expect(listener.status.unended).toBe(1);
    }));

  it("closes a connection whose frame is larger than allowed, after the answers before it", () =>
    withListener({ maxBytes: 10 }, async ({ open, listener, taken }) => {
      const peer = await open();
      peer.write(`${framed("fits")}\x0b${"x".repeat(11)}`);
      await eventually(() => peer.isClosed);
      expect(peer.heard).toBe(framed("ok fits"));
      expect(taken).toEqual(["fits"]);
      expect(listener.status).toMatchObject({ tooLarge: 1, openBytes: 0 });
    }));

  it("closes a connection that would have too much open at once, and no other", () =>
    withListener({ maxOpenBytes: 100 }, async ({ open, listener }) => {
      const [one, other] = [await open(), await open()];
      one.write(`\x0b${"x".repeat(60)}`);
      await eventually(() => listener.status.openBytes === 60);
      other.write(`\x0b${"x".repeat(60)}`);
      await eventually(() => other.isClosed);
      one.write("\x1c\r");
      await eventually(() => one.heard === framed(`ok ${"x".repeat(60)}`));
      expect(listener.status.openBytes).toBe(0);
    }));

  it("closes a connection on which nothing comes", () =>
    withListener({ idleMs: 50 }, async ({ open, listener }) => {
      const peer = await open();
      await eventually(() => peer.isClosed);
      expect(listener.status.timedOut).toBe(1);
    }));

  it("closes a connection on which nothing comes but bytes of no frame", () => {
    const clock = new FakeClock();
    return withListener(
      { idleMs: 150 },
      async ({ open, listener }) => {
        const peer = await open();
        for (let n = 0; n < 3; n += 1) {
          const before = listener.status.junkBytes;
          peer.write("\r?");
          await eventually(() => listener.status.junkBytes > before);
          await clock.advance(50);
        }
        await eventually(() => peer.isClosed);
        expect(listener.status.timedOut).toBe(1);
      },
      undefined,
      clock,
    );
  });

  it("closes a connection whose frame takes too long, however steadily its bytes drip", () => {
    const clock = new FakeClock();
    return withListener(
      { frameMs: 150 },
      async ({ open, listener, taken }) => {
        const peer = await open();
        peer.write("\x0b");
        for (let n = 1; n <= 3; n += 1) {
          peer.write("x");
          await eventually(() => listener.status.openBytes === n);
          await clock.advance(50);
        }
        await eventually(() => peer.isClosed);
        expect(taken).toEqual([]);
      },
      undefined,
      clock,
    );
  });

  it("counts no time against an open frame in which it reads nothing itself", () => {
    const committed = gate();
    const clock = new FakeClock();
    return withListener(
      { maxInFlight: 1, frameMs: 1_500 },
      async ({ open, listener, taken }) => {
        const peer = await open();
        peer.write(`${framed("one")}\x0btw`);
        await eventually(() => taken.length === 1);
        peer.write(`${"o".repeat(900_000)}\x1c\r`);
        await clock.advance(2_000);
        committed.open();
        await eventually(() => taken.length === 2);
        expect(listener.status.timedOut).toBe(0);
      },
      async (text) => {
        await committed.opened;
        return `ok ${text.length}`;
      },
      clock,
    );
  });

  it("reads a peer no further while its messages are being committed", () => {
    const committed = gate();
    return withListener(
      { maxInFlight: 2 },
      async ({ open, taken }) => {
        const peer = await open();
        for (let n = 0; n < 40; n += 1) {
          peer.write(framed(`${n}`.padEnd(60_000, ".")));
        }
        await eventually(() => taken.length >= 2);
        await new Promise((resolve) => setImmediate(resolve));
        const inHand = taken.length;
        committed.open();
        await eventually(() => taken.length === 40, { what: "all messages in the end" });
        expect(inHand).toBeLessThan(10);
      },
      async (text) => {
        await committed.opened;
        return text.slice(0, 2);
      },
    );
  });

  it("turns away addresses that are not let in", async () => {
    await withListener({ allow: ["10.0.0.0/8", "192.0.2.7"] }, async ({ open, listener }) => {
      const peer = await open();
      await eventually(() => peer.isClosed);
      expect(listener.status).toMatchObject({ connections: 0, turnedAway: 1 });
    });
  });

  it("answers what it took before it stops, and takes nothing more", () => {
    const committed = gate();
    return withListener(
      {},
      async ({ open, taken, listener, port }) => {
        const peer = await open();
        peer.write(framed("in hand"));
        await eventually(() => taken.length === 1);
        const stopped = listener.stop(5_000);
        peer.write(framed("too late"));
        committed.open();
        await stopped;
        await eventually(() => peer.isClosed);
        expect(peer.heard).toBe(framed("ok in hand"));
        expect(taken).toEqual(["in hand"]);
        expect(port).toBeGreaterThan(0);
      },
      async (text) => {
        await committed.opened;
        return `ok ${text}`;
      },
    );
  });

  it("cuts off what is not answered within the time for stopping", () =>
    withListener(
      {},
      async ({ open, taken, listener }) => {
        const peer = await open();
        peer.write(framed("never committed"));
        await eventually(() => taken.length === 1);
        await listener.stop(50);
        await eventually(() => peer.isClosed);
        expect(peer.heard).toBe("");
      },
      () => new Promise(() => undefined),
    ));

  it("says which port is taken", () =>
    withListener({}, async ({ port }) => {
      await expect(withListener({ port }, () => Promise.resolve())).rejects.toMatchObject({
        code: "MLLP_NOT_LISTENING",
        message: `can't listen on 127.0.0.1:${port}: EADDRINUSE`,
      });
    }));

  it.each(["10.1.2", "10.0.0.0/33", "host.example", "10.0.0.0/8/8", "fd00::/129", "1.2.3.4/"])(
    "refuses %j in its address list",
    async (entry) => {
      await expect(withListener({ allow: [entry] }, () => Promise.resolve())).rejects.toThrow(RangeError);
    },
  );

  it("lets in the addresses and networks of its list, also as a dual-stack socket shows them", () =>
    withListener({ host: "::", allow: ["127.0.0.0/8"] }, async ({ open }) => {
      const peer = await open();
      peer.write(framed("a"));
      await eventually(() => peer.heard === framed("ok a"));
    }));

  it("lets a peer go at once that begins with TLS, and keeps nothing of what it said", () =>
    withListener({}, async ({ open, listener, taken, unended }) => {
      const peer = await open();
      peer.write("\x16\x03\x01\x02\x00\x01\x0b\x00\x04\x0b");
      await eventually(() => peer.isClosed);
      expect([taken, unended]).toEqual([[], []]);
      expect(listener.status).toMatchObject({ junkBytes: 10, unended: 0 });
    }));

  it.each([
    ["no carriage return", "\x0bMSH|a\r\x1c"],
    ["no carriage return, nor one after the last segment", "\x0bMSH|a\x1c"],
    ["a line feed", "\x0bMSH|a\r\x1c\n"],
  ])("answers a frame at once whose end block has %s, and counts it", (_, frame) =>
    withListener({}, async ({ listener, open, taken }) => {
      const peer = await open();
      for (const count of [1, 2]) {
        peer.write(frame);
        await eventually(() => peer.heard.split("\x1c\r").length === count + 1);
        expect(taken).toHaveLength(count);
      }
      expect(taken[0]).toMatch(/^MSH\|a/);
      expect(listener.status).toMatchObject({ frames: 2, looseEnds: 2, unended: 0, junkBytes: 0 });
    }),
  );

  it("answers a frame whose end block lacks its carriage return to a peer that then ends its half", () =>
    withListener({}, async ({ listener, open }) => {
      const peer = await open();
      peer.socket.end("\x0bMSH|a\r\x1c");
      await eventually(() => peer.isClosed);
      expect(peer.heard).toContain("ok MSH|a");
      expect(listener.status).toMatchObject({ frames: 1, looseEnds: 1, unended: 0 });
    }));
});
