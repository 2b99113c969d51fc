/**
 * Three characters from `at` as a number, when they can name a segment: an upper-case letter and two upper-case letters
 * or digits (HL7 chapter 2.5.2; names that begin with Z are the site's own). -1 for anything else. The same name has the
 * same number, so that names in a long message can be compared without a string for each.
 */
export function segmentNameCode(text: string, at = 0): number {
  const first = text.charCodeAt(at);
  const second = text.charCodeAt(at + 1);
  const third = text.charCodeAt(at + 2);
  const isName = isUpper(first) && isUpperOrDigit(second) && isUpperOrDigit(third);
  return isName ? (first << 14) | (second << 7) | third : -1;
}

/** Whether three characters from `at` can name a segment. */
export function isSegmentName(text: string, at = 0): boolean {
  return segmentNameCode(text, at) !== -1;
}

function isUpper(code: number): boolean {
  return code >= 0x41 && code <= 0x5a;
}

function isUpperOrDigit(code: number): boolean {
  return isUpper(code) || (code >= 0x30 && code <= 0x39);
}
