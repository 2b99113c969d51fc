import { inspect } from "node:util";

const MASK = "[phi]";

/**
 * A value that identifies a patient (name, birth date, subject code, raw message text).
 * Printing, serialising or interpolating it gives `[phi]`; only {@link Phi.reveal} gives the value, so each
 * place that lets personal data out can be found by searching for that word.
 */
export class Phi<T = string> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** The value itself. Callers may pass it to the service, the ledger or an authorised operator, nowhere else. */
  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return MASK;
  }

  toJSON(): string {
    return MASK;
  }

  [Symbol.toPrimitive](): string {
    return MASK;
  }

  [inspect.custom](): string {
    return MASK;
  }
}

/** Wraps a value as personal data. */
export function phi<T>(value: T): Phi<T> {
  return new Phi(value);
}
