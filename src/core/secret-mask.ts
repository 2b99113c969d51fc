/** Stands for a credential. */
const MASK = "[secret]";
/** Below it a credential is masked only where it stands as a word of its own, or half of all words would go. */
const SHORT = 8;
/** What is shorter is none, and can't be distinguished from the text around it. */
const SHORTEST = 3;

/**
 * Takes the credentials of the configuration out of texts, in whatever form a foreign system may give them back: as they
 * are, encoded for a URL, a form, JSON or HTML, and within anything in base64, such as HTTP Basic. Kept at the edges where
 * texts leave the process (log, command line, console), so that no place inside has to think of it.
 */
export class SecretMask {
  readonly #known = new Set<string>();
  #finder: RegExp | undefined;

  /** Masks this credential from now on. */
  add(secret: string): void {
    const value = secret.trim();
    if (value.length < SHORTEST || this.#known.has(value)) return;
    this.#known.add(value);
    // Longer forms first, since one may be part of another.
    const forms = [...new Set([...this.#known].flatMap(formsOf))].sort((a, b) => b.length - a.length);
    this.#finder = new RegExp(forms.map(toPattern).join("|"), "gu");
  }

  /** The text without any of the credentials. */
  mask(text: string): string {
    return this.#finder === undefined ? text : text.replace(this.#finder, MASK);
  }
}

function formsOf(secret: string): string[] {
  const forms = [
    secret,
    JSON.stringify(secret).slice(1, -1),
    asciiJson(secret),
    new URLSearchParams({ _: secret }).toString().slice("_=".length),
    encodeURIComponent(secret.toWellFormed()),
    secret.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;"),
    secret
      .replaceAll("&", "&amp;")
      .replaceAll("<", "&lt;")
      .replaceAll(">", "&gt;")
      .replaceAll('"', "&quot;")
      .replaceAll("'", "&#39;"),
  ];
  const lowerHex = forms.map((form) => form.replace(/%[0-9A-F]{2}/g, (each) => each.toLowerCase()));
  // HTTP Basic is made of the credential as it is or as a form writes it.
  return [...forms, ...lowerHex, ...forms.flatMap(base64Forms)];
}

/** As JSON for ASCII channels writes it: `p\u00e4ss`. */
export function asciiJson(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * What base64 makes of a text within a longer one: three ways, by what stands before it, each without the characters at
 * its ends that hold bits of its neighbours.
 */
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text);
  return [0, 1, 2].flatMap((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString("base64")
      .replaceAll("=", "");
    const begin = Math.ceil((before * 8) / 6);
    const isCut = ((before + bytes.length) * 8) % 6 !== 0;
    const core = encoded.slice(begin, isCut ? -1 : undefined);
    if (core.length < SHORT) return [];
    return [core, core.replaceAll("+", "-").replaceAll("/", "_"), encodeURIComponent(core)];
  });
}

function toPattern(form: string): string {
  const literal = form.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
  return form.length < SHORT ? `(?<![\\p{L}\\p{N}_])${literal}(?![\\p{L}\\p{N}_])` : literal;
}
