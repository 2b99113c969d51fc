/**
 * Whether a text is empty but for spaces, tabs, line ends and the DOS end-of-file mark. Only ASCII counts, so that the
 * answer is the same before and after the bytes are decoded.
 */
export function isBlank(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    if (!isBlankCode(text.charCodeAt(i))) return false;
  }
  return true;
}

/** A text without what {@link isBlank} passes over at its ends. */
export function trimBlanks(text: string): string {
  let from = 0;
  let to = text.length;
  while (from < to && isBlankCode(text.charCodeAt(from))) from++;
  while (to > from && isBlankCode(text.charCodeAt(to - 1))) to--;
  return text.slice(from, to);
}

function isBlankCode(code: number): boolean {
  return code === 0x20 || (code >= 0x09 && code <= 0x0d) || code === 0x1a;
}
