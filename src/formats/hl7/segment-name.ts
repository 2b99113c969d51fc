/**
 * Whether three characters from `at` can name a segment: an upper-case letter and two upper-case letters or digits
 * (HL7 chapter 2.5.2; names that begin with Z are the site's own).
 */
export function isSegmentName(text: string, at = 0): boolean {
  return (
    isUpper(text.charCodeAt(at)) &&
    isUpperOrDigit(text.charCodeAt(at + 1)) &&
    isUpperOrDigit(text.charCodeAt(at + 2))
  );
}

function isUpper(code: number): boolean {
  return code >= 0x41 && code <= 0x5a;
}

function isUpperOrDigit(code: number): boolean {
  return isUpper(code) || (code >= 0x30 && code <= 0x39);
}
