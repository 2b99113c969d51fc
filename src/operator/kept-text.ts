import { decodeHl7 } from "../formats/hl7/charset.ts";
import type { StoredMessage } from "../ledger/messages/views.ts";

/** A message's text as far as it can be read; bytes that its character set lacks are shown as they would be in Latin-1. */
export function messageText(
  { format, encoding }: Pick<StoredMessage, "format" | "encoding">,
  raw: Buffer,
): string {
  if (format === "csv") return raw.toString("utf8");
  try {
    return decodeHl7(raw, { override: encoding }).text;
  } catch {
    return raw.toString("latin1");
  }
}

/** The text of a result, as well as the bytes show how it is encoded. */
export function resultText(bytes: Buffer): string {
  if (isHl7(bytes)) {
    try {
      return decodeHl7(bytes).text;
    } catch {
      return bytes.toString("latin1");
    }
  }
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}

/** Whether these are messages of HL7, or batches of them, and no table. */
export function isHl7(bytes: Buffer): boolean {
  return /^\s*(MSH|FHS|BHS)/.test(bytes.subarray(0, 10).toString("latin1"));
}
