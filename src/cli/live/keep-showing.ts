import type { Failure } from "../../core/failures.ts";
import { EXIT, exitStatusOf } from "../exit-status.ts";
import { failureJson, toFailure } from "../output/failure.ts";
import type { Session } from "../session.ts";
import { Picture } from "./picture.ts";

/** What is shown time and again. */
interface Showing {
  readonly everyMs: number;
  /** Writes what there is to see to the session that it is given. */
  readonly turn: (session: Session) => Promise<unknown>;
  /** Called after a failure that may be over at the next turn. */
  readonly onFailure?: () => Promise<unknown>;
}

/** Where turns are shown. */
interface Display {
  /** Shows what a turn wrote, or why it could not. */
  show(text: string, failure: Failure | undefined): void;
  readonly place: { readonly columns?: number };
  close(): void;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: Ctrl-C and Ctrl-D
const LEAVE_KEYS = /[qQ\u0003\u0004]/;

/**
 * Shows the same thing time and again until the person leaves: on a terminal in place, with `--json` one document a line.
 * What is out of reach is said and tried again; other failures end it.
 */
export async function keepShowing(session: Session, { everyMs, turn, onFailure }: Showing): Promise<void> {
  const { io, clock } = session;
  const stop = new AbortController();
  let again = new AbortController();
  const screen = session.isJson ? undefined : io.screen;
  const ends = [
    io.onStop?.(() => stop.abort()),
    screen?.onKeys((keys) => {
      if (LEAVE_KEYS.test(keys)) stop.abort();
      else again.abort();
    }),
    screen?.onResize(() => again.abort()),
  ];
  const stopped = new Promise<void>((resolve) =>
    stop.signal.addEventListener("abort", () => resolve(), { once: true }),
  );
  const display: Display = screen ? new Picture(session, screen, everyMs) : printer(session);
  try {
    while (!stop.signal.aborted && (await session.isRead())) {
      again = new AbortController();
      const shown = await Promise.race([stopped, runTurn(session, display, turn)]);
      if (shown === undefined) break;
      if (shown.failure !== undefined) await onFailure?.();
      display.show(shown.text, shown.failure);
      await clock.sleep(everyMs, AbortSignal.any([stop.signal, again.signal])).catch(() => undefined);
    }
  } finally {
    for (const end of ends) end?.();
    display.close();
  }
}

/** @throws Failure what the next turn would meet as well */
async function runTurn(session: Session, { place }: Display, turn: Showing["turn"]) {
  let text = "";
  const collected = { write: (more: string) => (text += more) };
  try {
    await turn(session.in({ ...place, stdout: collected, stderr: collected }));
    return { text, failure: undefined };
  } catch (error) {
    const failure = toFailure(error);
    if (exitStatusOf(failure.code) !== EXIT.unreachable) throw failure;
    return { text: "", failure };
  }
}

function printer(session: Session): Display {
  return {
    place: {},
    close: () => {},
    show: (text, failure) => {
      const json: unknown = failure ? { error: failureJson(failure) } : JSON.parse(text);
      session.line(JSON.stringify(json));
    },
  };
}
