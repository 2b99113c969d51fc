import { readAcknowledgment } from "../../../src/connectors/mllp/read-acknowledgment.ts";
import {
  encodeFrame,
  type FrameEvent,
  FrameReader,
  guessProtocol,
  Oddities,
} from "../../../src/formats/hl7/mllp.ts";
import { type InputForm, piecesIn } from "../mutate.ts";
import { hashOf, Random } from "../random.ts";
import { examples } from "../seeds.ts";
import { expectThat, type Target } from "../target.ts";

const FORM: InputForm = {
  delimiters: ["\x0b", "\x1c\r", "\x1c", "\r", "\n", "|"],
  tokens: piecesIn(
    "\x0b¦\x1c\r¦\x1c¦\x1c\n¦\x1c\x1c¦\x0b\x0b¦\x0b\x1c\r¦\r\n¦\x0bMSH|a\x1c\r¦xy¦\x0ba\x1c\x0bb¦" +
      "MSH|^~\\&|L|||||¦MSA|AA|M1¦MSA|ae|M1|x|||207¦ERR|||207¦ERR|^^^207¦MSA|¦GET / HTTP/1.1\r\n¦SSH-2.0¦" +
      "\x16\x03\x01",
  ),
  brackets: [["\x0b", "\x1c\r"]],
};

/** A stream of MLLP in pieces of any size, the frames in it, and the acknowledgements that they may be. */
export async function makeTarget(): Promise<Target> {
  const framed = examples(".hl7").map((bytes) =>
    Buffer.from(`\x0b${bytes.toString("latin1")}\x1c\r`, "latin1"),
  );
  const ack = Buffer.from("\x0bMSH|^~\\&|L|N|||2026||ACK|1|P|2.5\rMSA|AA|M1\rERR|||207\r\x1c\r");
  const answers = ["", "\x0ba\x1c\r\x0bb\x1c\r", "xy\x0ba\x1cb\x1c\x0bc", "\x0b\x1c\r\n\x0b"].map((text) =>
    Buffer.from(text),
  );
  return {
    name: "mllp",
    form: FORM,
    seeds: [ack, Buffer.concat([ack, ack]), ...answers, ...framed.filter(({ length }) => length < 1_500)],
    run: (input) => {
      // By its beginning, so that it is read in the same way when it grows.
      const random = new Random(hashOf(input.subarray(0, 64)));
      const limit = random.oneIn(2) ? 10_000_000 : 1 + random.below(2_000);
      const expected = readSlowly(input, limit);
      for (const chunks of [[input], piecesOf(input, random)]) {
        const events = joined(read(chunks, limit));
        expectThat(isSame(events, expected), "a stream that is read otherwise in other pieces");
      }
      for (const event of expected) if (event.kind === "frame") expectFrame(event.bytes);
      return expected
        .map((event) => ("bytes" in event ? event.bytes.toString("latin1") : JSON.stringify(event)))
        .join("\0");
    },
  };
}

function piecesOf(input: Buffer, random: Random): Buffer[] {
  const longest = 1 + random.below(random.oneIn(2) ? 4 : 400);
  const pieces: Buffer[] = [];
  for (let at = 0; at < input.length; ) {
    const length = 1 + random.below(longest);
    // A socket reuses nothing that it gave, but its memory may lie anywhere.
    pieces.push(Buffer.from(input.subarray(at, at + length)));
    at += length;
  }
  return pieces;
}

function read(chunks: readonly Buffer[], limit: number): FrameEvent[] {
  const reader = new FrameReader(limit);
  const oddities = new Oddities();
  const events: FrameEvent[] = [];
  for (const chunk of chunks) {
    const found = reader.push(chunk);
    oddities.read(chunk, found, reader.openLength);
    events.push(...found);
  }
  guessProtocol(chunks[0] ?? Buffer.alloc(0));
  oddities.describe();
  return [...events, ...reader.end()];
}

/** Neighbouring reports of junk are one, wherever a piece ended between them. */
function joined(events: readonly FrameEvent[]): FrameEvent[] {
  const all: FrameEvent[] = [];
  for (const event of events) {
    const last = all.at(-1);
    if (event.kind === "junk" && last?.kind === "junk")
      all[all.length - 1] = { kind: "junk", length: last.length + event.length };
    else all.push(event);
  }
  return all;
}

function isSame(some: readonly FrameEvent[], others: readonly FrameEvent[]): boolean {
  return (
    some.length === others.length &&
    some.every((one, n) => {
      const other = others[n];
      if (one.kind !== other?.kind) return false;
      if ("bytes" in one && "bytes" in other) return one.bytes.equals(other.bytes);
      return one.kind !== "junk" || other.kind !== "junk" || one.length === other.length;
    })
  );
}

/** The protocol byte by byte, as the documentation of the reader says it. */
function readSlowly(input: Buffer, limit: number): FrameEvent[] {
  const events: FrameEvent[] = [];
  let begin = -1;
  let junk = 0;
  const isLineEnd = (byte: number | undefined) => byte === 0x0d || byte === 0x0a;
  const close = (kind: "frame" | "unended", end: number) => {
    events.push({ kind, bytes: input.subarray(begin, end) });
    begin = -1;
  };
  const loosely = (end: number) => {
    const hasEnd = end > begin && input[end - 1] === 0x1c;
    close(hasEnd ? "frame" : "unended", hasEnd ? end - 1 : end);
  };
  for (let at = 0; at < input.length; at += 1) {
    const byte = input[at];
    if (begin === -1) {
      if (byte === 0x0b) {
        if (junk > 0) events.push({ kind: "junk", length: junk });
        junk = 0;
        begin = at + 1;
      } else if (!isLineEnd(byte)) junk += 1;
      continue;
    }
    if (byte === 0x0b) {
      loosely(at);
      begin = at + 1;
    } else if (isLineEnd(byte) && at > begin && input[at - 1] === 0x1c) close("frame", at - 1);
    else {
      const length = at + 1 - begin - (byte === 0x1c ? 1 : 0);
      if (length > limit) return [...events, { kind: "too_large" }];
    }
  }
  if (begin !== -1) loosely(input.length);
  else if (junk > 0) events.push({ kind: "junk", length: junk });
  return events;
}

function expectFrame(bytes: Buffer): void {
  if (!bytes.includes(0x0b) && !bytes.includes(0x1c)) {
    const [event] = read([encodeFrame(bytes)], bytes.length);
    expectThat(
      event?.kind === "frame" && event.bytes.equals(bytes),
      "a frame that is another one once it was sent",
    );
  }
  const acknowledgment = readAcknowledgment(bytes);
  if (acknowledgment === undefined) return;
  const text = bytes.toString("latin1");
  const { code, controlId, condition } = acknowledgment;
  expectThat(text.toUpperCase().includes(code), "an acknowledgement with a code that it has not");
  if (!text.includes("\\")) {
    for (const value of [controlId, condition])
      expectThat(value === undefined || text.includes(value), "an acknowledgement of what it does not name");
  }
}
