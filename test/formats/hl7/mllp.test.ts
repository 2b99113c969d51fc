import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeFrame, type FrameEvent, FrameReader } from "../../../src/formats/hl7/mllp.ts";

const MAX = 1_000;

/** The events of a stream that comes in those chunks. */
function read(chunks: readonly Buffer[], maxBytes = MAX): FrameEvent[] {
  const reader = new FrameReader(maxBytes);
  return [...chunks.flatMap((chunk) => reader.push(chunk)), ...reader.end()];
}

const bytes = (text: string) => Buffer.from(text, "latin1");
const frame = (text: string): FrameEvent => ({ kind: "frame", bytes: bytes(text) });
/** The same stream in two chunks, cut at each of its bytes, and in single bytes. */
const cuts = (stream: Buffer) => [
  ...Array.from({ length: stream.length + 1 }, (_, at) => [stream.subarray(0, at), stream.subarray(at)]),
  [...stream].map((byte) => Buffer.from([byte])),
];

/** What is reported about a stream, whatever its chunks: neighbouring reports of junk count as one. */
function reported(chunks: readonly Buffer[], maxBytes = MAX): FrameEvent[] {
  const events: FrameEvent[] = [];
  for (const event of read(chunks, maxBytes)) {
    const last = events.at(-1);
    if (event.kind === "junk" && last?.kind === "junk") {
      events[events.length - 1] = { kind: "junk", length: last.length + event.length };
    } else events.push(event);
  }
  return events;
}

describe("a stream of frames", () => {
  it.each<readonly [string, string, readonly FrameEvent[]]>([
    ["one frame", "\x0bMSH|a\r\x1c\r", [frame("MSH|a\r")]],
    ["frames one after the other", "\x0ba\x1c\r\x0bb\x1c\r", [frame("a"), frame("b")]],
    ["frames with line ends between them", "\x0ba\x1c\r\r\n\x0bb\x1c\r\n", [frame("a"), frame("b")]],
    ["an empty frame", "\x0b\x1c\r", [frame("")]],
    [
      "junk before and between",
      "xy\x0ba\x1c\rz\x0bb\x1c\r",
      [{ kind: "junk", length: 2 }, frame("a"), { kind: "junk", length: 1 }, frame("b")],
    ],
    [
      "a frame without an end before another",
      "\x0bab\x0bc\x1c\r",
      [{ kind: "unended", bytes: bytes("ab") }, frame("c")],
    ],
    [
      "a frame that the stream's end cuts off",
      "\x0ba\x1c\r\x0bbc",
      [frame("a"), { kind: "unended", bytes: bytes("bc") }],
    ],
    [
      "an end block without its carriage return before the next frame",
      "\x0ba\x1c\x0bb\x1c\r",
      [frame("a"), frame("b")],
    ],
    ["an end block with a line feed", "\x0bMSH|a\r\x1c\n\x0bb\x1c\r", [frame("MSH|a\r"), frame("b")]],
    [
      "an end block without its carriage return at the stream's end",
      "\x0ba\x1c\r\x0bb\x1c",
      [frame("a"), frame("b")],
    ],
    ["two end bytes at the stream's end", "\x0ba\x1c\x1c", [frame("a\x1c")]],
    ["an end byte within the data", "\x0ba\x1cb\x1c\r", [frame("a\x1cb")]],
    ["two end bytes", "\x0ba\x1c\x1c\r", [frame("a\x1c")]],
  ])("with %s is read alike wherever it is cut", (_words, stream, expected) => {
    for (const chunks of cuts(bytes(stream))) expect(reported(chunks)).toEqual(expected);
  });

  it("that stands still behind an end block has one frame more, and a late carriage return is none of its own", () => {
    const reader = new FrameReader(MAX);
    expect(reader.push(bytes("\x0ba\x1c\r\x0bMSH|b\x1c"))).toEqual([frame("a")]);
    expect([reader.isAtEndBlock, reader.looseEnds]).toEqual([true, 0]);
    expect(reader.end()).toEqual([frame("MSH|b")]);
    expect([reader.isAtEndBlock, reader.looseEnds, reader.openLength]).toEqual([false, 1, undefined]);
    expect(reader.push(bytes("\r\x0bc\x1c\r"))).toEqual([frame("c")]);
  });

  it("gives back any messages, in any chunks", () => {
    const message = fc
      .uint8Array({ maxLength: 60 })
      .map((data) => Buffer.from(data.filter((byte) => byte !== 0x0b && byte !== 0x1c)));
    fc.assert(
      fc.property(fc.array(message, { maxLength: 8 }), fc.array(fc.nat(500)), (messages, at) => {
        const stream = Buffer.concat(messages.map(encodeFrame));
        const edges = [0, ...at.filter((edge) => edge < stream.length).sort((a, b) => a - b), stream.length];
        const chunks = edges.slice(1).map((edge, n) => stream.subarray(edges[n], edge));
        expect(read(chunks)).toEqual(messages.map((data) => ({ kind: "frame", bytes: data })));
      }),
    );
  });

  it("is read alike in whatever chunks, whatever bytes it holds", () => {
    const byte = fc.constantFrom(0x0b, 0x1c, 0x0d, 0x0a, 0x41, 0x42);
    fc.assert(
      fc.property(fc.array(byte, { maxLength: 40 }), fc.integer({ min: 1, max: 12 }), (data, limit) => {
        const stream = Buffer.from(data);
        const whole = reported([stream], limit);
        for (const chunks of cuts(stream)) expect(reported(chunks, limit)).toEqual(whole);
      }),
    );
  });

  it("takes a thousand frames out of one chunk", () => {
    const stream = Buffer.concat(Array.from({ length: 1_000 }, (_, n) => encodeFrame(bytes(`message ${n}`))));
    expect(read([stream])).toHaveLength(1_000);
  });
});

describe("a frame beyond the limit", () => {
  it("ends the stream, and one of just that size does not", () => {
    const fits = bytes(`\x0b${"a".repeat(MAX)}\x1c\r`);
    const exceeds = bytes(`\x0b${"a".repeat(MAX + 1)}\x1c\r\x0bb\x1c\r`);
    for (const chunks of cuts(fits)) expect(read(chunks)).toEqual([frame("a".repeat(MAX))]);
    for (const chunks of cuts(exceeds)) expect(read(chunks)).toEqual([{ kind: "too_large" }]);
  });

  it("is noticed before its end has come", () => {
    const reader = new FrameReader(10);
    expect(reader.push(bytes("\x0b0123456789ab"))).toEqual([{ kind: "too_large" }]);
  });
});

describe("a message that is framed", () => {
  it.each([0x0b, 0x1c])("may not hold the byte %i, which would end its frame", (byte) => {
    expect(() => encodeFrame(Buffer.from([0x41, byte]))).toThrow(RangeError);
  });
});

describe("a frame that comes in single bytes", () => {
  it("takes little more memory than it is long", () => {
    const reader = new FrameReader(10_000_000);
    reader.push(bytes("\x0b"));
    const before = process.memoryUsage();
    for (let n = 0; n < 1_000_000; n += 1) reader.push(Buffer.alloc(1, 0x41));
    const after = process.memoryUsage();
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(20_000_000);
    expect(after.heapUsed - before.heapUsed).toBeLessThan(100_000_000);
    const [event] = reader.push(bytes("\x1c\r"));
    expect(event?.kind === "frame" && event.bytes.length).toBe(1_000_000);
  });
});
