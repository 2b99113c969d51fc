import { createHash } from "node:crypto";
import { encodeCrockford } from "../../core/crockford.ts";
import type { BatchOutline, Verdict } from "../../core/intake.ts";
import { type Encoding, encodeText } from "../../formats/encoding.ts";
import { charsetOf, decodeHl7 } from "../../formats/hl7/charset.ts";
import { createEcho } from "../../formats/hl7/echo.ts";
import { buildMessage } from "../../formats/hl7/encode.ts";
import { Hl7Message } from "../../formats/hl7/message.ts";
import type { BatchResponse, ResultSettings } from "../profile/profile.ts";

/** The answer to one message of a batch. */
export interface BatchedAnswer {
  readonly verdict: Verdict;
  /** One message, or an accept and an application acknowledgement; empty where the sender wants none. */
  readonly messages: readonly Buffer[];
}

export interface BatchResponseRequest {
  readonly outline: BatchOutline;
  /** In the order of the batch's messages. One alone may answer the batch as a whole. */
  readonly answers: readonly BatchedAnswer[];
  readonly response: Exclude<BatchResponse, "none">;
  /** FHS-7 and BHS-7, as HL7 writes it. */
  readonly time: string | undefined;
  /** Part of the control ids, so that two ledgers never give the same. */
  readonly instanceCode: string;
  /** What the response answers and says, part by part; another text makes other control ids. */
  readonly seed: readonly (string | Buffer)[];
  readonly settings: Pick<ResultSettings, "sender" | "receiver" | "encoding">;
}

/**
 * The batch that answers a batch (HL7 chapter 2.10.3): sender and receiver change places, FHS-12 and BHS-12 refer to the
 * FHS-11 and BHS-11 that are answered, BTS-1 and FTS-1 count what is there. With `errors` it holds only the answers to
 * messages that were refused or wait, so that an empty one says that all went well. The same request gives the same bytes.
 * Each message keeps the character set that its MSH-18 names; FHS and BHS, which can't name one, are written in that of
 * the first, or else in UTF-8.
 */
export function composeBatchResponse(request: BatchResponseRequest): Buffer {
  const { outline, response } = request;
  const headers = new HeaderWriter(request);
  const bodies = shareOut(request).map(({ header, answers }) => {
    const sent = answers.filter(({ verdict }) => response === "all" || isTrouble(verdict));
    return { header, messages: sent.flatMap(({ messages }) => messages) };
  });
  const batches = bodies.map(({ header, messages }, index) => {
    const { bytes, separator } = headers.write("BHS", header, index + 1);
    return Buffer.concat([bytes, ...messages, Buffer.from(`BTS${separator}${messages.length}\r`)]);
  });
  if (outline.fileHeader === undefined) return Buffer.concat(batches);
  const { bytes, separator } = headers.write("FHS", outline.fileHeader, 0);
  return Buffer.concat([bytes, ...batches, Buffer.from(`FTS${separator}${batches.length}\r`)]);
}

/** Whether the sender of a batch has to see to a message. */
function isTrouble(verdict: Verdict): boolean {
  return verdict === "refused" || verdict === "waiting";
}

interface Share {
  readonly header: string | undefined;
  readonly answers: readonly BatchedAnswer[];
}

/** The answers by batch. Where they are not one for each message, they answer the whole, and so its first batch. */
function shareOut({ outline, answers }: BatchResponseRequest): Share[] {
  const expected = outline.batches.reduce((sum, { messages }) => sum + messages, 0);
  if (expected !== answers.length) return [{ header: outline.batches[0]?.header, answers }];
  let from = 0;
  return outline.batches.map(({ header, messages }) => {
    from += messages;
    return { header, answers: answers.slice(from - messages, from) };
  });
}

/** Writes FHS and BHS. Their fields stand where those of MSH do, so they are read and written as one. */
class HeaderWriter {
  readonly #request: BatchResponseRequest;
  readonly #encoding: Encoding;
  /** SHA-256 of the seed, which may be a large frame: taken once, and not for each batch. */
  readonly #seed: Buffer;

  constructor(request: BatchResponseRequest) {
    this.#request = request;
    const seed = createHash("sha256");
    for (const part of request.seed) seed.update(part);
    this.#seed = seed.digest();
    const first = request.answers.find(({ messages }) => messages.length > 0)?.messages[0];
    this.#encoding =
      first === undefined ? charsetOf(request.settings.encoding).encoding : decodeHl7(first).encoding;
  }

  /** @param position 0 for the file, from 1 for its batches */
  write(
    name: "FHS" | "BHS",
    answered: string | undefined,
    position: number,
  ): { readonly bytes: Buffer; readonly separator: string } {
    const { time, settings } = this.#request;
    const original = answered === undefined ? undefined : tryParse(answered);
    const { delimiters } = createEcho(original);
    const header = original?.header;
    const [segment] = original?.segments ?? [];
    const msh = buildMessage(
      [
        [
          "MSH",
          settings.sender?.application ?? header?.receivingApplicationParts,
          settings.sender?.facility ?? header?.receivingFacilityParts,
          settings.receiver?.application ?? header?.sendingApplicationParts,
          settings.receiver?.facility ?? header?.sendingFacilityParts,
          time,
          undefined,
          undefined,
          undefined,
          this.#controlId(position),
          [1, 2, 3].map((component) => segment?.get(11, 1, component)),
        ],
      ],
      { delimiters },
    );
    const text = `${name}${msh.slice(3)}`;
    const encoded = encodeText(text, this.#encoding);
    return { bytes: encoded.ok ? encoded.bytes : Buffer.from(text, "utf8"), separator: delimiters.field };
  }

  /** FHS-11 and BHS-11: made of what is answered, so that a repeat has the same. At most 20 characters. */
  #controlId(position: number): string {
    const { instanceCode } = this.#request;
    const digest = createHash("sha256").update(`${position}\n`).update(this.#seed).digest();
    return `CH${instanceCode}${encodeCrockford(digest).slice(0, 12)}`;
  }
}

/** Undefined for a header that can't be read: the response then refers to nothing. */
function tryParse(header: string): Hl7Message | undefined {
  try {
    return Hl7Message.parse(`MSH${header.slice(3)}`);
  } catch {
    return undefined;
  }
}
