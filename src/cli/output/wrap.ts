import { Help } from "commander";

/** A text as lines of so many characters, broken between words. Colours take no room. */
export function breakWords(text: string, width: number): string[] {
  const help = Object.assign(new Help(), { minWidthToWrap: 1 });
  return help.boxWrap(text, Math.max(1, width)).split("\n");
}

/** The same for a terminal of this width, with something before each line; whole where there is no terminal. */
export function wrapped(
  text: string,
  width: number | undefined,
  [first, others]: readonly [first: string, others: string],
): string[] {
  const lines = width === undefined ? [text] : breakWords(text, width - others.length);
  return lines.map((line, nth) => `${nth === 0 ? first : others}${line}`);
}
