import { createHash } from "node:crypto";

const DIGEST_CHARACTERS = 8;
const LONGEST_ENDING_BYTES = 20;

/** Control characters, what Windows forbids, and the marks that reverse the direction of text on a screen. */
const UNSAFE = /[\p{Cc}\p{Cs}\u2028\u2029\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffd/\\:*?"<>|]/gu;
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;

/**
 * A name that is harmless as a path component on every system and on a screen, in at most `mostBytes` of UTF-8. Ordinary names
 * stay as they are; any other is made safe, cut before its ending, and gets a short digest of the original, so that two of
 * them never become one.
 */
export function safeFileName(name: string, mostBytes: number): string {
  let safe = name.replace(UNSAFE, "_").replace(/^[.\s]+|[.\s]+$/g, "_");
  if (WINDOWS_DEVICE.test(safe)) safe = `_${safe}`;
  if (safe === name && Buffer.byteLength(name) <= mostBytes && name !== "") return name;
  const digest = createHash("sha256").update(name).digest("hex").slice(0, DIGEST_CHARACTERS);
  const { stem, extension } = splitExtension(safe);
  const kept = cutBytes(extension, LONGEST_ENDING_BYTES);
  return `${cutBytes(stem, mostBytes - DIGEST_CHARACTERS - 1 - Buffer.byteLength(kept))}~${digest}${kept}`;
}

/** `orders.csv` -> `orders` and `.csv`. A name without a dot, or with one only at its beginning, has no extension. */
export function splitExtension(name: string): { stem: string; extension: string } {
  const dot = name.lastIndexOf(".");
  return dot <= 0 ? { stem: name, extension: "" } : { stem: name.slice(0, dot), extension: name.slice(dot) };
}

/** The longest beginning of a text that fits into that many UTF-8 bytes, cut between characters. */
function cutBytes(text: string, maxBytes: number): string {
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > maxBytes) break;
    end += character.length;
  }
  return text.slice(0, end);
}
