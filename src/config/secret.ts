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

/** Every credential in a configuration, wherever it stands; of an address that holds a password, that too. */
export function listSecrets(config: unknown): string[] {
  const found = new Set<string>();
  collect(config, found);
  return [...found];
}

function collect(value: unknown, found: Set<string>): void {
  if (value instanceof Secret) {
    for (const text of textsOf(value.reveal())) found.add(text);
  } else if (value instanceof Map) {
    for (const each of value.values()) collect(each, found);
  } else if (typeof value === "object" && value !== null) {
    for (const each of Object.values(value)) collect(each, found);
  }
}

function textsOf(secret: string): string[] {
  if (!URL.canParse(secret)) return [secret];
  const url = new URL(secret);
  if (url.password === "") return [];
  return [url.password, decoded(url.password)];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
