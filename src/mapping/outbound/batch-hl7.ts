import { createHash } from "node:crypto";
import { encodeCrockford } from "../../core/crockford.ts";
import type { BatchOutline, Verdict } from "../../core/intake.ts";
import { encodeText } from "../../formats/encoding.ts";
import { charsetOf, decodeHl7 } from "../../formats/hl7/charset.ts";
import { createEcho } from "../../formats/hl7/echo.ts";
import { buildMessage, type SegmentSpec } from "../../formats/hl7/encode.ts";
import { Hl7Message } from "../../formats/hl7/message.ts";
import { blank, partiesFor } from "../../formats/hl7/sent-segments.ts";
import type { BatchResponse } from "../profile/profile.ts";
import type { Hl7Results } from "../profile/results.ts";
import { withSettings } from "./original.ts";

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
  readonly settings: Partial<Pick<Hl7Results, "sender" | "receiver" | "encoding">>;
}

/**
 * The batch that answers a batch (HL7 chapter 2.10.3): sender and receiver change places, FHS-12 and BHS-12 refer to the
 * FHS-11 and BHS-11 that are answered, BTS-1 and FTS-1 count what is there. With `errors` it holds only the answers to
 * messages that were refused or wait, so that an empty one says that all went well. The same request gives the same bytes.
 * Each message keeps the character set that its MSH-18 names; FHS and BHS, which can't name one, are written in that of
 * the first, or else in UTF-8.
 */
export function composeBatchResponse(request: BatchResponseRequest): Buffer {
  const { outline, response, answers, seed, settings } = request;
  const [first] = answers.flatMap(({ messages }) => messages.slice(0, 1));
  const encoding = first === undefined ? charsetOf(settings.encoding).encoding : decodeHl7(first).encoding;
  // The seed may hold a large frame: it is gone through once, and not for each batch.
  const digest = seed.reduce((hash, part) => hash.update(part), createHash("sha256")).digest();
  const wrap = (name: "FHS" | "BHS", header: string | undefined, position: number, parts: Buffer[]) => {
    const { text, separator } = writeHeader(name, header, controlIdOf(position, digest, request), request);
    const encoded = encodeText(text, encoding);
    const trailer = `${name === "FHS" ? "FTS" : "BTS"}${separator}${parts.length}\r`;
    return Buffer.concat([encoded.ok ? encoded.bytes : Buffer.from(text), ...parts, Buffer.from(trailer)]);
  };
  const batches = shareOut(request).map((share, index) => {
    const sent = share.answers.filter(({ verdict }) => response === "all" || isTrouble(verdict));
    const messages = sent.flatMap(({ messages }) => messages);
    return wrap("BHS", share.header, index + 1, messages);
  });
  return outline.fileHeader === undefined
    ? Buffer.concat(batches)
    : wrap("FHS", outline.fileHeader, 0, batches);
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

/** FHS or BHS. Their fields stand where those of MSH do, so they are read and written as one. */
function writeHeader(
  name: "FHS" | "BHS",
  answered: string | undefined,
  controlId: string,
  { time, settings }: BatchResponseRequest,
): { readonly text: string; readonly separator: string } {
  const original = answered === undefined ? undefined : tryParse(answered);
  const { delimiters, field } = createEcho(original);
  const parties = partiesFor(withSettings(original?.header ?? {}, settings));
  const reference = field(original?.first("MSH"), 11);
  const header: SegmentSpec = ["MSH", ...parties, time, ...blank(3), controlId, reference];
  return { text: `${name}${buildMessage([header], { delimiters }).slice(3)}`, separator: delimiters.field };
}

/**
 * FHS-11 and BHS-11: made of what is answered, so that a repeat has the same. At most 20 characters.
 *
 * @param position 0 for the file, from 1 for its batches
 */
function controlIdOf(position: number, seed: Buffer, { instanceCode }: BatchResponseRequest): string {
  const digest = createHash("sha256").update(`${position}\n`).update(seed).digest();
  return `CH${instanceCode}${encodeCrockford(digest).slice(0, 12)}`;
}

/** Undefined for a header that can't be read: the response then refers to nothing. */
function tryParse(header: string): Hl7Message | undefined {
  try {
    return Hl7Message.parse(`MSH${header.slice(3)}`);
  } catch {
    return undefined;
  }
}
