import { connect, type Socket } from "node:net";
import { pino } from "pino";
import type { MllpListenSettings } from "../../../src/connectors/mllp/limits.ts";
import { MllpListener } from "../../../src/connectors/mllp/listener.ts";
import { type Clock, systemClock } from "../../../src/core/clock.ts";
import { eventually } from "../../support/eventually.ts";

/** A listener whose messages a test takes by itself. */
export interface ListenerWorld {
  readonly listener: MllpListener;
  readonly port: number;
  /** What was taken so far, as Latin-1 text. */
  readonly taken: readonly string[];
  /** Frames that never ended, as Latin-1 text. */
  readonly unended: readonly string[];
  /** A raw connection that ends with the test. */
  open(): Promise<RawPeer>;
}

/** A peer that writes bytes as a test says. */
export interface RawPeer {
  readonly socket: Socket;
  write(text: string): void;
  /** Everything that was answered so far, as Latin-1 text. */
  readonly heard: string;
  readonly isClosed: boolean;
}

/** Settings that bound nothing that a test does, on any free port of this machine. */
export const LISTEN: MllpListenSettings = {
  host: "127.0.0.1",
  port: 0,
  allow: [],
  maxConnections: 100,
  maxConnectionsPerAddress: 100,
  maxBytes: 1_000_000,
  maxOpenBytes: 10_000_000,
  maxInFlight: 50,
  maxMessages: 1_000,
  idleMs: 60_000,
  firstFrameMs: 60_000,
  frameMs: 60_000,
};

/** Gives a test a running listener; `take` decides what a frame is answered with, `ok TEXT` unless given. */
export async function withListener(
  settings: Partial<MllpListenSettings>,
  test: (world: ListenerWorld) => Promise<void>,
  take: (text: string) => Promise<string | undefined> = (text) => Promise.resolve(`ok ${text}`),
  clock: Clock = systemClock,
): Promise<void> {
  const taken: string[] = [];
  const unended: string[] = [];
  const listener = new MllpListener(
    { ...LISTEN, ...settings },
    {
      clock,
      logger: pino({ level: "silent" }),
      take: async (frame) => {
        const text = frame.toString("latin1");
        taken.push(text);
        const answer = await take(text);
        return answer === undefined ? [] : [Buffer.from(answer, "latin1")];
      },
      keepUnended: (bytes) => {
        unended.push(bytes.toString("latin1"));
        return Promise.resolve();
      },
    },
  );
  await listener.start();
  const sockets: Socket[] = [];
  const { port } = listener;
  if (port === undefined) throw new Error("the listener has no port");
  try {
    await test({ listener, port, taken, unended, open: () => openRaw(port, sockets) });
  } finally {
    for (const socket of sockets) socket.destroy();
    await listener.stop(1_000);
  }
}

/** A raw connection; its socket is added to those that the caller ends. */
export async function openRaw(port: number, sockets: Socket[]): Promise<RawPeer> {
  const socket = connect({ host: "127.0.0.1", port, noDelay: true, allowHalfOpen: true });
  sockets.push(socket);
  let heard = "";
  let isClosed = false;
  socket.on("data", (chunk: Buffer) => {
    heard += chunk.toString("latin1");
  });
  socket.on("error", () => undefined);
  socket.on("end", () => {
    isClosed = true;
  });
  socket.on("close", () => {
    isClosed = true;
  });
  await eventually(() => !socket.connecting, { what: "the connection" });
  return {
    socket,
    write: (text) => void socket.write(Buffer.from(text, "latin1")),
    get heard() {
      return heard;
    },
    get isClosed() {
      return isClosed;
    },
  };
}

/** A text as a frame, as Latin-1 text. */
export function framed(text: string): string {
  return `\x0b${text}\x1c\r`;
}
