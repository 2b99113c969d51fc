/** Items per page of a call that names no `perPage` (specification, Limits). */
export const DEFAULT_PER_PAGE = 10;

/** Lengths that services usually cap their pages to. */
const USUAL_CAPS: readonly number[] = [DEFAULT_PER_PAGE, 20, 25, 50, 100, 200];

/** The first page of a list, by what shows whether another one follows. */
export interface FirstPage {
  /** Entries on it. */
  readonly length: number;
  /** How many were asked for. */
  readonly asked: number;
  /** How many the list has in all, where the answer says so. */
  readonly total: number | undefined;
  /** The longest page that any list of the service had lately, as far as that matters: up to a default page. */
  readonly longest: number;
  /** How many a page of this list was found to hold at most; undefined where nothing showed that. */
  readonly cap: number | undefined;
}

/**
 * Whether a first page is the whole list, so that nobody has to ask for an empty second one. By what the service says itself:
 * a `total` that is on it, unless the page is as long as one that may be cut, of which some services count the entries. Else by
 * its length: shorter than what was asked for and than the default page, than which no service is to cap its pages lower.
 *
 * Some may do so nevertheless, and there a cut list would look whole. So of two entries or more a page is believed only where a
 * longer one was seen lately, in whatever list. One entry is believed: no service could be worked with that gave a page for each.
 */
export function isWholeList({ length, asked, total, longest, cap }: FirstPage): boolean {
  if (length === 0) return true;
  if (length >= asked) return false;
  const isAtCap = cap !== undefined && length >= cap;
  if (total !== undefined && total >= length)
    return total === length && !isAtCap && !USUAL_CAPS.includes(length);
  if (length >= DEFAULT_PER_PAGE || isAtCap) return false;
  return length === 1 || length < longest;
}
