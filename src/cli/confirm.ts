import { Failure } from "../core/failures.ts";
import type { Session } from "./session.ts";

/**
 * Asks before something is done to many records, or something that can't be undone.
 *
 * @returns whether to go on; with `--yes` without asking.
 * @throws Failure CLI_USAGE where nobody can be asked.
 */
export async function confirm(
  session: Session,
  question: string,
  isYes: boolean | undefined,
): Promise<boolean> {
  if (isYes) return true;
  const { ask } = session.io;
  if (!ask || session.isJson) {
    throw new Failure(
      "CLI_USAGE",
      `${question} Nobody can be asked here: add --yes to go on without asking.`,
    );
  }
  const answer = await ask(`${question} [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return true;
  session.note("Nothing was done.");
  return false;
}
