import { Failure } from "../core/failures.ts";
import { EXIT, type ExitStatus } from "./exit-status.ts";
import { clean } from "./output/text.ts";
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
    const hint = "Nobody can be asked here: add --yes to go on without asking.";
    throw new Failure("CLI_USAGE", `${question} ${hint}`);
  }
  const answer = await ask(`${question} [y/N] `);
  if (/^y(es)?$/i.test(answer.trim())) return true;
  session.note("Nothing was done.");
  return false;
}

/** Asks before something is done to more than one record: `Retry 2 orders (o1, o2)?`. */
export async function confirmMany(
  session: Session,
  what: readonly [verb: string, noun: string],
  names: readonly string[],
  isYes: boolean | undefined,
): Promise<boolean> {
  if (names.length <= 1) return true;
  const shown = `${names.slice(0, 5).join(", ")}${names.length > 5 ? ", …" : ""}`;
  return confirm(session, clean(`${what[0]} ${names.length} ${what[1]}s (${shown})?`), isYes);
}

/** The words of a `--reason` that must not be blank. @throws Failure CLI_USAGE */
export function requireReason(command: string, reason: string | undefined): string {
  if (reason !== undefined && reason.trim() !== "") return reason;
  throw new Failure("CLI_USAGE", `${command}: say why with --reason, it is kept with your name`);
}

/** What became of one record. */
export interface Done {
  readonly id: string;
  readonly isDone: boolean;
  /** For people, such as `o17 (P-1001) will be tried again`. */
  readonly text: string;
}

/** Shows what became of each record; status 1 when something could not be done, or when a person said no. */
export function printDone(session: Session, done: readonly Done[] | undefined): ExitStatus | undefined {
  if (done === undefined) return EXIT.failed;
  const lines = done.map(({ isDone, text }) => {
    const sign = isDone ? session.paint("green", "✓") : session.paint("red", "✗");
    return `${sign} ${clean(text)}`;
  });
  session.result({ results: done }, lines.length === 0 ? ["There is nothing to act on."] : lines);
  return done.every(({ isDone }) => isDone) ? undefined : EXIT.failed;
}
