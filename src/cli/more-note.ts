import type { Session } from "./session.ts";

/**
 * Says, beside the output, that a list was cut at its limit.
 *
 * @param how the options that show more
 */
export function noteMore(session: Session, shown: number, how = "--limit shows more"): void {
  session.note(`There are more than ${shown === 1 ? "this one" : `these ${shown}`}: ${how}.`);
}
