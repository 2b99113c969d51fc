import { FAILURES, Failure } from "../../src/core/failures.ts";
import type { InputForm } from "./mutate.ts";

/** What is fed with inputs. */
export interface Target {
  readonly name: string;
  readonly form: InputForm;
  /** The input only says what is made: what it costs has nothing to do with its length. */
  readonly isSeed?: boolean | undefined;
  /** Where a corpus begins: examples and fixtures of the project. */
  readonly seeds: readonly Buffer[];
  /**
   * Does with an input what the product does, and gives what came of it as a text that two runs can be compared by. Throws a
   * {@link Fault} where that is not as it has to be; anything else that is thrown is a fault, too.
   */
  run(input: Buffer): string | Promise<string>;
}

/** What an input was made of it that must not be. */
export class Fault extends Error {
  override readonly name = "Fault";
}

/** Holds what is thrown to what may be thrown: a failure of the catalogue, of which nobody says that it is a defect. */
export function expectFailure(error: unknown): string {
  if (!(error instanceof Failure)) throw error;
  expectKnown(error.code);
  for (let cause = error.cause; cause instanceof Error; cause = cause.cause)
    if (MISTAKES.has(cause.name)) throw cause;
  return error.code;
}

/** Errors that the engine throws at a programming mistake. */
const MISTAKES: ReadonlySet<string> = new Set([
  "TypeError",
  "ReferenceError",
  "RangeError",
  "EvalError",
  "URIError",
]);

export function expectKnown(code: string): void {
  if (!Object.hasOwn(FAILURES, code)) throw new Fault(`the failure ${code} is in no catalogue`);
  if (code === "UNCLASSIFIED") throw new Fault("a failure that nobody classified");
}

/** @param words what is wrong, without the values, so that faults of one kind are one */
export function expectThat(isSo: boolean, words: string): void {
  if (!isSo) throw new Fault(words);
}
