import { connect, type Socket } from "node:net";
import { encodeFrame } from "../../src/formats/hl7/mllp.ts";

/** How hard a server is asked. */
export interface LoadShape {
  readonly connections: number;
  /** Messages of each connection that wait for their acknowledgement at a time. */
  readonly inFlight: number;
}

/** What came of a load. */
export interface LoadResult {
  /** Messages acknowledged, warm-up included. */
  readonly acknowledged: number;
  /** Acknowledgements that were none, or another message's. */
  readonly wrong: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface LoadOptions extends LoadShape {
  readonly port: number;
  /** A message of its own for each number. */
  readonly messageOf: (number: number) => { readonly text: string; readonly controlId: string };
  readonly firstNumber: number;
  readonly warmUpMs: number;
  readonly measureMs: number;
}

interface Sent {
  readonly controlId: string;
  readonly sentAt: number;
}

const END = Buffer.from([0x1c, 0x0d]);

/**
 * Sends messages over raw sockets, each connection as many at a time as it may have in flight, and takes the time from
 * the write of a message to its acknowledgement. Each acknowledgement must name the message whose turn it is.
 */
export async function putLoad(options: LoadOptions): Promise<LoadResult> {
  const { connections, warmUpMs, measureMs } = options;
  let number = options.firstNumber;
  const state = { isSending: true, acknowledged: 0, wrong: 0, times: [] as number[], countFrom: Infinity };
  const next = () => options.messageOf(number++);
  const sockets = await Promise.all(Array.from({ length: connections }, () => open(options.port)));
  const startedAt = performance.now();
  state.countFrom = startedAt + warmUpMs;
  const drained = sockets.map((socket) => drive(socket, options.inFlight, next, state));
  await new Promise((resolve) => setTimeout(resolve, warmUpMs + measureMs));
  const measured = [...state.times];
  const seconds = (performance.now() - state.countFrom) / 1_000;
  state.isSending = false;
  await Promise.all(drained);
  for (const socket of sockets) socket.destroy();
  const sorted = measured.sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    acknowledged: state.acknowledged,
    wrong: state.wrong,
    perSecond: measured.length / seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}

interface LoadState {
  isSending: boolean;
  acknowledged: number;
  wrong: number;
  readonly times: number[];
  countFrom: number;
}

/** Keeps one connection busy; resolves once sending has ended and everything sent was answered. */
function drive(
  socket: Socket,
  inFlight: number,
  next: () => { readonly text: string; readonly controlId: string },
  state: LoadState,
): Promise<void> {
  const waiting: Sent[] = [];
  let rest: Buffer | undefined;
  const fill = () => {
    const frames: Buffer[] = [];
    while (state.isSending && waiting.length < inFlight) {
      const { text, controlId } = next();
      frames.push(encodeFrame(Buffer.from(text)));
      waiting.push({ controlId, sentAt: performance.now() });
    }
    if (frames.length > 0) socket.write(frames.length === 1 ? (frames[0] as Buffer) : Buffer.concat(frames));
  };
  return new Promise((resolve, reject) => {
    socket.on("error", reject);
    socket.on("close", () => reject(new Error("the server closed a connection")));
    socket.on("data", (chunk: Buffer) => {
      let data = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
      const now = performance.now();
      for (let end = data.indexOf(END); end !== -1; end = data.indexOf(END)) {
        const sent = waiting.shift();
        const answer = data.toString("latin1", 0, end);
        data = data.subarray(end + END.length);
        const isRight =
          sent !== undefined && /\rMSA\|[AC]A\|/.test(answer) && answer.includes(sent.controlId);
        if (isRight) state.acknowledged += 1;
        else state.wrong += 1;
        if (sent && sent.sentAt >= state.countFrom) state.times.push(now - sent.sentAt);
      }
      rest = data.length === 0 ? undefined : data;
      fill();
      if (!state.isSending && waiting.length === 0) resolve();
    });
    fill();
  });
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.once("error", reject);
    socket.once("connect", () => {
      socket.removeAllListeners("error");
      resolve(socket);
    });
  });
}
