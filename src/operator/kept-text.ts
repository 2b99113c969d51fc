import { isUtf8 } from "node:buffer";
import { findByteOrderMark } from "../core/byte-order-mark.ts";
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
  const encoding = findByteOrderMark(bytes)?.encoding ?? (isUtf8(bytes) ? "utf-8" : "windows-1252");
  return new TextDecoder(encoding).decode(bytes);
}

/** Whether these are messages of HL7, or batches of them, and no table. */
export function isHl7(bytes: Buffer): boolean {
  return /^\s*(MSH|FHS|BHS)/.test(bytes.subarray(0, 10).toString("latin1"));
}
