import { decoded } from "../core/basic-credentials.ts";
import { Masked } from "../core/phi.ts";

/** A credential of the configuration, revealed only for the call that presents it. */
export class Secret extends Masked<string> {
  get mask() {
    return "[secret]" as const;
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
