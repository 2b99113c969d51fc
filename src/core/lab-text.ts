declare const WORDED: unique symbol;

/**
 * Words that a lab reads. They are found in its table, or in ours, by a word, a state or a failure's code, or they are people's: a sentence
 * that was put together elsewhere, in one language, gets into no answer, result or report.
 */
export type LabText = string & { readonly [WORDED]: true };

/** What stands so in any language, such as a number or a name; and what was found in a table. */
export function asItIs(text: string | number): LabText {
  return String(text) as LabText;
}

/** One after the other, with nothing but signs between them; what says nothing is left out. */
export function inSequence(
  texts: readonly (LabText | undefined)[],
  between: "; " | ": " | ", " | " ",
): LabText {
  return asItIs(texts.filter((text) => text !== undefined && text !== "").join(between));
}
