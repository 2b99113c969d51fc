import { Failure } from "../../core/failures.ts";
import { clean } from "../../operator/text.ts";
import type { Session } from "../session.ts";

/** What has to be known. */
interface Question {
  readonly text: string;
  /** What to add to the command line instead, such as `--service URL`. */
  readonly flag: string;
  /** What the command line says; then nobody is asked. */
  readonly given?: string | undefined;
  /** What an empty answer means, and no answer at all. */
  readonly usual?: string | undefined;
  /** Says what is wrong with an answer. */
  readonly trouble?: ((answer: string) => string | undefined) | undefined;
}

const MOST_TRIES = 5;

/**
 * Asks the person at the terminal. Where nobody is there, what has no usual answer is gathered, so that one error names all
 * flags to give.
 */
export class Questions {
  readonly #session: Session;
  readonly #ask: Session["io"]["ask"];
  readonly #missing: { readonly text: string; readonly flag: string }[] = [];

  /** @param isYes takes all usual answers without asking */
  constructor(session: Session, isYes: boolean) {
    this.#session = session;
    this.#ask = isYes || session.isJson ? undefined : session.io.ask;
  }

  /** Whether somebody answers. */
  get isAsking(): boolean {
    return this.#ask !== undefined;
  }

  /**
   * @returns undefined where nobody says, which {@link requireAnswers} then reports.
   * @throws Failure CLI_USAGE for what the command line says wrongly
   */
  async ask({ text, flag, given, usual, trouble }: Question): Promise<string | undefined> {
    if (given !== undefined) {
      const wrong = trouble?.(given);
      if (wrong === undefined) return given;
      throw new Failure("CLI_USAGE", `${flag.split(" ", 1)[0]} ${given}: ${wrong}`);
    }
    if (this.#ask === undefined) {
      if (usual === undefined) this.#missing.push({ text, flag });
      return usual;
    }
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      const shown = usual === undefined ? "" : ` [${usual}]`;
      const answer = (await this.#ask(clean(`${text}${shown} `))).trim() || usual;
      if (answer === undefined) continue;
      const wrong = trouble?.(answer);
      if (wrong === undefined) return answer;
      this.#session.note(clean(wrong));
    }
    throw new Failure("CLI_USAGE", `no answer to: ${text}`);
  }

  /** Whether a person agrees; true where nobody is asked. */
  async agrees(text: string): Promise<boolean> {
    if (this.#ask === undefined) return true;
    const answer = await this.#ask(`${text} [Y/n] `);
    return !/^n/i.test(answer.trim());
  }

  /** @throws Failure CLI_USAGE with all flags that are needed */
  requireAnswers(): void {
    if (this.#missing.length === 0) return;
    const lines = this.#missing.map(({ text, flag }) => `  ${flag}   (${text.replace(/:$/, "")})`);
    throw new Failure(
      "CLI_USAGE",
      "init can't know everything by itself, and nobody can be asked here. Add:" +
        `\n${lines.map((line) => clean(line)).join("\n")}`,
    );
  }
}
