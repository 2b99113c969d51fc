import { createServer, type Socket } from "node:net";
import { asFailure, codeOf } from "../../core/failures.ts";
import type { Accepted, BatchOutline, IncomingMessage, Intake, Peer } from "../../core/intake.ts";
import type { PeerCertificates } from "../../core/peer-certificates.ts";
import { phi } from "../../core/phi.ts";
import type { Place } from "../../core/place.ts";
import { decodeHl7 } from "../../formats/hl7/charset.ts";
import { splitHl7File } from "../../formats/hl7/file.ts";
import { splitJoined } from "../../formats/hl7/joined.ts";
import { Hl7Message } from "../../formats/hl7/message.ts";
import { type CheckLine, type Connector, type OutgoingFile, requireMayLeave } from "../connector.ts";
import { toMessage } from "../hl7-drop/hl7-drop.ts";
import type { MllpListenSettings } from "./limits.ts";
import { type ListenerDeps, type ListenerStatus, MllpListener } from "./listener.ts";
import { MllpSender, type MllpSendSettings } from "./sender.ts";

/** A connector that takes messages in by MLLP and sends results by MLLP, or puts them into a folder. */
export interface MllpSettings {
  readonly name: string;
  readonly listen: MllpListenSettings;
  /** Where results go. */
  readonly results: MllpSendSettings | ResultFolder;
}

/** Results as files instead, as a drop folder's. */
interface ResultFolder {
  readonly put: (file: OutgoingFile) => Promise<void>;
  readonly check: () => Promise<CheckLine[]>;
  /** Makes the folder if need be. */
  readonly prepare: () => Promise<void>;
  /** Looks at it, so that one that takes its place later is noticed. */
  readonly open: () => Promise<void>;
}

interface MllpDeps extends Pick<ListenerDeps, "clock" | "logger"> {
  readonly intake: Intake;
  /** Where the certificates are noted that peers show. */
  readonly certificates?: PeerCertificates | undefined;
  /** Called for a result that the lab answered with an error after it had acknowledged it. Must not throw. */
  readonly onTakenBack?: ((fileName: string, answer: string) => void) | undefined;
}

/** What `status` has beyond the interface of all connectors. */
export interface MllpConnector extends Connector {
  /** Undefined while it doesn't listen. */
  readonly listening: ListenerStatus | undefined;
  readonly port: number | undefined;
}

/** Answers in hand get this long when the connector stops, ms. */
const STOP_WITHIN_MS = 10_000;

/** Makes the connector; nothing is listened on before `start`. @throws RangeError for a bad entry of the address list. */
export function createMllp(settings: MllpSettings, deps: MllpDeps): MllpConnector {
  const { name, listen, results } = settings;
  const { clock, intake, certificates } = deps;
  const logger = deps.logger.child({ connector: name });
  const place = `connector ${name}`;
  const listener = new MllpListener(listen, {
    clock,
    logger,
    onPeer: (peer, socket) => certificates?.noteCaller(peer, socket, place),
    take: (frame, peer) => take(frame, peer),
    keepUnended: async (bytes, peer) => {
      await intake.accept({ connector: name, peer }, [unendedMessage(bytes)]);
    },
  });
  const take = async (frame: Buffer, peer: Peer): Promise<readonly Buffer[]> => {
    try {
      const { messages, outline } = readFrame(frame, listen);
      const accepted = await intake.accept({ connector: name, peer }, messages);
      const whole = outline && intake.answerBatch(name, outline, frame, accepted);
      return whole ?? replyFrames(accepted);
    } catch (error) {
      logger.error({ err: asFailure(error) }, "messages can't be committed; their senders get no answer");
      throw error;
    }
  };
  const onPeer = (peer: string, socket: Socket) => certificates?.noteCalled(peer, socket, place);
  const sender = "put" in results ? undefined : new MllpSender(results, { clock, logger, onPeer });
  let isListening = false;
  return {
    name,
    type: "mllp",
    start: async () => {
      if ("put" in results) {
        await results.prepare();
        await results.open();
      }
      await listener.start();
      isListening = true;
    },
    stop: async () => {
      isListening = false;
      await listener.stop(STOP_WITHIN_MS);
      await sender?.close();
    },
    check: async (isOffline = false) => {
      const port = await checkPort(listen);
      if ("put" in results) return [port, ...(await results.check())];
      return isOffline
        ? [port]
        : [port, await checkPeer(results, new MllpSender(results, { clock, logger }))];
    },
    deliver: async (file) => {
      if ("put" in results) return results.put(file);
      const { bytes, fileName } = file;
      const { controlId, isAck } = headerOf(file);
      const hooks = {
        onTakenBack: (answer: string) => deps.onTakenBack?.(fileName, answer),
        beforeSend: () => requireMayLeave(file),
      };
      // Nobody acknowledges an acknowledgement (HL7 chapter 2.9), or two systems would answer each other for ever.
      await (isAck ? sender?.post(bytes, controlId, hooks) : sender?.send(bytes, controlId, hooks));
    },
    openResults: "put" in results ? results.open : undefined,
    hangUp: sender && (() => sender.hangUp()),
    get trouble() {
      return undefined;
    },
    get warning() {
      if (!listener.status.isFull) return undefined;
      return `all ${listen.maxConnections} connections of its listener are taken; a new one finds a place only while one of them is idle`;
    },
    get listening() {
      return isListening ? listener.status : undefined;
    },
    get port() {
      return listener.port;
    },
  };
}

/** The messages of a frame: one as a rule, several in a batch. A frame that can't be taken apart is kept whole. */
function readFrame(
  frame: Buffer,
  { charset, maxMessages, mixedLineEnds = "refuse" }: MllpListenSettings,
): { readonly messages: IncomingMessage[]; readonly outline: BatchOutline | undefined } {
  const { parts, problems, outline } = splitHl7File(frame, {
    messages: maxMessages,
    batches: maxMessages,
    mixedLineEnds,
  });
  if (problems.length === 0 && (parts.length > 0 || outline !== undefined)) {
    const characters = charset?.() ?? {};
    return { messages: parts.map((part) => toMessage(part, characters)), outline };
  }
  const content = { kind: "unreadable", problems } as const;
  return { messages: [{ ordinal: 1, place: ONLY, raw: phi(frame), content }], outline };
}

function unendedMessage(bytes: Buffer): IncomingMessage {
  const message = "the frame had no end block (0x1C 0x0D) before the next one began";
  const problems = [{ code: "MLLP_FRAME_UNENDED", place: ONLY, message }] as const;
  return { ordinal: 1, place: ONLY, raw: phi(bytes), content: { kind: "unreadable", problems } };
}

/** Each answer in a frame of its own. */
function replyFrames(accepted: readonly Accepted[]): readonly Buffer[] {
  return accepted.flatMap(({ reply }) => splitJoined(reply));
}

/** A frame has one message. */
const ONLY: Place = { message: 1 };

/**
 * MSH-10 of a result, and whether it is a plain acknowledgement.
 * @throws RangeError when it has no control id, which no result of ours is without
 */
function headerOf(file: OutgoingFile): { readonly controlId: string; readonly isAck: boolean } {
  const { messageControlId, messageCode } = Hl7Message.parse(decodeHl7(file.bytes).text, {
    isComposed: true,
  }).header;
  if (messageControlId === undefined)
    throw new RangeError("a result without a control id can't be acknowledged");
  return { controlId: messageControlId, isAck: messageCode === "ACK" };
}

function checkPort({ host, port }: MllpListenSettings): Promise<CheckLine> {
  const subject = "listen";
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) => {
      const code = codeOf(error) ?? error.message;
      resolve({
        subject,
        level: "act",
        stopsIntake: true,
        detail: `${host}:${port} can't be listened on (${code})`,
        hint: "Set another `listen.port`, or end the program that has it.",
      });
    });
    server.listen(port, host, () => {
      server.close(() => resolve({ subject, detail: `${host}:${port} is free` }));
    });
  });
}

async function checkPeer({ host, port }: MllpSendSettings, sender: MllpSender): Promise<CheckLine> {
  try {
    await sender.probe();
    return { subject: "results", detail: `${host}:${port} takes connections` };
  } catch (error) {
    return {
      subject: "results",
      level: "act",
      detail: asFailure(error).message,
      hint: "Look whether the lab system listens.",
    };
  } finally {
    await sender.close();
  }
}
