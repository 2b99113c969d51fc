import { connect } from "node:net";
import { encodeFrame, FrameReader } from "../../src/formats/hl7/mllp.ts";
import { omlO33 } from "./lab-messages.ts";

const CONNECTIONS = 10;
const IN_FLIGHT = 20;

/** Senders that bring orders over several connections at once, many at a time, and know what was acknowledged. */
export interface Storm {
  /** Numbers of all orders that were sent. */
  readonly sent: readonly string[];
  readonly acknowledged: ReadonlySet<string>;
  /** Sends new orders until every connection has broken. */
  rage(): Promise<void>;
  /** Sends what was never acknowledged again, as senders do, over one connection. */
  repeat(): Promise<void>;
}

/** A storm at a port of this machine; nothing is sent before it rages. */
export function createStorm(port: number): Storm {
  const sent: string[] = [];
  const acknowledged = new Set<string>();
  const nextNew = () => {
    const number = `S-${sent.length}`;
    sent.push(number);
    return number;
  };
  return {
    sent,
    acknowledged,
    rage: async () => {
      await Promise.all(Array.from({ length: CONNECTIONS }, () => send(port, nextNew, acknowledged)));
    },
    repeat: () => {
      const missing = sent.filter((number) => !acknowledged.has(number));
      return send(port, () => missing.shift(), acknowledged);
    },
  };
}

/** Sends orders over one connection until it breaks or `next` gives none; notes those that were acknowledged. */
function send(port: number, next: () => string | undefined, acknowledged: Set<string>): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1" });
    const reader = new FrameReader(1_000_000);
    const waiting = new Set<string>();
    const fill = () => {
      while (waiting.size < IN_FLIGHT && !socket.destroyed) {
        const number = next();
        if (number === undefined) break;
        waiting.add(number);
        socket.write(encodeFrame(Buffer.from(omlO33({ number }))));
      }
      if (waiting.size === 0) socket.destroy();
    };
    socket.on("connect", fill);
    socket.on("data", (chunk: Buffer) => {
      for (const event of reader.push(chunk)) {
        if (event.kind !== "frame") continue;
        const number = /MSA\|CA\|MSG-([^\r|]+)/.exec(event.bytes.toString())?.[1];
        if (number === undefined) continue;
        acknowledged.add(number);
        waiting.delete(number);
      }
      fill();
    });
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve());
  });
}
