import { inspect } from "node:util";

/**
 * A value that must not get out by accident. Printing, serialising or interpolating it gives its mask; only
 * {@link Masked.reveal} gives the value, so each place that lets one out can be found by searching for that word.
 */
export abstract class Masked<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  /** What is shown instead, such as `[phi]`. */
  abstract get mask(): string;

  reveal(): T {
    return this.#value;
  }

  toString(): string {
    return this.mask;
  }

  toJSON(): string {
    return this.mask;
  }

  [Symbol.toPrimitive](): string {
    return this.mask;
  }

  [inspect.custom](): string {
    return this.mask;
  }
}

/**
 * A value that identifies a patient (name, birth date, subject code, raw message text). Whoever reveals it may pass it to
 * the service, the ledger or an authorised operator, nowhere else.
 */
export class Phi<T = string> extends Masked<T> {
  get mask() {
    return "[phi]" as const;
  }
}

/** Wraps a value as personal data. */
export function phi<T>(value: T): Phi<T> {
  return new Phi(value);
}
