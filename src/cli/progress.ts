import type { Session } from "./session.ts";

/** Erases the line that the cursor is in. */
const ERASE = "\r\u001b[K";

/** A count on standard error that grows in its place, where a person looks at it. */
export class Progress {
  readonly #session: Session;
  readonly #isShown: boolean;
  #isThere = false;

  constructor(session: Session) {
    this.#session = session;
    this.#isShown = session.io.isErrorTTY === true && !session.isJson;
  }

  /** Takes the count away, so that a line of the result can stand there. */
  clear(): void {
    if (this.#isThere) this.#session.io.stderr.write(ERASE);
    this.#isThere = false;
  }

  show(text: string): void {
    if (!this.#isShown) return;
    this.#session.io.stderr.write(`${ERASE}${text}`);
    this.#isThere = true;
  }
}
