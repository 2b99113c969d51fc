const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** Bytes in Crockford's base 32 (no I, L, O, U), most significant bit first, without padding. */
export function encodeCrockford(bytes: Uint8Array): string {
  let text = "";
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += ALPHABET[(buffer >> bits) & 31];
    }
    buffer &= (1 << bits) - 1;
  }
  if (bits > 0) text += ALPHABET[(buffer << (5 - bits)) & 31];
  return text;
}

/** A non-negative safe integer in Crockford's base 32. */
export function encodeCrockfordNumber(value: number): string {
  let text = "";
  let rest = value;
  do {
    text = ALPHABET[rest % 32] + text;
    rest = Math.floor(rest / 32);
  } while (rest > 0);
  return text;
}
