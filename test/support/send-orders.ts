import { connect } from "node:net";
import { encodeFrame, FrameReader } from "../../src/formats/hl7/mllp.ts";
import { omlO33 } from "./lab-messages.ts";

const LONGEST_ANSWER = 1_000_000;

/** How orders are sent. */
export interface SendOptions {
  readonly port: number;
  /** Messages that wait for their answers at once; the sender's own patience. */
  readonly inFlight?: number;
  /** The message of an order; its control id is MSG- and the number. */
  readonly compose?: (number: string) => string;
  /** Where answers are noted as they come; a map of its own unless given. */
  readonly answers?: Map<string, string>;
  /** Called after each answer with how many there are. */
  readonly onAnswer?: (count: number) => void;
}

/**
 * Sends orders over one connection, in their order, until all are answered or the connection breaks. Gives the answers
 * by order number, each as it came.
 */
export function sendOrders(
  numbers: Iterable<string>,
  { port, inFlight = 20, compose = (number) => omlO33({ number }), ...noting }: SendOptions,
): Promise<Map<string, string>> {
  return new Promise((resolve) => {
    const { answers = new Map<string, string>(), onAnswer } = noting;
    const rest = numbers[Symbol.iterator]();
    const reader = new FrameReader(LONGEST_ANSWER);
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    let waiting = 0;
    const fill = () => {
      while (waiting < inFlight && !socket.destroyed) {
        const next = rest.next();
        if (next.done === true) break;
        waiting += 1;
        socket.write(encodeFrame(Buffer.from(compose(next.value))));
      }
      if (waiting === 0) socket.destroy();
    };
    socket.on("connect", fill);
    socket.on("data", (chunk: Buffer) => {
      for (const event of reader.push(chunk)) {
        if (event.kind !== "frame") continue;
        const answer = event.bytes.toString();
        const number = /MSA\|CA\|MSG-([^\r|]+)/.exec(answer)?.[1];
        if (number === undefined) continue;
        waiting -= 1;
        answers.set(number, answer);
        onAnswer?.(answers.size);
      }
      fill();
    });
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve(answers));
  });
}

/** Order numbers without end, `K-0`, `K-1` and so on, noted in a list as they are handed out. */
export function* countUp(prefix: string, noted: string[]): Generator<string, never> {
  for (let n = 0; ; n += 1) {
    const number = `${prefix}-${n}`;
    noted.push(number);
    yield number;
  }
}
