import type { FrameEvent } from "../../formats/hl7/mllp.ts";

/**
 * The protocol that a peer speaks instead of MLLP, as far as the first bytes outside of any frame show it.
 */
export function guessProtocol(bytes: Buffer): "TLS" | "HTTP" | "SSH" | undefined {
  // A TLS record: its kind (alert, handshake), and version 3.
  if ((bytes[0] === 0x15 || bytes[0] === 0x16) && bytes[1] === 0x03) return "TLS";
  const text = bytes.toString("latin1", 0, 16);
  if (/^(?:HTTP\/|GET |POST |PUT |HEAD |OPTIONS |CONNECT )/.test(text)) return "HTTP";
  return text.startsWith("SSH-") ? "SSH" : undefined;
}

/** What a peer says that is no answer, so that who waits in vain learns of it. Nothing of its words is kept. */
export class Oddities {
  #junkBytes = 0;
  #protocol: ReturnType<typeof guessProtocol>;
  #openBytes: number | undefined;
  #others = 0;

  /** A chunk came that made these events, and left so many bytes of a frame without an end. */
  read(chunk: Buffer, events: readonly FrameEvent[], openBytes: number | undefined): void {
    for (const event of events) {
      if (event.kind !== "junk") continue;
      if (this.#junkBytes === 0) this.#protocol = guessProtocol(chunk);
      this.#junkBytes += event.length;
    }
    this.#openBytes = openBytes;
  }

  /** A frame came that is no acknowledgement. */
  addFrame(): void {
    this.#others += 1;
  }

  /** As the end of a sentence; empty where nothing came. */
  describe(): string {
    if (this.#protocol !== undefined) return `; what it says looks like ${this.#protocol}`;
    if (this.#openBytes !== undefined)
      return `; a frame of ${this.#openBytes} bytes came that has no end (0x1C 0x0D)`;
    if (this.#others > 0)
      return `; ${this.#others === 1 ? "a frame" : `${this.#others} frames`} came without a usable MSA`;
    if (this.#junkBytes > 0) return `; ${this.#junkBytes} bytes came that are in no frame (0x0B first)`;
    return "";
  }
}
