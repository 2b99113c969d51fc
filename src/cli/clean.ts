/** Text from outside as one harmless line: a terminal must not be commanded by a label or a file name. */
export function clean(text: string): string {
  return text.replace(/[\r\n]+/g, " ").replace(/[\p{Cc}\p{Cf}]/gu, "?");
}

/** The same for a text of several lines; CR, LF and CRLF all end a line. */
export function cleanLines(text: string): string[] {
  return text
    .split(/\r\n|\r|\n/)
    .map((line) => line.replace(/[\p{Cc}\p{Cf}]/gu, (char) => (char === "\t" ? char : "?")));
}
