import { inspect } from "node:util";

const MASK = "[secret]";

/**
 * A credential of the configuration. Printing, serialising or interpolating it gives `[secret]`; only
 * {@link Secret.reveal} gives the value, so each place that uses a credential can be found by that word.
 */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The credential itself, for the call that presents it and nothing else. */
  reveal(): string {
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
