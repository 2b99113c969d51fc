import type { Environment } from "./environment.ts";

/** A text with its `${NAME}` references replaced. */
export interface Substitution {
  readonly text: string;
  /** Whether at least one part came out of the environment (a `:-default` does not count). */
  readonly isFromEnvironment: boolean;
  readonly problems: readonly string[];
  readonly warnings: readonly string[];
}

const REFERENCE = /\$\$\{|\$\{([^}]*)\}|\$\{/g;
const FORM = /^([A-Za-z_][A-Za-z0-9_]*)(?::-(.*))?$/s;

/**
 * Replaces `${NAME}` and `${NAME:-default}` in one value. `$${` stands for a literal `${`. A name that nothing
 * sets, and that has no default, is a problem; so is a reference that is not spelt in one of the two ways.
 */
export function substitute(text: string, lookUp: Environment): Substitution {
  const problems: string[] = [];
  const warnings: string[] = [];
  let isFromEnvironment = false;
  const replaced = text.replace(REFERENCE, (whole: string, reference: string | undefined) => {
    if (whole === `$\${`) return `\${`;
    const form = reference === undefined ? null : FORM.exec(reference);
    const name = form?.[1];
    if (name === undefined) {
      problems.push(
        `a reference to the environment is written \${NAME} or \${NAME:-default}; $\${ gives a plain \${`,
      );
      return "";
    }
    const found = lookUp(name);
    if (found === undefined) {
      const fallback = form?.[2];
      if (fallback === undefined) {
        problems.push(
          `${name} is not set; set it in the environment, or ${name}_FILE to the file that holds it`,
        );
      }
      return fallback ?? "";
    }
    isFromEnvironment = true;
    if ("problem" in found) {
      problems.push(found.problem);
      return "";
    }
    if (found.warning !== undefined) warnings.push(found.warning);
    return found.value;
  });
  return { text: replaced, isFromEnvironment, problems, warnings };
}
