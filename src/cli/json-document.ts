import type { Session } from "./session.ts";

/** One JSON document with a long list, written while it grows. */
export class JsonDocument {
  readonly #session: Session;
  #isFirst = true;

  /** @param key under which the entries stand */
  constructor(session: Session, key: string) {
    this.#session = session;
    this.#put(`{\n  ${JSON.stringify(key)}: [`);
  }

  /** Adds an entry to the list. */
  add(entry: unknown): void {
    this.#put(`${this.#isFirst ? "" : ","}\n    ${JSON.stringify(entry)}`);
    this.#isFirst = false;
  }

  /** Ends list and document. @param rest its further keys */
  end(rest: Readonly<Record<string, unknown>> = {}): void {
    const lines = JSON.stringify(rest, null, 2).slice(1);
    this.#put(`${this.#isFirst ? "" : "\n  "}]${lines === "}" ? "\n}" : `,${lines}`}\n`);
  }

  #put(text: string): void {
    this.#session.io.stdout.write(text);
  }
}
