import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { systemClock } from "../../src/core/clock.ts";
import { Hl7Message } from "../../src/formats/hl7/message.ts";
import { encodeFrame, FrameReader } from "../../src/formats/hl7/mllp.ts";

/** A lab system that takes results by MLLP and acknowledges each. */
export interface ResultLab {
  readonly port: number;
  /** The texts of what was acknowledged, repeats included, by control id (MSH-10), in the order in which these first came. */
  readonly heard: ReadonlyMap<string, readonly string[]>;
  /** How many results it has acknowledged, repeats included. */
  readonly count: number;
}

const LONGEST_RESULT = 1_000_000;

/**
 * Gives a test such a lab. It notes a result right before it acknowledges it.
 *
 * @param pauseMs how long it takes for the next acknowledgement
 * @param chokesOn what it does with a result instead of taking it: `close` the connection, or say nothing
 */
export async function withResultLab<T>(
  pauseMs: () => number,
  test: (lab: ResultLab) => Promise<T>,
  chokesOn: (text: string) => "close" | "silence" | undefined = () => undefined,
): Promise<T> {
  const heard = new Map<string, string[]>();
  const sockets = new Set<Socket>();
  let count = 0;
  const acknowledge = async (socket: Socket, text: string) => {
    await systemClock.sleep(pauseMs());
    const choke = chokesOn(text);
    if (choke === "close") socket.destroy();
    if (choke !== undefined) return;
    const { messageControlId = "" } = Hl7Message.parse(text).header;
    heard.set(messageControlId, [...(heard.get(messageControlId) ?? []), text]);
    count += 1;
    const answer = `MSH|^~\\&|LIMS|NORTH|||20260301101500||ACK|A-${count}|P|2.5.1\rMSA|AA|${messageControlId}\r`;
    if (!socket.destroyed) socket.write(encodeFrame(Buffer.from(answer)));
  };
  const server = createServer((socket) => {
    const reader = new FrameReader(LONGEST_RESULT);
    sockets.add(socket);
    socket.on("error", () => undefined).on("close", () => sockets.delete(socket));
    socket.on("data", (chunk: Buffer) => {
      for (const event of reader.push(chunk)) {
        if (event.kind === "frame") void acknowledge(socket, event.bytes.toString());
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    return await test({
      port: (server.address() as AddressInfo).port,
      heard,
      get count() {
        return count;
      },
    });
  } finally {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
}
